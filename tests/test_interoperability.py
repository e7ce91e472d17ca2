"""Clouds of Open3D, trimesh and torch are accepted, and results convert to theirs; the libraries are not imported.

The stand-ins have the methods of these libraries' objects that graphreg calls. Where the libraries are installed, the
real objects are tested too.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphreg
from graphreg.clouds import as_cloud
from graphreg.poses import as_pose

POINTS = np.random.default_rng(0).normal(size=(300, 3)).round(3)


class Vector:
    """Open3D's Vector3dVector: numpy reads it through __array__; rows by number as well."""

    def __init__(self, values: NDArray[Any]) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._values, dtype)

    def __len__(self) -> int:
        return len(self._values)


class CoreTensor:
    """Open3D's tensor: no __array__, and as a sequence it is one of tensors without end."""

    def __init__(self, values: NDArray[Any], device: str = "CPU:0") -> None:
        self._values, self._device = values, device

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, row: Any) -> CoreTensor:
        return CoreTensor(self._values[row], self._device)

    def cpu(self) -> CoreTensor:
        return CoreTensor(self._values)

    def numpy(self) -> NDArray[Any]:
        if self._device != "CPU:0":
            raise RuntimeError("Can only convert CPU Tensor to numpy.")
        return self._values


class TensorMap(dict[str, CoreTensor]):
    pass


class LegacyCloud:
    def __init__(self, values: NDArray[Any]) -> None:
        self.points = Vector(values)


class TensorCloud:
    def __init__(self, values: NDArray[Any], device: str = "CPU:0") -> None:
        self.point = TensorMap(positions=CoreTensor(values, device))


class TensorMesh:
    def __init__(self, values: NDArray[Any]) -> None:
        self.vertex = TensorMap(positions=CoreTensor(values))


class Mesh:
    """trimesh's Trimesh and PointCloud, and Open3D's mesh."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.vertices = values


class FacedMesh(Mesh):
    """trimesh's Trimesh, with faces."""

    def __init__(self, values: NDArray[Any], faces: NDArray[Any]) -> None:
        super().__init__(values)
        self.faces = faces


class LegacyMesh:
    """Open3D's TriangleMesh."""

    def __init__(self, values: NDArray[Any], faces: NDArray[Any]) -> None:
        self.vertices, self.triangles = Vector(values), Vector(faces)


class TensorFacedMesh(TensorMesh):
    """Open3D's tensor mesh."""

    def __init__(self, values: NDArray[Any], faces: NDArray[Any]) -> None:
        super().__init__(values)
        self.triangle = TensorMap(indices=CoreTensor(faces))


class TorchTensor:
    """torch's tensor: refuses to be an array while it records gradients or is on another device."""

    def __init__(self, values: NDArray[Any], requires_grad: bool = False, device: str = "cpu") -> None:
        self._values, self.requires_grad, self.device = values, requires_grad, device

    def detach(self) -> TorchTensor:
        return TorchTensor(self._values, False, self.device)

    def cpu(self) -> TorchTensor:
        return TorchTensor(self._values, self.requires_grad)

    def numpy(self) -> NDArray[Any]:
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.device != "cpu":
            raise TypeError(f"can't convert {self.device} device type tensor to numpy.")
        return self._values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.numpy()


class NarrowTensor(TorchTensor):
    """One of bfloat16, which numpy does not know."""

    def detach(self) -> NarrowTensor:
        return self

    def cpu(self) -> NarrowTensor:
        return self

    def double(self) -> TorchTensor:
        return TorchTensor(self._values)

    def numpy(self) -> NDArray[Any]:
        raise TypeError("Got unsupported ScalarType BFloat16")


class Exchanged:
    """An object that exports its data through DLPack alone."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


class Elsewhere(Exchanged):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("the data are on device 2")


STAND_INS = [
    LegacyCloud(POINTS),
    TensorCloud(POINTS),
    TensorCloud(POINTS, "CUDA:0"),
    TensorMesh(POINTS),
    Mesh(POINTS),
    CoreTensor(POINTS),
    TorchTensor(POINTS),
    TorchTensor(POINTS, requires_grad=True),
    TorchTensor(POINTS, True, "cuda:0"),
    NarrowTensor(POINTS),
    Exchanged(POINTS),
]


@pytest.mark.parametrize("value", STAND_INS, ids=lambda value: type(value).__name__)
def test_clouds_of_other_libraries_are_accepted(value: Any) -> None:
    assert np.array_equal(as_cloud(value).points, POINTS)


TRIANGLES = np.arange(300).reshape(-1, 3)


@pytest.mark.parametrize("kind", [FacedMesh, LegacyMesh, TensorFacedMesh])
def test_meshes_of_other_libraries_are_sampled_by_area(kind: Any) -> None:
    points, _ = graphreg.Mesh(POINTS, TRIANGLES).sample()
    assert np.array_equal(as_cloud(kind(POINTS, TRIANGLES)).points, points)
    holed = POINTS.copy()
    holed[0] = np.nan
    without, _ = graphreg.Mesh(POINTS, TRIANGLES[1:]).sample()
    assert np.array_equal(as_cloud(kind(holed, TRIANGLES)).points, without)
    assert np.array_equal(as_cloud(kind(POINTS, TRIANGLES[:0])).points, POINTS)
    with pytest.raises(graphreg.InputError, match=r"source: .* refer to vertex 300"):
        graphreg.register(kind(POINTS, TRIANGLES + 1), POINTS)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            Elsewhere(POINTS),
            r"source: expected .*, got Elsewhere, which numpy cannot read \(the data are on device 2\)",
        ),
        (Mesh(POINTS[:, :2]), r"source: expected shape \(N, 3\), got \(300, 2\)"),
        (TensorCloud(POINTS.astype(complex)), "source: expected real numbers"),
        (object(), "source: expected real numbers, got an array of dtype object"),
    ],
)
def test_what_has_no_points_is_refused(value: Any, message: str) -> None:
    with pytest.raises(graphreg.InputError, match=message):
        graphreg.register(value, POINTS)


def test_a_cloud_without_positions_is_refused() -> None:
    empty = TensorCloud(POINTS)
    del empty.point["positions"]
    with pytest.raises(graphreg.InputError, match="source: expected"):
        graphreg.register(empty, POINTS)


def test_every_function_accepts_tensors() -> None:
    tensor = TorchTensor(POINTS, requires_grad=True)
    assert np.array_equal(graphreg.intensity(tensor), graphreg.intensity(POINTS))
    assert np.array_equal(graphreg.normals(tensor), graphreg.normals(POINTS))
    start = TorchTensor(np.eye(4), requires_grad=True)
    weights = TorchTensor(np.ones(300), requires_grad=True)
    plain = graphreg.register(POINTS, POINTS, init=np.eye(4), weights=np.ones(300))
    result = graphreg.register(tensor, TensorCloud(POINTS), init=start, weights=weights)
    assert np.array_equal(result.transformation, plain.transformation)


def test_numpy_converts_a_result_to_its_transformation() -> None:
    result = graphreg.register(POINTS, POINTS, method="icp")
    matrix = np.asarray(result)
    assert matrix.dtype == np.float64
    assert np.array_equal(matrix, result.transformation)
    assert np.asarray(result, np.float32).dtype == np.float32
    matrix[:] = 0
    assert result.transformation[3, 3] == 1
    assert np.array_equal(as_pose(result)[3], [0, 0, 0, 1])
    again = graphreg.register(POINTS, POINTS, method="icp", init=result)
    assert np.allclose(again, result, rtol=0, atol=1e-9)


def test_dlpack_converts_a_result_to_its_transformation() -> None:
    result = graphreg.register(POINTS, POINTS, method="icp")
    matrix = np.from_dlpack(Exchanged(result))
    assert matrix.dtype == np.float64
    assert np.array_equal(matrix, result.transformation)
    assert not np.shares_memory(matrix, result.transformation)


@pytest.mark.slow
def test_no_other_library_is_imported() -> None:
    script = (
        "import graphreg, sys; graphreg.register([[i % 7, i % 5, i % 3] for i in range(60)], [[i % 7, i % 5, i % 3] "
    )
    script += "for i in range(60)], method='icp'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"open3d", "trimesh", "torch"} & set(loaded)


@pytest.mark.slow
def test_trimesh() -> None:
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box()
    assert np.array_equal(as_cloud(box).points, as_cloud(graphreg.Mesh(box.vertices, box.faces)).points)
    cloud = trimesh.PointCloud(POINTS)
    assert np.array_equal(as_cloud(cloud).points, POINTS)
    result = graphreg.register(cloud, cloud, method="icp")
    cloud.apply_transform(result.transformation)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "int32", "uint8"])
def test_tensors_of_torch_of_any_dtype(kind: str, grad: bool) -> None:
    """Values are converted exactly: float64 represents every number of each dtype."""
    torch = pytest.importorskip("torch")
    tensor = torch.tensor((20 * POINTS).round().clip(0)).to(getattr(torch, kind))
    if grad and tensor.is_floating_point():
        tensor.requires_grad_()
    assert as_cloud(tensor).points.tolist() == tensor.detach().double().tolist()
    assert tensor.requires_grad == (grad and tensor.is_floating_point())


def test_tensors_of_torch_in_any_layout() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(POINTS)
    layouts = [
        torch.tensor(POINTS.T.copy()).T,
        torch.tensor(np.repeat(POINTS, 2, axis=0))[::2],
        torch.tensor(np.hstack([POINTS, POINTS]))[:, :3],
        torch.nn.Parameter(tensor.clone()),
        # A view with the negative bit set: its values are negated lazily.
        torch.complex(tensor, -tensor).conj().imag,
    ]
    for layout in layouts:
        assert np.array_equal(as_cloud(layout).points, POINTS)


def test_tensors_that_torch_cannot_convert_are_refused() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(POINTS)
    for value, message in (
        (tensor.to("meta"), "got Tensor, which numpy cannot read"),
        (tensor.to_sparse(), "got Tensor, which numpy cannot read .*to_dense"),
        (tensor.to(torch.complex64), "expected real numbers"),
        (tensor > 0, "expected real numbers"),
        (tensor[None], r"expected shape \(N, 3\), got \(1, 300, 3\)"),
        (list(tensor.clone().requires_grad_()), "got list, which numpy cannot read .*requires grad"),
    ):
        with pytest.raises(graphreg.InputError, match=f"source: .*{message}"):
            graphreg.register(value, tensor)


def test_every_function_accepts_tensors_of_torch_and_results_become_tensors() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(POINTS, requires_grad=True)
    start, weights = torch.eye(4, dtype=torch.bfloat16), torch.ones(300, dtype=torch.bfloat16)
    plain = graphreg.register(POINTS, POINTS, init=np.eye(4), weights=np.ones(300))
    result = graphreg.register(tensor, tensor, init=start, weights=weights)
    assert np.array_equal(result.transformation, plain.transformation)
    for made in (torch.as_tensor(result), torch.asarray(result), torch.tensor(result), torch.from_dlpack(result)):
        assert made.dtype == torch.float64
        assert made.tolist() == result.transformation.tolist()
        made[:] = 0
        assert result.transformation[3, 3] == 1
    assert torch.as_tensor(result, dtype=torch.float32).dtype == torch.float32
    for values in (graphreg.intensity(tensor), graphreg.normals(tensor), graphreg.inliers(tensor)):
        assert torch.from_numpy(values).shape[0] == len(POINTS)


@pytest.mark.slow
def test_open3d() -> None:
    open3d = pytest.importorskip("open3d", exc_type=ImportError)
    legacy = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(POINTS))
    tensor = open3d.t.geometry.PointCloud(open3d.core.Tensor(POINTS))
    box = open3d.geometry.TriangleMesh.create_box()
    boxes = (box, open3d.t.geometry.TriangleMesh.from_legacy(box))
    for cloud in (legacy, tensor, tensor.point.positions):
        assert np.array_equal(as_cloud(cloud).points, POINTS)
    sampled = as_cloud(graphreg.Mesh(np.asarray(box.vertices), np.asarray(box.triangles)))
    for mesh in boxes:
        assert np.array_equal(as_cloud(mesh).points, sampled.points)
    with pytest.raises(graphreg.InputError, match="source: expected"):
        graphreg.register(open3d.t.geometry.PointCloud(), POINTS)
    result = graphreg.register(legacy, tensor, method="icp")
    legacy.transform(result.transformation)
    tensor.transform(np.asarray(result))
