"""What a registration with our own method works on: the clouds as they were passed, the settings, the callback."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from graphreg.clouds import Floats
from graphreg.engine.preprocessing import PreprocessedCloud, map_pair, preprocess
from graphreg.engine.settings import EngineSettings
from graphreg.method_interface import Callback


@dataclass(frozen=True)
class EngineRun:
    """The arguments of a registration.

    Attributes
    ----------
    source, target : (N, 3) ndarray or PreprocessedCloud
    settings : EngineSettings, optional
    init : (4, 4) ndarray, optional
        The pose to refine; by default any pose is looked for.
    seed : int, default 0
    threads : int, default 1
    callback : callable, optional
        Called after each iteration; returning True stops the registration.
    """

    source: Floats | PreprocessedCloud
    target: Floats | PreprocessedCloud
    settings: EngineSettings = field(default_factory=EngineSettings)
    init: Floats | None = None
    seed: int = 0
    threads: int = 1
    callback: Callback | None = None

    @property
    def points(self) -> tuple[Floats, Floats]:
        """Of source and target, in the caller's frames."""
        return _points(self.source), _points(self.target)

    def preprocessed(self, max_points: int | None) -> tuple[PreprocessedCloud, PreprocessedCloud]:
        """Return both clouds with at most `max_points` points each; those preprocessed already stay as they are."""
        weights = self.settings.weights or (None, None)

        def sample(number: int, _: int) -> PreprocessedCloud:
            cloud, name = (self.source, self.target)[number], ("source", "target")[number]
            if isinstance(cloud, PreprocessedCloud):
                return replace(cloud, name=name)
            return preprocess(cloud, name, weights[number], max_points, self.seed)

        return map_pair(sample, (0, 1), self.threads)


def _points(cloud: Floats | PreprocessedCloud) -> Floats:
    return cloud.points if isinstance(cloud, PreprocessedCloud) else cloud
