"""Random calls of the public functions: arguments that fit, and some that do not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import graphreg
from graphreg import MissingExtraError

# Those of files are targets of their own; `batch` starts processes.
LEFT_OUT = (
    "batch",
    "formats",
    "methods",
    "read",
    "read_cloud",
    "read_control_points",
    "read_mesh",
    "read_poses",
    "report",
    "write",
    "write_poses",
)
CLOUDS = ("points", "source", "target", "part", "scene", "cloud", "reference")
# How often an argument is anything at all, and an optional one is passed.
WRONG, PASSED = 0.06, 0.25
ANYTHING: tuple[Any, ...] = (
    None, True, -1, 0, 1, 3, 2.5, float("nan"), float("inf"), 10**400, 1e-300, 1e300, 1j, "", "x", "\0", b"x", [], {},
    (1,), [[1]], [[1, 2, 3]], range(3), object(), lambda *_: None, np.float32(1.5), np.array(["a"]),
    np.zeros((0, 3)), np.eye(4),
)  # fmt: skip


def call(path: Path) -> None:
    """Call a public function; the contents of the file are the seed."""
    generator = Random(path.read_bytes())
    numbers = np.random.default_rng(generator.getrandbits(64))
    names = [name for name in graphreg.__all__ if inspect.isfunction(getattr(graphreg, name)) and name not in LEFT_OUT]
    function = getattr(graphreg, generator.choice(names))
    arguments = _arguments(function, generator, numbers)
    try:
        function(**arguments)
    except MissingExtraError:
        pass
    except graphreg.InputError:
        raise
    except BaseException as problem:
        problem.add_note(f"{function.__name__}(**{arguments!r})") if hasattr(problem, "add_note") else None
        raise


def _arguments(function: Callable[..., Any], generator: Random, numbers: np.random.Generator) -> dict[str, Any]:
    first = _cloud(generator, numbers)
    arguments: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        needed = parameter.default is parameter.empty
        if not needed and name not in ("method", "threads") and generator.random() > PASSED:
            continue
        if generator.random() < WRONG:
            arguments[name] = generator.choice(ANYTHING)
        elif name in CLOUDS and needed:
            arguments[name] = first if name in ("source", "points") else _near(first, generator, numbers)
        elif name in ("clouds", "frames"):
            arguments[name] = [first, *(_near(first, generator, numbers) for _ in range(generator.randrange(4)))]
        elif name == "method" and function is graphreg.register:
            arguments[name] = generator.choice(list(graphreg.methods()))
        elif name == "threads":
            arguments[name] = 1
        elif name in ("init", "viewpoint", "weights", "part", "transformation"):
            arguments[name] = {"init": np.eye(4), "transformation": np.eye(4), "viewpoint": np.zeros(3)}.get(name)
        elif name in ("callback", "progress"):
            arguments[name] = lambda *_: None
        elif isinstance(parameter.default, (int, float)) or "float" in str(parameter.annotation):
            arguments[name] = generator.choice((1, 2, 5, 0.1, 1.0, 30))
        elif needed:
            arguments[name] = generator.choice(ANYTHING)
    return arguments


def _cloud(generator: Random, numbers: np.random.Generator) -> Any:
    count = generator.choice((0, 1, 2, 3, 5, 12, 30, 60, 200))
    points = numbers.normal(size=(count, 3))
    shape = generator.randrange(9)
    if shape == 0:
        points[:] = points[:1]
    elif shape == 1:
        points[:, 1:] = 0
    elif shape == 2:
        points = points.round()
    elif shape == 3:
        points[generator.randrange(count + 1) :] *= 1e-9
    elif shape == 4:
        points *= generator.choice((1e-300, 1e-30, 1e-9, 1e9, 1e30, 1e149, 1e300))
    elif shape == 5:
        points += generator.choice((1e6, 1e15, -1e30))
    elif shape == 6 and count:
        points[generator.randrange(count)] = generator.choice((np.nan, np.inf, 0.0))
    return points.astype(generator.choice((np.float64, np.float64, np.float32))) if shape != 5 else points


def _near(cloud: Any, generator: Random, numbers: np.random.Generator) -> Any:
    """Another cloud, or the same one moved."""
    if generator.random() < 0.4:
        return _cloud(generator, numbers)
    with np.errstate(all="ignore"):
        return cloud[:, [1, 2, 0]] + cloud.dtype.type(generator.choice((0, 0.1, 5)))
