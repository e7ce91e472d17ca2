"""The command line: `python -m fuzz readers --minutes 60`; `python -m fuzz readers --file INPUT` repeats a finding."""

from __future__ import annotations

import argparse
import hashlib
import json
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz.child import run_input
from fuzz.targets import TARGETS

ROOT = Path(__file__).parent
CHILD = ("-m", "fuzz.child")
# Seconds that an input may take, and the child until its first one.
PATIENCE = 30.0
START_PATIENCE = 300.0


def fuzz(
    target: str, *, inputs: int | None, minutes: float, seed: int, memory: int, corpus: Path, findings: Path
) -> tuple[int, list[Path]]:
    """Fuzz a target in child processes.

    Parameters
    ----------
    target : str
        One of `TARGETS`.
    inputs : int or None
        Number of inputs; None for as many as the time allows.
    minutes : float
        Time, at most.
    seed : int
    memory : int
        Gigabytes that the child may ask for; 0 for no limit, which sanitizers need.
    corpus, findings : Path
        Folders of the inputs that mutations start from, which grows, and of what was found.

    Returns
    -------
    done : int
        Number of inputs that were run.
    found : list of Path
        A folder for each finding: the input, and how to reproduce it.
    """
    end = time.monotonic() + 60 * minutes
    corpus.mkdir(parents=True, exist_ok=True)
    TARGETS[target].write_seeds(corpus)
    done, found = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        while (inputs is None or done < inputs) and time.monotonic() < end:
            last = inputs if inputs is not None else sys.maxsize
            for report in _reports(target, seed, done, last, end, memory, corpus, work):
                done = report["number"] + 1
                if report["trace"] and report["outcome"] not in found:
                    command = f"python -m fuzz {target} --file"
                    found[report["outcome"]] = _save(findings, target, work / report["input"], report, command)
    return done, list(found.values())


def _reports(
    target: str, seed: int, first: int, last: int, end: float, memory: int, corpus: Path, work: Path
) -> Iterator[dict[str, Any]]:
    """The reports of one child, and the one that it could not write where it died or hung."""
    for path in (*work.glob("input*"), work / "log.txt"):
        path.unlink(missing_ok=True)
    command = [sys.executable, *CHILD, target, *map(str, (seed, first, memory, corpus, work))]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT.parent, text=True)
    assert child.stdout is not None
    number = first
    with selectors.DefaultSelector() as selector, child:
        selector.register(child.stdout, selectors.EVENT_READ)
        while number < last and time.monotonic() < end:
            ready = selector.select(START_PATIENCE if not (work / "log.txt").exists() else PATIENCE)
            line = child.stdout.readline() if ready else ""
            if not line:
                # The newest one: a library may leave others.
                inputs = sorted(work.glob("input*"), key=lambda path: path.stat().st_mtime)
                outcome = f"takes more than {PATIENCE:g} s" if not ready else _death(child.wait())
                log = work / "log.txt"
                trace = f"{outcome}\n{log.read_text(errors='replace')[-4000:] if log.exists() else ''}"
                child.kill()
                if not inputs:
                    raise RuntimeError(f"the child did not start: {trace}")
                yield {"number": number, "input": inputs[-1].name, "outcome": outcome, "trace": trace}
                return
            report = json.loads(line)
            yield report
            number = report["number"] + 1
        child.kill()


def _death(status: int) -> str:
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def _save(findings: Path, target: str, path: Path, report: dict[str, Any], command: str) -> Path:
    content = path.read_bytes()
    folder = findings / f"{target}-{hashlib.sha256(content).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / path.name).write_bytes(content)
    text = f"{report['outcome']}\n\nReproduce: {command} {folder / path.name}\n\n{report['trace']}"
    (folder / "finding.txt").write_text(text, errors="backslashreplace")
    return folder


def main() -> int:
    """Run the command line; the exit status is 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("target", choices=[*TARGETS, "all"])
    parser.add_argument("--minutes", type=float, default=1.0, help="time, shared by all targets (default 1)")
    parser.add_argument("--inputs", type=int, help="number of inputs for each target, within that time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory", type=int, default=4, help="gigabytes; 0 for no limit, which sanitizers need")
    parser.add_argument("--corpus", type=Path, default=ROOT / "corpus")
    parser.add_argument("--findings", type=Path, default=ROOT / "findings")
    parser.add_argument("--file", type=Path, help="run this input in this process")
    options = parser.parse_args()
    if options.file is not None:
        print("\n".join(run_input(options.target, options.file)))
        return 0
    targets = list(TARGETS) if options.target == "all" else [options.target]
    found: list[Path] = []
    for target in targets:
        done, new = fuzz(
            target,
            inputs=options.inputs,
            minutes=options.minutes / len(targets),
            seed=options.seed,
            memory=options.memory,
            corpus=options.corpus / target,
            findings=options.findings,
        )
        print(f"{target}: {done} inputs, {len(new)} findings", *new, sep="\n  ")
        found += new
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
