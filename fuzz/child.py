"""The process that is fuzzed: it runs one input after another, and may die of it.

Each input is in the folder `work` while it runs. Lines of JSON on standard output report every input.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import traceback
from pathlib import Path
from random import Random

from fuzz.targets import TARGETS
from graphreg.errors import InputError


def run_input(target: str, path: Path) -> tuple[str, str]:
    """Run one input.

    Returns
    -------
    outcome : str
        The same for inputs that take the same way: "read", or the error and the lines that led to it.
    trace : str
        Traceback of anything but an InputError; empty where there is none.
    """
    try:
        TARGETS[target].run(path)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        frames = traceback.extract_tb(problem.__traceback__)
        lines = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-4:])
        return f"{type(problem).__name__} at {lines}", "" if isinstance(problem, InputError) else traceback.format_exc()
    return "read", ""


def write_input(target: str, number: int, seed: int, corpus: dict[str, bytes], work: Path) -> Path:
    """Write the input of a number to the folder `work`; the same for the same seed and corpus."""
    generator = Random(f"{target} {seed} {number}")
    chosen = generator.choice(sorted(corpus))
    suffix = Path(chosen).suffix
    alike = [corpus[name] for name in sorted(corpus) if name.endswith(suffix)]
    path = work / f"input{suffix}"
    path.write_bytes(TARGETS[target].change(corpus[chosen], alike, generator))
    return path


def main(target: str, seed: int, first: int, memory: int, corpus: Path, work: Path) -> None:
    """Run inputs from number `first` on, until the process is killed."""
    reports = os.fdopen(os.dup(1), "w")
    # Libraries print to these.
    log = os.open(work / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if memory:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory << 30, memory << 30))
    contents = {path.name: path.read_bytes() for path in sorted(corpus.iterdir())}
    seen = set()
    for name, content in contents.items():
        path = work / f"input{Path(name).suffix}"
        path.write_bytes(content)
        seen.add((path.suffix, run_input(target, path)[0]))
    number = first
    while True:
        path = write_input(target, number, seed, contents, work)
        content = path.read_bytes()
        outcome, trace = run_input(target, path)
        if (path.suffix, outcome) not in seen and not trace:
            # An input with a new outcome is one to start from; its name follows from its contents.
            name = f"{hashlib.sha256(content).hexdigest()[:16]}{path.suffix}"
            (corpus / name).write_bytes(content)
            contents[name] = content
        seen.add((path.suffix, outcome))
        if trace:  # the next input takes its place
            path = work / f"finding-{number}{path.suffix}"
            path.write_bytes(content)
        print(json.dumps({"number": number, "input": path.name, "outcome": outcome, "trace": trace}), file=reports)
        reports.flush()
        number += 1


if __name__ == "__main__":
    _target, _seed, _first, _memory, _corpus, _work = sys.argv[1:]
    main(_target, int(_seed), int(_first), int(_memory), Path(_corpus), Path(_work))
