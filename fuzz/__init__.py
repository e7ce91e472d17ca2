"""Fuzzing of everything that takes input from strangers: `python -m fuzz readers --minutes 60`."""
