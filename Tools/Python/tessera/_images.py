"""Images: arrays with a place in space, and the objects of other packages that are such."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from . import _core, _gpu
from ._errors import UsageError

ImageLike: TypeAlias = Any
"""A path, a numpy array or another one that numpy can take, `Image`, or an image of itk, SimpleITK, nibabel, ants, xarray,
torch or cupy."""


class Grid:
    """The voxels of an image in space: point (x, y, z in mm, LPS) = origin + direction @ (spacing * index).

    All sequences are in the order x, y, z. Grids do not change, and can be compared.

    >>> Grid((64, 48, 32), spacing=(1, 1, 2)).shape
    (32, 48, 64)
    """

    __slots__ = ("size", "spacing", "origin", "direction")

    def __init__(
        self,
        size: Iterable[int],
        spacing: Iterable[float] | None = None,
        origin: Iterable[float] | None = None,
        direction: Any = None,
    ) -> None:
        self.size = tuple(int(n) for n in size)
        axes = len(self.size)
        self.spacing = (1.0,) * axes if spacing is None else _floats(spacing)
        self.origin = (0.0,) * axes if origin is None else _floats(origin)
        rows = np.eye(axes) if direction is None else np.asarray(direction, dtype=float)
        if rows.ndim == 1 and rows.size == axes * axes:
            rows = rows.reshape(axes, axes)
        if len(self.spacing) != axes or len(self.origin) != axes or rows.shape != (axes, axes):
            raise UsageError(
                f"Grid: size {self.size}, spacing {self.spacing}, origin {self.origin}, direction of shape "
                f"{rows.shape}: they do not go together. Allowed: as many numbers of each as the grid has axes, "
                f"and a square direction."
            )
        self.direction = tuple(tuple(float(number) for number in row) for row in rows)

    @property
    def dimension(self) -> int:
        """2, 3 or 4."""
        return len(self.size)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array of its voxels: z, y, x."""
        return self.size[::-1]

    def points(self, indices: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The points (n x D, x, y, z in mm) of indices of arrays (n x D, z, y, x), which need not be whole."""
        offsets = np.asarray(indices, dtype=float)[:, ::-1] * self.spacing
        return np.asarray(offsets @ np.transpose(self.direction) + self.origin)

    def indices(self, points: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The indices of arrays (n x D, z, y, x) at which points (n x D, x, y, z in mm) lie.

        >>> Grid((64, 48, 32), spacing=(1, 1, 2), origin=(0, 0, -4)).indices([[3, 5, 0]])
        array([[2., 5., 3.]])
        """
        offsets = np.asarray(points, dtype=float) - self.origin
        return np.asarray((np.linalg.solve(self.direction, offsets.T).T / self.spacing)[:, ::-1], dtype=float)

    def _numbers(self) -> tuple[list[int], list[float], list[float], list[float]]:
        return list(self.size), list(self.spacing), list(self.origin), [n for row in self.direction for n in row]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and self._numbers() == other._numbers()

    def __hash__(self) -> int:
        return hash((self.size, self.spacing, self.origin, self.direction))

    def __repr__(self) -> str:
        return f"Grid({self.size}, spacing={self.spacing}, origin={self.origin}, direction={self.direction})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Grid, (self.size, self.spacing, self.origin, self.direction)


class Image:
    """An array of voxels (z, y, x) with a place in space.

    ``spacing``, ``origin`` (mm) and ``direction`` are in the order x, y, z, as in ITK. ``scale`` is the spacing in
    the order of the array, as in scikit-image and napari; it takes the place of ``spacing``.

    >>> import numpy as np
    >>> image = Image(np.zeros((8, 16, 32), np.int16), spacing=(0.5, 1, 2))
    >>> image.grid.size, image.spacing
    ((32, 16, 8), (0.5, 1.0, 2.0))
    """

    __slots__ = ("array", "grid")

    def __init__(
        self,
        array: Any,
        spacing: Iterable[float] | None = None,
        origin: Iterable[float] | None = None,
        direction: Any = None,
        *,
        scale: Iterable[float] | None = None,
    ) -> None:
        self.array = np.asarray(array)
        if scale is not None:
            if spacing is not None:
                raise UsageError("Image: both spacing (x, y, z) and scale (z, y, x) are given. Allowed: one of them.")
            spacing = _floats(scale)[::-1]
        self.grid = Grid(self.array.shape[::-1], spacing, origin, direction)

    @property
    def spacing(self) -> tuple[float, ...]:
        """Distances of voxels along x, y and z, mm."""
        return self.grid.spacing

    @property
    def origin(self) -> tuple[float, ...]:
        """The point of the first voxel, x, y, z in mm (LPS)."""
        return self.grid.origin

    @property
    def direction(self) -> tuple[tuple[float, ...], ...]:
        """The matrix whose columns are the directions of the axes x, y and z."""
        return self.grid.direction

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False and dtype is not None and np.dtype(dtype) != self.array.dtype:
            raise ValueError("Image: another dtype takes a copy.")
        return np.array(self.array, dtype=dtype, copy=True) if copy else np.asarray(self.array, dtype=dtype)

    def __dlpack__(self, **more: Any) -> Any:
        return self.array.__dlpack__(**more)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __repr__(self) -> str:
        return f"Image({_name_of_array(self.array)}, {self.grid!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Image, (self.array, self.spacing, self.origin, self.direction)


def _floats(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _name_of_array(array: Any) -> str:
    return f"array[{str(array.dtype).removeprefix('torch.')} {'x'.join(str(n) for n in reversed(array.shape))}]"


_WAYS_OF_ARRAYS = ("__array__", "__array_interface__", "__dlpack__")


def _kind(thing: object) -> str:
    """The package that the class of an object, or one that it is derived from, belongs to; "numpy" for other arrays,
    such as those of jax, dask, zarr and h5py; "" for what is no array."""
    if isinstance(thing, Image):
        return "tessera"
    if isinstance(thing, (str, os.PathLike)):
        return "path"
    for base in type(thing).__mro__:
        package = (base.__module__ or "").partition(".")[0]
        if package in _READERS:
            return package
    return "numpy" if any(hasattr(thing, way) for way in _WAYS_OF_ARRAYS) else ""


def _of_array(thing: Any) -> Image:
    if hasattr(thing, "__array__") or hasattr(thing, "__array_interface__"):
        return Image(np.asarray(thing))
    try:
        return Image(np.from_dlpack(thing))
    except (BufferError, RuntimeError) as error:
        raise UsageError(f"{type(thing).__name__}: numpy cannot take it: {error}. Allowed: arrays on the CPU.") from error


def _of_itk(thing: Any) -> Image:
    import itk  # it is there, since the object is of it

    direction = np.asarray(itk.array_from_matrix(thing.GetDirection()))
    return Image(itk.array_view_from_image(thing), tuple(thing.GetSpacing()), tuple(thing.GetOrigin()), direction)


def _of_simple_itk(thing: Any) -> Image:
    import SimpleITK

    return Image(SimpleITK.GetArrayViewFromImage(thing), thing.GetSpacing(), thing.GetOrigin(), thing.GetDirection())


def _of_nibabel(thing: Any) -> Image:
    axes = min(thing.ndim, 3)  # a fourth one is time
    lps = np.diag([-1.0, -1.0, 1.0]) @ np.asarray(thing.affine, dtype=float)[:3]
    spacing = np.linalg.norm(lps[:axes, :axes], axis=0)
    direction = lps[:axes, :axes] / spacing
    if np.abs(direction.T @ direction - np.eye(axes)).max() > 1e-4:
        raise UsageError(
            "nibabel image: its axes are not perpendicular (sheared). Allowed: images whose affine turns, "
            "mirrors and scales, such as nibabel.processing.resample_to_output makes."
        )
    array, origin = np.asanyarray(thing.dataobj).T, lps[:axes, 3]
    if array.ndim == 4:
        direction = np.block([[direction, np.zeros((3, 1))], [np.zeros((1, 3)), np.eye(1)]])
        spacing, origin = [*spacing, thing.header.get_zooms()[3] or 1.0], [*origin, 0.0]
    return Image(array, spacing, origin, direction)


def _of_ants(thing: Any) -> Image:
    return Image(thing.numpy().T, thing.spacing, thing.origin, thing.direction)


def _of_xarray(thing: Any) -> Image:
    """Coordinates of the axes are mm; an attribute "direction" (z, y, x) turns them, as of itk.xarray_from_image."""
    spacing, origin = [], []
    for axis in reversed(thing.dims):
        places = np.asarray(thing.coords[axis], dtype=float) if axis in thing.coords else np.arange(thing.sizes[axis])
        steps = np.diff(places)
        if steps.size and (steps.min() <= 0 or np.ptp(steps) > 1e-4 * steps.mean()):
            raise UsageError(f"xarray: coordinates of {axis} that do not rise in equal steps. Allowed: such that do.")
        spacing.append(float(steps.mean()) if steps.size else 1.0)
        origin.append(float(places[0]) if places.size else 0.0)
    direction = thing.attrs.get("direction")
    return Image(thing.values, spacing, origin, None if direction is None else np.flip(direction))


def _of_torch(thing: Any) -> Image:
    import torch

    tensor = (thing.float() if thing.dtype == torch.bfloat16 else thing).detach()
    if tensor.is_cuda:  # pinned memory, which torch keeps for the next call, is filled at the bus's rate
        tensor = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True).copy_(tensor)
    return Image(tensor.cpu().numpy())


_READERS: dict[str, Callable[[Any], Image]] = {
    "numpy": _of_array,
    "itk": _of_itk,
    "SimpleITK": _of_simple_itk,
    "nibabel": _of_nibabel,
    "ants": _of_ants,
    "xarray": _of_xarray,
    "torch": _of_torch,
    "cupy": lambda thing: Image(thing.get()),
}


def image_of(thing: ImageLike, argument: str) -> Image | str:
    """An image with the memory of an object, or the path that it is. Raises UsageError."""
    kind = _kind(thing)
    if kind == "tessera":
        return thing  # type: ignore[no-any-return]
    if kind == "path":
        return os.fspath(thing) if isinstance(os.fspath(thing), str) else os.fsdecode(thing)
    if not kind:
        raise UsageError(
            f"{argument}: an object of type {type(thing).__module__}.{type(thing).__qualname__}: it is no image "
            f"that is known. Allowed: a path, an array that numpy can take, tessera.Image, or an image of itk, "
            f"SimpleITK, nibabel, ants, xarray, torch or cupy."
        )
    return _READERS[kind](thing)


def is_on_gpu(thing: Any) -> bool:
    """Whether an array, or that of an `Example`, lies on a GPU where the extension can take it."""
    kept = thing if isinstance(thing, Example) else Example(thing)
    return _gpu.is_there(kept.kind, kept.more)


def source_of(thing: ImageLike, argument: str, *, may_be_on_gpu: bool = False) -> _core.Source:
    """What the extension takes of an image."""
    if may_be_on_gpu and is_on_gpu(thing):
        array = _gpu.readable(_kind(thing), thing)
        capsule = array.__dlpack__(stream=1)  # after what its stream has still to do
        return _core.Source(_name_of_array(array), capsule, Grid(reversed(array.shape))._numbers())
    image = image_of(thing, argument)
    if isinstance(image, str):
        return _core.Source(image)
    return _core.Source(_name_of_array(image.array), array_of(image, argument), image.grid._numbers())


def array_of(image: Image, argument: str) -> np.ndarray[Any, Any]:
    """The array of an image as the extension takes it; a copy where it must be. Raises UsageError."""
    array = image.array
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise UsageError(
            f"{argument}: {_name_of_array(array)}: voxels of this type are not read. Allowed: whole numbers, bool "
            f"and floats of up to 64 bits."
        )
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    elif not array.dtype.isnative or not array.flags.aligned or any(n % array.itemsize for n in array.strides):
        array = array.astype(array.dtype.newbyteorder("="))
    return array


class Example:
    """What `like` needs of an image, without its voxels."""

    __slots__ = ("kind", "more")

    def __init__(self, thing: Any) -> None:
        self.kind = _kind(thing)
        self.more = _NEEDED[self.kind](thing) if self.kind in _NEEDED else None


_NEEDED: dict[str, Callable[[Any], Any]] = {
    "nibabel": type,
    "xarray": lambda thing: (type(thing), thing.dims, "direction" in thing.attrs),
    "torch": lambda thing: thing.device,
    "cupy": lambda thing: thing.device,
}


def like(example: ImageLike | Example, array: Any, grid: Grid) -> ImageLike:
    """An image of the kind of `example`; `Image` where that is a path. An array that is not numpy's lies on a GPU, and
    is copied there."""
    kept = example if isinstance(example, Example) else Example(example)
    if not isinstance(array, np.ndarray):
        return _gpu.copied(kept.kind, kept.more, array)
    image = Image(array, grid.spacing, grid.origin, grid.direction)
    writer = _WRITERS.get(kept.kind)
    return writer(image, kept.more) if writer else image


def to_itk(array: np.ndarray[Any, Any], grid: Grid) -> Any:
    """An itk.Image. Of arrays with a last axis of components: an image of itk.Vector if there is one for each axis of the
    grid, else an itk.VectorImage."""
    import itk

    how: dict[str, Any] = {"is_vector": array.ndim > grid.dimension}
    if array.shape == (*grid.shape, grid.dimension):
        vector = getattr(itk, "Vector")[itk.F, grid.dimension]
        how = {"ttype": getattr(itk, "Image")[vector, grid.dimension]}
    made = itk.image_from_array(np.ascontiguousarray(array), **how)
    made.SetSpacing(grid.spacing)
    made.SetOrigin(grid.origin)
    made.SetDirection(itk.matrix_from_array(np.ascontiguousarray(grid.direction)))
    return made


def _to_simple_itk(image: Image, _: Any = None) -> Any:
    import SimpleITK

    made = SimpleITK.GetImageFromArray(image.array, isVector=False)
    made.SetSpacing(image.spacing)
    made.SetOrigin(image.origin)
    made.SetDirection(image.grid._numbers()[3])
    return made


def _to_nibabel(image: Image, example: type) -> Any:
    import nibabel

    affine, axes = np.eye(4), min(image.grid.dimension, 3)
    affine[:axes, :axes] = (np.asarray(image.direction) * image.spacing)[:axes, :axes]
    affine[:axes, 3] = image.origin[:axes]
    kind = example if issubclass(example, nibabel.Nifti1Pair) else nibabel.Nifti1Image
    made: Any = kind(image.array.T, np.diag([-1.0, -1.0, 1.0, 1.0]) @ affine)
    if image.grid.dimension == 4:
        made.header.set_zooms((*made.header.get_zooms()[:3], image.spacing[3]))
    return made


def _to_ants(image: Image, _: Any) -> Any:
    import ants

    return ants.from_numpy(image.array.T, list(image.origin), list(image.spacing), np.asarray(image.direction))


def _to_xarray(image: Image, example: Any) -> Any:
    kind, dims, has_direction = example
    coords = {}
    for d, axis in enumerate(reversed(dims)):
        coords[axis] = image.origin[d] + image.spacing[d] * np.arange(image.grid.size[d])
    attrs = {"direction": np.flip(image.direction)} if has_direction else {}
    return kind(image.array, dims=dims, coords=coords, attrs=attrs)


def _to_torch(image: Image, device: Any) -> Any:
    import torch

    return torch.from_numpy(image.array).to(device)


def _to_cupy(image: Image, device: Any) -> Any:
    import cupy

    with device:
        return cupy.asarray(image.array)


_WRITERS = {
    "numpy": lambda image, _: image.array,
    "itk": lambda image, _: to_itk(image.array, image.grid),
    "SimpleITK": _to_simple_itk,
    "nibabel": _to_nibabel,
    "ants": _to_ants,
    "xarray": _to_xarray,
    "torch": _to_torch,
    "cupy": _to_cupy,
}


def points_of(points: Any, argument: str) -> np.ndarray[Any, Any] | str:
    """Points (n x D, x, y, z in mm) or the path of a file of points."""
    if isinstance(points, (str, os.PathLike)):
        return os.fsdecode(points)
    array = np.ascontiguousarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] not in (2, 3, 4):
        raise UsageError(
            f"{argument}: an array of shape {array.shape}: these are no points. Allowed: n rows of x, y or "
            f"x, y, z in mm (LPS), or x, y, z, t."
        )
    return array


def grid_of(thing: Any, argument: str) -> Grid:
    """The grid of an image, or a grid as it is."""
    if isinstance(thing, Grid):
        return thing
    image = image_of(thing, argument)
    if isinstance(image, str):
        raise UsageError(f"{argument}: a path. Allowed: a tessera.Grid or an image in memory (tessera.read).")
    return image.grid


def as_list(things: Any) -> Sequence[Any]:
    """One thing or several, as a sequence; None is none."""
    if things is None:
        return ()
    return things if isinstance(things, (list, tuple)) else (things,)
