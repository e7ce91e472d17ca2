"""Other libraries: which are installed, how they are described, and that each finds a pose."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.bench import peers
from graphreg.bench.pairs import pair_of
from graphreg.bench.peers import LOCAL, PEERS, Peer, describe_peers, installed, versions, versions_of_modules


def test_a_peer_is_installed_if_all_its_modules_are() -> None:
    known = {"here": Peer(("numpy", "scipy"), print, ""), "gone": Peer(("numpy", "no_such_module"), print, "")}
    assert list(installed(known)) == ["here"]


def test_measured_peers_and_others_are_described() -> None:
    known = {"a": Peer(("one",), print, "library A"), "b": Peer(("two", "three"), print, "library B")}
    assert describe_peers(known, {"a"}) == [
        "a is library A",
        "not measured, as not installed or not selected: b (two and three)",
    ]
    assert describe_peers(known, {"a", "b"}) == ["a is library A; b is library B"]


def test_versions_are_those_of_the_distributions() -> None:
    assert versions_of_modules("numpy") == {"numpy": np.__version__}
    assert versions_of_modules("no_such_module") == {"no_such_module": "unknown"}
    assert versions(["icp"]) == {}
    assert versions(["kiss+gicp"]).keys() == {"kiss_matcher", "small_gicp"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PEERS)
def test_each_peer_aligns_a_clean_pair(name: str) -> None:
    if name not in installed(PEERS):
        pytest.skip(f"{' or '.join(PEERS[name].modules)} is not installed")
    pair = pair_of("synthetic_dragon_30", None, 6000)
    # Local methods start near the true pose.
    local = {peer.run for peer in LOCAL.values()}
    start = {"start": pair.truth} if PEERS[name].run in local else {}
    found = PEERS[name].run(pair.source, pair.target, pair.voxel, pair.kind, **start)
    assert pair.is_correct(*pair.errors(np.asarray(found)))


def test_a_module_that_cannot_be_imported_is_not_there() -> None:
    assert peers.can_be_imported("numpy")
    assert not peers.can_be_imported("no_such_module")
