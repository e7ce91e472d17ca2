"""A registration in the browser as it runs: both clouds, the controls, the verdict. Needs viser."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import time
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats
from graphreg.errors import InputError, MissingExtraError
from graphreg.method_interface import Iteration
from graphreg.poses import nearest_rotation, pose
from graphreg.registration import methods
from graphreg.reports.display_clouds import Sample, placement_of, standpoint
from graphreg.reports.live import USUAL_PACE, Choice, Live, Moment, State, cool_down_rate
from graphreg.reports.pictures import BLUE, ORANGE
from graphreg.result import Result

try:
    import viser
    from viser import Icon, transforms
except ImportError as problem:
    raise MissingExtraError("the live viewer", "view") from problem

# Where none is asked for, the first of these that is free.
PORTS = range(8080, 8180)
# Seconds: drawn so often at most; and so long we wait for something to happen.
BETWEEN_DRAWINGS, PATIENCE = 1 / 30, 0.5
# Of the usual distance between points, and at least of the larger cloud's radius.
POINT_SIZE, LEAST_POINT_SIZE = 0.7, 0.004
# Of the full colour, where the surface is seen edge on.
DARKEST = 0.6
FIELD_OF_VIEW = 0.8
# Of the distance at which balls about both clouds just fit; few clouds fill theirs.
STEP_BACK = 0.85
HANDLE_SIZE = 0.8
AS_READ, AS_STARTED = "as read", "as started"
GOOD, BAD, PLAIN = "#1a7f37", "#b42318", "inherit"


class Server(viser.ViserServer):
    """One that cannot be opened to the internet from the page."""

    def request_share_url(self, verbose: bool = True) -> str | None:
        return None


class Viewer:
    """The page: what `live` does is drawn, what is clicked is passed on to it.

    samples  of the source and the target, to be drawn
    save     writes a result, and says where in a sentence
    names    what to call the two
    """

    def __init__(
        self,
        live: Live,
        samples: tuple[Sample, Sample],
        save: Callable[[Result], str],
        names: tuple[str, str],
        host: str = "127.0.0.1",
        port: int | None = None,
    ) -> None:
        self._live = live
        self._source, self._target = samples
        self._unit = max(sample.radius for sample in samples)
        self._save = save
        with _silence():
            self._server = Server(host, free_port(host, port), f"{names[0]} → {names[1]}", verbose=False)
        self._server.gui.configure_theme(show_logo=False, show_share_button=False)
        self._handle = self._add_clouds()
        self._look()
        self._add_choices()
        self._add_buttons()
        self._add_findings()
        self._moment = live.moment
        self._draw()

    @property
    def port(self) -> int:
        return self._server.get_port()

    def run(self) -> None:
        """Draw whatever happens, until Ctrl-C."""
        while True:
            self.draw_next()

    def draw_next(self) -> None:
        """Wait a moment for something to happen, and draw it."""
        now = self._live.wait_past(self._moment, PATIENCE)
        if now is not self._moment:
            self._moment = now
            self._draw()
            time.sleep(BETWEEN_DRAWINGS)

    def close(self) -> None:
        with _silence():
            self._server.stop()

    def _add_clouds(self) -> viser.TransformControlsHandle:
        """Both about their own middle, so that coordinates far off lose nothing; the source hangs on the handle."""
        scene = self._server.scene
        handle = scene.add_transform_controls("/source", HANDLE_SIZE, depth_test=False, opacity=0.8)
        for name, sample, colour in (("/source/points", self._source, BLUE), ("/target", self._target, ORANGE)):
            scene.add_point_cloud(
                name,
                (sample.points - sample.centre) / self._unit,
                _shaded(sample, colour),
                point_size=max(POINT_SIZE * sample.spacing / self._unit, LEAST_POINT_SIZE),
                point_shape="circle",
                precision="float32",
            )

        # Not in viser's pool of threads, where what comes later may overtake what came before.
        @handle.on_update
        async def _(event: viser.TransformControlsEvent) -> None:
            _set(self._from_here, True)
            self._live.place(self._where_the_handle_is())

        return handle

    def _look(self) -> None:
        """From where most of the target is seen, and far enough off to see the source as well."""
        _, up, viewer = standpoint(self._target)
        shift = placement_of(self._live.moment.pose, self._source, self._target).shift
        distance = STEP_BACK * (1 + float(np.linalg.norm(shift)) / 2) / np.sin(FIELD_OF_VIEW / 2)
        upright = np.zeros(3)
        upright[np.argmax(np.abs(up))] = np.sign(up[np.argmax(np.abs(up))])
        self._server.scene.set_up_direction(upright)
        camera = self._server.initial_camera
        camera.fov = FIELD_OF_VIEW
        camera.look_at = shift / 2
        camera.position = shift / 2 + distance * viewer

    def _add_choices(self) -> None:
        gui = self._server.gui
        self._method = gui.add_dropdown("Method", tuple(methods()), hint="docs/methods.md compares them")
        self._about = gui.add_html("")
        self._seed = gui.add_number("Seed", 0, min=0, step=1, hint="The same seed, the same answer")
        self._beta = gui.add_slider("Beta", 0.5, 0.99, 0.01, 0.9, hint="Cool-down rate of the annealing")
        self._pace = gui.add_slider("Steps a second", 1.0, 60.0, 1.0, USUAL_PACE, hint="At most, to look on")
        self._from_here = gui.add_checkbox(
            "Start where it stands",
            False,
            hint="Else graphreg looks everywhere, and local methods start with the centroids on each other",
        )
        put_back = gui.add_button_group("Put back", (AS_READ, AS_STARTED), hint="Only while nothing runs")
        self._method.on_update(lambda _: self._tell_of_method())
        self._pace.on_update(lambda _: self._live.pace(self._pace.value))
        put_back.on_click(lambda _: self._put_back(put_back.value))
        self._tell_of_method()

    def _add_buttons(self) -> None:
        gui = self._server.gui
        self._start = gui.add_button("Start", icon=Icon.PLAYER_PLAY)
        self._pause = gui.add_button("Pause", icon=Icon.PLAYER_PAUSE, color="gray")
        self._step = gui.add_button("Step", icon=Icon.PLAYER_SKIP_FORWARD, color="gray")
        self._stop = gui.add_button("Stop", icon=Icon.PLAYER_STOP, color="gray")
        self._start.on_click(lambda _: self._live.start(self._choice()))
        self._pause.on_click(lambda _: self._live.pause())
        self._step.on_click(lambda _: self._live.step(self._choice()))
        self._stop.on_click(lambda _: self._live.stop())

    def _add_findings(self) -> None:
        gui = self._server.gui
        self._findings = gui.add_html("")
        self._write = gui.add_button(
            "Save", icon=Icon.DEVICE_FLOPPY, color="gray", hint="The matrix and the moved source"
        )
        self._written = gui.add_html("")
        self._write.on_click(lambda _: self._save_result())
        self._charted: tuple[Iteration, ...] = ()
        self._energies = gui.add_uplot(
            (np.zeros(0), np.zeros(0)),
            ({"label": "step"}, {"label": "energy", "stroke": GOOD, "width": 2}),
            scales={"x": {"time": False}},
            legend={"show": False},
            title="energy over the steps",
            height=150,
            visible=False,
        )

    def _choice(self) -> Choice:
        method = self._method.value
        beta = None if cool_down_rate(method) is None else self._beta.value
        return Choice(method, self._seed.value, beta, self._from_here.value)

    def _tell_of_method(self) -> None:
        method = self._method.value
        self._about.content = _paragraph(methods()[method])
        own = cool_down_rate(method)
        self._beta.visible = own is not None
        if own is not None:
            _set(self._beta, own)

    def _put_back(self, where: str) -> None:
        moment = self._live.moment
        if moment.state in (State.RUNNING, State.PAUSED):
            return
        there = np.eye(4) if where == AS_READ else moment.began
        self._live.place(there)
        self._lay(there)
        if where == AS_READ:
            _set(self._from_here, False)

    def _save_result(self) -> None:
        result = self._live.moment.result
        if result is None:
            return
        try:
            self._written.content = _paragraph(self._save(result))
        except (InputError, MissingExtraError, OSError) as problem:
            self._written.content = _paragraph(str(problem), BAD)

    def _where_the_handle_is(self) -> Floats:
        rotation = nearest_rotation(transforms.SO3(self._handle.wxyz).as_matrix())
        middle = self._target.centre + self._unit * self._handle.position
        return pose(rotation, middle - rotation @ self._source.centre)

    def _lay(self, motion: Floats) -> None:
        placed = placement_of(motion, self._source, self._target)
        self._handle.wxyz = transforms.SO3.from_matrix(placed.rotation).wxyz
        self._handle.position = placed.shift

    def _draw(self) -> None:
        moment = self._moment
        running, paused = moment.state is State.RUNNING, moment.state is State.PAUSED
        with self._server.atomic():
            # Who drags it sees it already, and would feel it being pulled back.
            if not moment.by_hand:
                self._lay(moment.pose)
            self._handle.active_axes = (not (running or paused),) * 3
            self._start.label = "Go on" if paused else "Start"
            self._start.disabled = running
            self._pause.disabled = not running or moment.stopping
            self._step.disabled = running and moment.stopping
            self._stop.disabled = not (running or paused) or moment.stopping
            self._write.disabled = moment.result is None
            if moment.result is None:
                self._written.content = ""
            self._findings.content = self._told(moment)
            self._chart(moment.steps)

    def _chart(self, steps: tuple[Iteration, ...]) -> None:
        self._energies.visible = len(steps) > 1
        if len(steps) > 1 and steps is not self._charted:
            self._charted = steps
            self._energies.data = (
                np.array([now.number for now in steps], float),
                np.array([now.energy for now in steps], float),
            )

    def _told(self, moment: Moment) -> str:
        lines = [_headline(moment)]
        if moment.result is not None:
            lines.append(_paragraph(f"confidence {moment.result.confidence:.2f}"))
        if moment.steps:
            now = moment.steps[-1]
            warm = "" if now.temperature is None else f", temperature {now.temperature:.3g}"
            lines.append(_paragraph(f"step {now.number}: energy {now.energy:.6g}{warm}"))
        # What was dragged lies where it is seen.
        if not moment.by_hand and placement_of(moment.pose, self._source, self._target).shortened:
            lines.append(_paragraph("The scans lie far apart: the source is drawn nearer than it is."))
        return "".join(lines)


def free_port(host: str, port: int | None) -> int:
    """The port, or where it is None the first of `PORTS` that is free; InputError where there is none.

    viser itself would wait for ever on an address that is not this machine's.
    """
    for tried in PORTS if port is None else (port,):
        try:
            for family, kind, protocol, _, address in socket.getaddrinfo(host, tried, type=socket.SOCK_STREAM):
                with socket.socket(family, kind, protocol) as probe:
                    if os.name == "posix":  # as asyncio does, so that a port that was just left can be used again
                        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(address)
            return tried
        except (OSError, UnicodeError) as problem:
            refused = problem
    asked = f"any port from {PORTS[0]} to {PORTS[-1]}" if port is None else f"port {port}"
    raise InputError(f"host, port: cannot listen at {host!r} on {asked} ({refused})")


def _shaded(sample: Sample, colour: tuple[float, float, float]) -> NDArray[np.uint8]:
    """(N, 3): lighter where the surface faces those who see most of it, so that its shape shows."""
    facing = np.abs(sample.normal @ standpoint(sample)[2])
    return np.asarray(255 * np.outer(DARKEST + (1 - DARKEST) * facing, colour), np.uint8)


def _set(control: Any, value: Any) -> None:
    control.value = value  # which type checkers take for read-only


def _headline(moment: Moment) -> str:
    if moment.problem is not None:
        return _paragraph(moment.problem, BAD)
    if moment.result is not None:
        reason = moment.result.reason
        return _paragraph(reason[:1].upper() + reason[1:], GOOD if moment.result.success else BAD)
    if moment.state is State.IDLE:
        return _paragraph("Ready. Press Start, or drag the handle first.")
    return _paragraph("Stopping …" if moment.stopping else f"{moment.state.value.capitalize()} …")


def _paragraph(text: str, colour: str = PLAIN) -> str:
    weight = "normal" if colour == PLAIN else "bold"
    style = f"margin: 0 0.75em 0.4em; font-size: 0.875em; color: {colour}; font-weight: {weight}"
    return f'<p style="{style}">{escape(text)}</p>'


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """viser prints where it listens, and that it stopped; the command says so itself."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
