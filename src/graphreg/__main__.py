"""python -m graphreg: the command line, where the `graphreg` program is not on the path."""

from graphreg.cli import main

main()
