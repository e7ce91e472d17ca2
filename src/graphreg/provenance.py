"""What a result was measured with: command, date, versions, machine and a fingerprint of the measured code."""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

import graphreg._core as _core
from graphreg._version import __version__
from graphreg.errors import InputError

PACKAGE = Path(__file__).parent
# The part of the code that is written in C++. Its sources stand beside src/ in a source tree, and nowhere else.
NATIVE = "native"
NATIVE_SOURCES = PACKAGE.parents[1] / NATIVE
HEX_DIGITS = 16
# A string or character literal, kept as it is; a digit separator; a comment; white space.
CPP_TOKENS = re.compile(
    r"""(?P<kept>"(?:\\.|[^"\\])*"|(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])|'(?:\\.|[^'\\\n])*')"""
    r"|//[^\n]*|/\*.*?\*/|\s+",
    re.DOTALL,
)


@dataclass(frozen=True)
class Provenance:
    """What a result was measured with.

    Attributes
    ----------
    command : str
        What to type to measure it again.
    date : str
        Day of the measurement (UTC), as YYYY-MM-DD.
    versions : dict of str to str
        Versions of graphreg, numpy, scipy, Python and of the libraries measured beside graphreg.
    machine : dict
        Operating system, processor, number of cores, and the load average at the end of the measurement.
    parts : tuple of str
        Parts of the package that the result depends on; see `fingerprint`.
    fingerprint : str or None
        Fingerprint of these parts; None for results measured before fingerprints were recorded.
    """

    command: str
    date: str
    versions: dict[str, str]
    machine: dict[str, Any]
    parts: tuple[str, ...] = ()
    fingerprint: str | None = None

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Provenance:
        """Read what `to_dict` wrote."""
        return cls(**{**fields, "parts": tuple(fields["parts"])})

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values that JSON can store."""
        return {**asdict(self), "parts": list(self.parts)}

    @property
    def is_stale(self) -> bool:
        """Whether the measured code differs from the present code, or is unknown."""
        if self.fingerprint is None:
            return True
        try:
            return fingerprint(*self.parts) != self.fingerprint
        except InputError:  # a part that no longer exists
            return True

    @property
    def state(self) -> str:
        """Whether the result is current, in words."""
        if self.fingerprint is None:
            return "stale: code unknown (measured before fingerprints were recorded)"
        return "stale: the code has changed since" if self.is_stale else "current"

    def sentence(self) -> str:
        """All fields in one line, for the end of a page."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        machine = ", ".join(f"{name} {value}" for name, value in self.machine.items() if value is not None)
        busy = "; the machine was busy, which inflates times" if self.was_busy else ""
        code = f"{self.fingerprint} ({', '.join(self.parts)})" if self.fingerprint else "unknown"
        return f"Measured {self.date} by `{self.command}` with {versions}; {machine}{busy}; code fingerprint {code}."

    @property
    def was_busy(self) -> bool:
        """Whether more processes than twice the number of cores competed for the machine."""
        load, cores = self.machine.get("load average"), self.machine.get("cores")
        return load is not None and cores is not None and load > 2 * cores


def measured_now(command: str, parts: Sequence[str], peers: Mapping[str, str] | None = None) -> Provenance:
    """Describe a measurement that ends now.

    Parameters
    ----------
    command : str
        What to type to measure it again.
    parts : sequence of str
        Parts of the package that the result depends on.
    peers : mapping of str to str, optional
        Versions of other libraries that were measured.
    """
    date = datetime.now(timezone.utc).date().isoformat()
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    versions = {**package_versions(), **(peers or {})}
    return Provenance(command, date, versions, {**machine(), "load average": load}, tuple(parts), fingerprint(*parts))


def script_command() -> str:
    """Return the command line of a script of benchmarks/, without the folders that it reads and writes."""
    import argparse

    name, *arguments = sys.argv
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for option in ("--out", "--data", "--folder"):
        parser.add_argument(option)
    return " ".join(["python", f"benchmarks/{Path(name).name}", *parser.parse_known_args(arguments)[1]])


def package_versions() -> dict[str, str]:
    """Return the versions of graphreg, numpy, scipy and Python."""
    from importlib.metadata import version  # slow to import, and rarely needed

    return {
        "graphreg": __version__,
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "python": platform.python_version(),
    }


def machine() -> dict[str, Any]:
    """Return operating system, architecture, processor and number of cores of this machine."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def fingerprint(*parts: str) -> str:
    """Hash the source code of some parts of the package.

    The hash changes with the code alone, not with comments, docstrings, layout, machine or Python version.

    Parameters
    ----------
    *parts : str
        Modules and packages relative to graphreg, such as ``"poses"``, ``"engine"`` or ``"files.ply"``; ``"native"``
        for the C++ sources and ``"native.engine"`` for a folder of them, or for the compiled module where the sources
        are not installed. ``"-engine.similarity"`` leaves a module out of its package.

    Returns
    -------
    str
        16 hexadecimal digits. The order of the parts does not matter.

    Raises
    ------
    InputError
        If there is no such part.

    Examples
    --------
    >>> fingerprint("poses", "clouds") == fingerprint("clouds", "poses")
    True
    >>> fingerprint("poses") == fingerprint("clouds")
    False
    """
    left_out = frozenset(part[1:] for part in parts if part.startswith("-"))
    whole = sorted({part for part in parts if not part.startswith("-")})
    return _short_hash("\n".join(f"{part} {_part_hash(part, left_out - {part})}" for part in whole))


def python_code(source: str) -> str:
    """Return Python source in a canonical form without comments, docstrings and layout."""
    tokens: list[str] = []
    _add_tokens(ast.parse(source), tokens)
    return "".join(tokens)


def cpp_code(source: str) -> str:
    """Return C++ source without comments and white space."""
    return CPP_TOKENS.sub(lambda match: match["kept"] or "", source)


@cache
def _part_hash(part: str, left_out: frozenset[str]) -> str:
    name, *folders = part.split(".")
    if name == NATIVE:
        if not NATIVE_SOURCES.is_dir():
            return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:HEX_DIGITS]
        sources = NATIVE_SOURCES.joinpath(*folders).rglob("*")
        root, code_of, files = NATIVE_SOURCES, cpp_code, [path for path in sources if path.suffix in (".cpp", ".hpp")]
    else:
        path = PACKAGE.joinpath(name, *folders)
        root, code_of, files = PACKAGE, python_code, list(path.rglob("*.py")) or [path.with_suffix(".py")]
    if not files or not all(file.is_file() for file in files):
        raise InputError(f"part: expected a module or package of graphreg, got {part!r}")
    return _hash_of_files([file for file in files if _module_name(file, root) not in left_out], root, code_of)


def _module_name(file: Path, root: Path) -> str:
    return ".".join(file.relative_to(root).with_suffix("").parts)


def _hash_of_files(files: Sequence[Path], root: Path, code_of: Any) -> str:
    names = {path.relative_to(root).as_posix(): path for path in files}
    return _short_hash(
        "\n".join(f"{name} {_short_hash(code_of(names[name].read_text(encoding='utf-8')))}" for name in sorted(names))
    )


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:HEX_DIGITS]


def _add_tokens(value: Any, tokens: list[str]) -> None:
    """Add a syntax tree as text. Fields without a value are left out, as later versions of Python have more of them."""
    if isinstance(value, ast.AST):
        tokens.append(f"({type(value).__name__}")
        for name, field in ast.iter_fields(value):
            if field is not None and field != []:
                tokens.append(f" {name}=")
                _add_tokens(field, tokens)
        tokens.append(")")
    elif isinstance(value, list):
        tokens.append("[")
        for item in value:
            if not _is_docstring(item):
                _add_tokens(item, tokens)
                tokens.append(",")
        tokens.append("]")
    else:
        tokens.append(repr(value))


def _is_docstring(node: Any) -> bool:
    """Whether a node is a string that stands alone: a docstring, or the description of an attribute."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _processor() -> str:
    """The model of the processor where the system reports it, as Linux does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown")
