"""The live viewer: a registration in the browser while it runs, with its controls and its verdict. Needs viser."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from html import escape
from http import HTTPStatus
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats
from graphreg.errors import InputError, MissingExtraError
from graphreg.method_interface import Iteration
from graphreg.poses import nearest_rotation, pose
from graphreg.registration import methods
from graphreg.reports.display_clouds import DisplayCloud, default_view, displayed_pose
from graphreg.reports.live import DEFAULT_RATE, LiveRegistration, RunSettings, Snapshot, State, default_beta
from graphreg.reports.pictures import BLUE, ORANGE
from graphreg.reports.viewer_access import HEADERS, ViewerAccess
from graphreg.result import Result

try:
    import viser
    import websockets.asyncio.server
    from viser import Icon, transforms
    from websockets.datastructures import Headers
    from websockets.http11 import Request, Response
except ImportError as problem:
    raise MissingExtraError("the live viewer", "view") from problem

# Ports that are tried in turn where none is named.
PORTS = range(8080, 8180)
# Seconds between two updates of the page at least, and seconds to wait for a change.
UPDATE_INTERVAL, CHANGE_TIMEOUT = 1 / 30, 0.5
# Seconds that a connection may take to send its request, which the spare ones of browsers never do, and to close, which
# pages that sleep never do. viser waits 6 s for the server to stop; with the usual 10 s it would still run afterwards.
TIMEOUTS = {"open_timeout": 2.0, "close_timeout": 0.5}
# Diameter of a point: as a share of the point spacing, and at least as a share of the larger cloud's radius.
POINT_SIZE, MIN_POINT_SIZE = 0.7, 0.004
# Brightness of a surface seen edge on, as a share of the full colour.
EDGE_BRIGHTNESS = 0.6
# Radians.
FIELD_OF_VIEW = 0.8
# Distance of the camera, in units of that at which spheres of both clouds' radii fit the height of the window.
CAMERA_DISTANCE = 1.05
# A line through fewer points says nothing.
MIN_CHART_POINTS = 3
# Size of the transform handle, in units of the larger radius.
HANDLE_SIZE = 0.8
INITIAL_POSE, START_POSE = "as read", "last start"
GOOD, BAD, NEUTRAL = "#1a7f37", "#b42318", "inherit"


class Server(viser.ViserServer):
    """A viser server that answers only requests with access, and cannot be shared over the internet from its page.

    Parameters
    ----------
    access : ViewerAccess
    host, port, label
        As for `viser.ViserServer`.
    """

    def __init__(self, access: ViewerAccess, host: str, port: int, label: str) -> None:
        with _checked_requests(access) as checked:
            super().__init__(host, port, label, verbose=False)
        if not checked:
            self.stop()
            raise RuntimeError(f"this version of viser ({viser.__version__}) does not let its requests be checked")

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Refuse."""
        return None


@contextlib.contextmanager
def _checked_requests(access: ViewerAccess) -> Iterator[list[bool]]:
    """Have every request of servers that viser starts meanwhile checked; yields a list that is then not empty.

    viser itself has no hook for this: it passes its own handler to websockets, and here another one goes first. Nor has
    it one for the timeouts of connections.
    """
    serve = websockets.asyncio.server.serve
    checked: list[bool] = []

    def serve_checked(*arguments: Any, process_request: Any, **options: Any) -> Any:
        def answer(connection: Any, request: Request) -> Response | None:
            refusal = access.refusal(request.path, request.headers.raw_items())
            if refusal is not None:
                return _response(HTTPStatus.FORBIDDEN, refusal)
            response: Response | None = process_request(connection, request)
            if response is None:  # a websocket
                return None
            if access.has_token(request.path):  # out of the address, and of the browser's history
                return _response(HTTPStatus.SEE_OTHER, "", Location="/", **{"Set-Cookie": access.cookie()})
            response.headers.update(HEADERS)
            return response

        checked.append(True)
        return serve(*arguments, process_request=answer, **{**options, **TIMEOUTS})

    with _SERVE_LOCK:
        websockets.asyncio.server.serve = serve_checked  # type: ignore[misc, assignment]
        try:
            yield checked
        finally:
            websockets.asyncio.server.serve = serve  # type: ignore[misc]


_SERVE_LOCK = threading.Lock()


def _response(status: HTTPStatus, text: str, **headers: str) -> Response:
    body = text.encode()
    content = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
    return Response(status, status.phrase, Headers({**HEADERS, **content, **headers}), body)


class Viewer:
    """The page of a `LiveRegistration`: displays its snapshots and forwards the controls to it.

    Parameters
    ----------
    live : LiveRegistration
    clouds : (DisplayCloud, DisplayCloud)
        Source and target.
    save : callable
        Writes a `Result`, and returns a sentence that says where.
    names : (str, str)
        Names of source and target.
    host : str, default "127.0.0.1"
        Address to listen at.
    port : int, optional
        Port to listen on, by default the first free one of `PORTS`.
    """

    def __init__(
        self,
        live: LiveRegistration,
        clouds: tuple[DisplayCloud, DisplayCloud],
        save: Callable[[Result], str],
        names: tuple[str, str],
        host: str = "127.0.0.1",
        port: int | None = None,
    ) -> None:
        self._live = live
        self._source, self._target = clouds
        self._unit = max(cloud.radius for cloud in clouds)
        self._save = save
        self._access = ViewerAccess(host)
        with _no_output():
            self._server = Server(self._access, host, free_port(host, port), f"{names[0]} → {names[1]}")
        self._server.gui.configure_theme(show_logo=False, show_share_button=False)
        # Beside the clouds, not over them.
        self._server.gui.main_panel.dock_right()
        self._handle = self._add_clouds()
        self._place_camera()
        self._add_settings()
        self._add_buttons()
        self._add_status()
        self._snapshot = live.snapshot
        self._update()

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return self._server.get_port()

    @property
    def query(self) -> str:
        """The end of the address of the page, with the token without which no request is answered."""
        return self._access.query()

    def run(self) -> None:
        """Display every change, until Ctrl-C."""
        while True:
            self.update_once()

    def update_once(self) -> None:
        """Wait a short time for a change, and display it."""
        now = self._live.wait_for_change(self._snapshot, CHANGE_TIMEOUT)
        if now is not self._snapshot:
            self._snapshot = now
            self._update()
            time.sleep(UPDATE_INTERVAL)

    def close(self) -> None:
        """Stop the server."""
        with _no_output():
            self._server.stop()

    def _add_clouds(self) -> viser.TransformControlsHandle:
        """Add both clouds relative to their centres, as large coordinates exceed single precision."""
        scene = self._server.scene
        handle = scene.add_transform_controls("/source", HANDLE_SIZE, depth_test=False, opacity=0.8)
        for name, cloud, colour in (("/source/points", self._source, BLUE), ("/target", self._target, ORANGE)):
            scene.add_point_cloud(
                name,
                (cloud.points - cloud.centre) / self._unit,
                _shaded(cloud, colour),
                point_size=max(POINT_SIZE * cloud.spacing / self._unit, MIN_POINT_SIZE),
                point_shape="circle",
                precision="float32",
            )

        # A coroutine, since in viser's thread pool a later event may overtake an earlier one.
        @handle.on_update
        async def _(event: viser.TransformControlsEvent) -> None:
            _set(self._from_current_pose, True)
            self._live.set_pose(self._handle_pose())

        return handle

    def _place_camera(self) -> None:
        """Look at both clouds from the default view of the target."""
        _, up, viewer = default_view(self._target)
        translation = displayed_pose(self._live.snapshot.pose, self._source, self._target).translation
        distance = CAMERA_DISTANCE * (1 + float(np.linalg.norm(translation)) / 2) / np.sin(FIELD_OF_VIEW / 2)
        upright = np.zeros(3)
        upright[np.argmax(np.abs(up))] = np.sign(up[np.argmax(np.abs(up))])
        self._server.scene.set_up_direction(upright)
        camera = self._server.initial_camera
        camera.fov = FIELD_OF_VIEW
        camera.look_at = translation / 2
        camera.position = camera.look_at + distance * viewer

    def _add_settings(self) -> None:
        gui = self._server.gui
        self._method = gui.add_dropdown("Method", tuple(methods()), hint="docs/methods.md compares them")
        self._about = gui.add_html("")
        self._seed = gui.add_number("Seed", 0, min=0, step=1, hint="The same seed gives the same result")
        self._beta = gui.add_slider("Beta", 0.5, 0.99, 0.01, 0.9, hint="Cool-down rate of simulated annealing")
        self._rate = gui.add_slider("Iterations/s", 1.0, 60.0, 1.0, DEFAULT_RATE, hint="Upper limit")
        self._from_current_pose = gui.add_checkbox(
            "Start from this pose",
            False,
            hint="Otherwise graphreg searches all poses, and local methods start with the centroids aligned",
        )
        reset = gui.add_button_group("Reset pose", (INITIAL_POSE, START_POSE), hint="While nothing is running")
        self._method.on_update(lambda _: self._describe_method())
        self._rate.on_update(lambda _: self._live.set_rate(self._rate.value))
        reset.on_click(lambda _: self._reset_pose(reset.value))
        self._describe_method()

    def _add_buttons(self) -> None:
        gui = self._server.gui
        self._start = gui.add_button("Start", icon=Icon.PLAYER_PLAY)
        self._pause = gui.add_button("Pause", icon=Icon.PLAYER_PAUSE, color="gray")
        self._step = gui.add_button("Step", icon=Icon.PLAYER_SKIP_FORWARD, color="gray")
        self._stop = gui.add_button("Stop", icon=Icon.PLAYER_STOP, color="gray")
        self._start.on_click(lambda _: self._live.start(self._settings()))
        self._pause.on_click(lambda _: self._live.pause())
        self._step.on_click(lambda _: self._live.step(self._settings()))
        self._stop.on_click(lambda _: self._live.stop())

    def _add_status(self) -> None:
        gui = self._server.gui
        self._status = gui.add_html("")
        self._save_button = gui.add_button(
            "Save", icon=Icon.DEVICE_FLOPPY, color="gray", hint="The matrix and the transformed source"
        )
        self._save_status = gui.add_html("")
        self._save_button.on_click(lambda _: self._save_result())
        self._charted: tuple[Iteration, ...] = ()
        self._energy_chart = gui.add_uplot(
            (np.zeros(0), np.zeros(0)),
            ({"label": "iteration"}, {"label": "energy", "stroke": GOOD, "width": 2}),
            scales={"x": {"time": False}},
            legend={"show": False},
            title="energy over iterations",
            height=150,
            visible=False,
        )

    def _settings(self) -> RunSettings:
        method = self._method.value
        beta = None if default_beta(method) is None else self._beta.value
        return RunSettings(method, self._seed.value, beta, self._from_current_pose.value)

    def _describe_method(self) -> None:
        method = self._method.value
        self._about.content = _paragraph(methods()[method])
        beta = default_beta(method)
        self._beta.visible = beta is not None
        if beta is not None:
            _set(self._beta, beta)

    def _reset_pose(self, which: str) -> None:
        snapshot = self._live.snapshot
        if snapshot.state in (State.RUNNING, State.PAUSED):
            return
        new_pose = np.eye(4) if which == INITIAL_POSE else snapshot.start_pose
        self._live.set_pose(new_pose)
        self._move_source(new_pose)
        if which == INITIAL_POSE:
            _set(self._from_current_pose, False)

    def _save_result(self) -> None:
        result = self._live.snapshot.result
        if result is None:
            return
        try:
            self._save_status.content = _paragraph(self._save(result))
        except (InputError, MissingExtraError, OSError) as problem:
            self._save_status.content = _paragraph(str(problem), BAD)

    def _handle_pose(self) -> Floats:
        """(4, 4): x_target = T x_source for the position of the handle."""
        rotation = nearest_rotation(transforms.SO3(self._handle.wxyz).as_matrix())
        centre = self._target.centre + self._unit * self._handle.position
        return pose(rotation, centre - rotation @ self._source.centre)

    def _move_source(self, transformation: Floats) -> None:
        shown = displayed_pose(transformation, self._source, self._target)
        self._handle.wxyz = transforms.SO3.from_matrix(shown.rotation).wxyz
        self._handle.position = shown.translation

    def _update(self) -> None:
        snapshot = self._snapshot
        running, paused = snapshot.state is State.RUNNING, snapshot.state is State.PAUSED
        with self._server.atomic():
            # A source that is being dragged is displayed already; moving it again would pull it back.
            if not snapshot.manual:
                self._move_source(snapshot.pose)
            self._handle.active_axes = (not (running or paused),) * 3
            self._start.label = "Continue" if paused else "Start"
            self._start.disabled = running
            self._pause.disabled = not running or snapshot.stopping
            self._step.disabled = running and snapshot.stopping
            self._stop.disabled = not (running or paused) or snapshot.stopping
            self._save_button.disabled = snapshot.result is None
            if snapshot.result is None:
                self._save_status.content = ""
            self._status.content = self._status_html(snapshot)
            self._update_chart(snapshot.iterations)

    def _update_chart(self, iterations: tuple[Iteration, ...]) -> None:
        self._energy_chart.visible = len(iterations) >= MIN_CHART_POINTS
        if self._energy_chart.visible and iterations is not self._charted:
            self._charted = iterations
            self._energy_chart.data = (
                np.array([now.number for now in iterations], float),
                np.array([now.energy for now in iterations], float),
            )

    def _status_html(self, snapshot: Snapshot) -> str:
        lines = [_headline(snapshot)]
        if snapshot.result is not None:
            lines.append(_paragraph(f"confidence {snapshot.result.confidence:.2f}"))
        if snapshot.iterations:
            now = snapshot.iterations[-1]
            temperature = "" if now.temperature is None else f", temperature {now.temperature:.3g}"
            lines.append(_paragraph(f"iteration {now.number}: energy {now.energy:.6g}{temperature}"))
        # A source that was dragged is where it is displayed.
        if not snapshot.manual and displayed_pose(snapshot.pose, self._source, self._target).shortened:
            lines.append(_paragraph("The scans are far apart: the source is displayed closer than it is."))
        return "".join(lines)


def free_port(host: str, port: int | None) -> int:
    """Find a port to listen on.

    viser itself would wait for ever on an address that does not belong to this machine.

    Parameters
    ----------
    host : str
        Address to listen at.
    port : int or None
        The port, or None for the first free one of `PORTS`.

    Raises
    ------
    InputError
        If no port is free.
    """
    for tried in PORTS if port is None else (port,):
        try:
            for family, kind, protocol, _, address in socket.getaddrinfo(host, tried, type=socket.SOCK_STREAM):
                with socket.socket(family, kind, protocol) as probe:
                    if os.name == "posix":  # as asyncio does, so that a port that was just closed can be used again
                        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(address)
            return tried
        except (OSError, UnicodeError) as problem:
            refused = problem
    asked = f"any port from {PORTS[0]} to {PORTS[-1]}" if port is None else f"port {port}"
    raise InputError(f"host, port: cannot listen at {host!r} on {asked} ({refused})")


def _shaded(cloud: DisplayCloud, colour: tuple[float, float, float]) -> NDArray[np.uint8]:
    """(N, 3) colours, brighter where the surface faces the default view, so that its shape is visible."""
    facing = np.abs(cloud.normal @ default_view(cloud)[2])
    return np.asarray(255 * np.outer(EDGE_BRIGHTNESS + (1 - EDGE_BRIGHTNESS) * facing, colour), np.uint8)


def _set(control: Any, value: Any) -> None:
    control.value = value  # which type checkers take for read-only


def _headline(snapshot: Snapshot) -> str:
    if snapshot.problem is not None:
        return _paragraph(snapshot.problem, BAD)
    if snapshot.result is not None:
        reason = snapshot.result.reason
        return _paragraph(reason[:1].upper() + reason[1:], GOOD if snapshot.result.success else BAD)
    if snapshot.state is State.IDLE:
        return _paragraph("Ready. Press Start, or drag the handle first.")
    return _paragraph("Stopping …" if snapshot.stopping else f"{snapshot.state.value.capitalize()} …")


def _paragraph(text: str, colour: str = NEUTRAL) -> str:
    weight = "normal" if colour == NEUTRAL else "bold"
    style = f"margin: 0 0.75em 0.4em; font-size: 0.875em; color: {colour}; font-weight: {weight}"
    return f'<p style="{style}">{escape(text)}</p>'


@contextlib.contextmanager
def _no_output() -> Iterator[None]:
    """viser prints its address, and that it has stopped; the command prints them itself."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
