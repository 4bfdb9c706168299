"""Transforms: applied to images, labels, points and grids; joined, inverted, written and read."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._bridges import from_ants, from_itk, to_ants, to_itk, to_simple_itk
from ._errors import OutputError, UsageError
from ._images import Grid, ImageLike, grid_of, image_of, like, points_of, source_of
from ._parameters import Value, entries_of, text_of
from ._work import finish, least_level, thread_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_INTERPOLATORS = {0: "FinalNearestNeighborInterpolator", 1: "FinalLinearInterpolator"}


class Transform:
    """A map of points of the fixed image to points of the moving image, in mm (LPS). It does not change.

    ``a @ b`` applies ``b`` first. Transforms can be pickled, and used by several threads at once.

    >>> import numpy as np
    >>> shift = Transform.from_matrix([[1, 0, 5], [0, 1, 0], [0, 0, 1]])
    >>> shift.apply_points([[1.0, 2.0]])
    array([[6., 2.]])
    >>> (shift @ shift.inverse()).apply_points([[1.0, 2.0]])
    array([[1., 2.]])

    Two are equal if they have the same transforms with the same parameters in the same order, so that they map points
    alike, to the bit. Grids and settings of resampling do not count.

    >>> shift == Transform.from_matrix(shift.matrix), shift == shift @ shift
    (True, False)
    """

    __slots__ = ("_parts", "_fixed", "_moving")

    _parts: tuple[tuple[_core.Chain, bool], ...]  # in the order in which they are applied; True: inverted
    _fixed: Grid | None
    _moving: Grid | None

    @classmethod
    def _of(cls, parts: tuple[tuple[_core.Chain, bool], ...], fixed: Grid | None, moving: Grid | None) -> Transform:
        made = cls.__new__(cls)
        made._parts, made._fixed, made._moving = parts, fixed, moving
        return made

    def __init__(self) -> None:
        raise UsageError("Transform(): made by register(), load() and from_matrix(). Allowed: one of these.")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Transform:
        """Reads a transform of any kind that `tessera-transform -tp` reads: TransformParameters.N.txt with the
        files that it names, .toml, .tfm, .h5, .mat, and images of displacements. Raises InputError."""
        work = _core.read_transform(os.fsdecode(path), least_level())
        chain, grid = finish(work)
        return cls._of(((chain, False),), None if grid is None else Grid(*grid), None)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Transform:
        """The linear transform of a matrix of 3 x 3 (2D) or 4 x 4 (3D) numbers, whose last row is 0 0 1."""
        rows = np.asarray(matrix, dtype=float)
        axes = len(rows) - 1
        if rows.shape not in ((3, 3), (4, 4)) or not np.array_equal(rows[-1], np.eye(axes + 1)[-1]):
            raise UsageError(
                f"matrix: of shape {rows.shape}: it is no linear transform. Allowed: 3 x 3 or 4 x 4 numbers whose "
                f"last row is 0 ... 0 1."
            )
        numbers = [*rows[:axes, :axes].ravel(), *rows[:axes, axes]]
        made = cls.from_maps(
            [
                {
                    "Transform": "AffineTransform",
                    "NumberOfParameters": len(numbers),
                    "TransformParameters": numbers,
                    "CenterOfRotationPoint": [0] * axes,
                    "Size": [1] * axes,
                }
            ]
        )
        return cls._of(made._parts, None, None)

    @classmethod
    def from_maps(cls, maps: Sequence[Mapping[str, Value]]) -> Transform:
        """The transform of what transform parameter files would say (`maps`), the first to be applied at the front.
        The last one has the grid, and tells how images are resampled. An initial transform that the first one names
        is read. Raises InputError, UsageError."""
        entries = [entries_of(one, f"maps[{number}]") for number, one in enumerate(maps)]
        dimension = len(dict(entries[-1]).get("Size", ())) if entries else 0
        chain, grid = finish(_core.chain_of_texts(dimension or 3, list(map(text_of, entries)), least_level()))
        return cls._of(((chain, False),), Grid(*grid), None)

    @classmethod
    def from_itk(cls, transform: Any) -> Transform:
        """A transform of itk or SimpleITK, or a composite of such. Raises InputError for classes that are not read."""
        dimension, numbers = from_itk(transform)
        return cls._of(((_core.chain_of_itk(dimension, numbers, []), False),), None, None)

    @classmethod
    def from_ants(cls, transform: Any) -> Transform:
        """A transform of ants, or its file. A list of such is applied from its front on, as `ants.apply_transforms`
        does: ``from_ants(found["fwdtransforms"])``. Raises InputError, UsageError."""
        if isinstance(transform, (list, tuple)) and transform:
            return functools.reduce(lambda first, then: then @ first, map(cls.from_ants, transform))
        if isinstance(transform, (str, os.PathLike)):
            return cls.load(transform)
        dimension, numbers = from_ants(transform)
        return cls._of(((_core.chain_of_itk(dimension, numbers, []), False),), None, None)

    def to_itk(self) -> Any:
        """A transform of itk, which is imported: several are a CompositeTransform. Raises OutputError for what ITK
        does not have, such as an inverse that is not linear."""
        return to_itk(self._itk())

    def to_sitk(self) -> Any:
        """The same of SimpleITK."""
        return to_simple_itk(self._itk())

    def to_ants(self) -> Any:
        """A transform of ants, which is imported: one that is not linear as displacements on the fixed grid."""
        return to_ants(self)

    def _itk(self) -> list[tuple[str, list[float], list[float]]]:
        return [transform for chain in reversed(self._with_linear_inverses()) for transform in chain.itk()]

    @property
    def dimension(self) -> int:
        """2, 3 or 4."""
        return self._parts[0][0].dimension

    @property
    def fixed_grid(self) -> Grid | None:
        """The grid of the fixed image, on which images are resampled; None if it is not known."""
        return self._fixed

    @property
    def moving_grid(self) -> Grid | None:
        """The grid of the moving image; None if it is not known."""
        return self._moving

    @property
    def matrix(self) -> NDArray[np.float64] | None:
        """The matrix of a linear transform, 3 x 3 in 2D and 4 x 4 in 3D; None for others."""
        product = np.eye(self.dimension + 1)
        for chain, inverted in self._parts:
            numbers = chain.matrix()
            if numbers is None:
                return None
            rows = np.reshape(numbers, product.shape)
            product = (np.linalg.inv(rows) if inverted else rows) @ product
        return product

    @property
    def is_linear(self) -> bool:
        """Whether it is one matrix."""
        return self.matrix is not None

    @property
    def maps(self) -> list[dict[str, tuple[str, ...]]]:
        """What transform parameter files would say, one dict for each transform, the first to be applied at the
        front. Raises UsageError for a transform with an inverse, which these files cannot say."""
        return [
            {name: tuple(values) for name, values in _core.entries_of_text(text, "transform")} for text in self._texts()
        ]

    def _texts(self) -> list[str]:
        return [text for chain in self._with_linear_inverses() for text in self._texts_of(chain)]

    def _texts_of(self, chain: _core.Chain) -> list[str]:
        grid = self._fixed or Grid((1,) * self.dimension)
        texts: list[str] = finish(chain.texts(grid._numbers(), 1))
        return texts

    def _with_linear_inverses(self) -> list[_core.Chain]:
        """The parts without an inverse, in the order in which they are applied."""
        chains = []
        for chain, inverted in self._parts:
            if inverted:
                numbers = chain.matrix()
                if numbers is None:
                    raise UsageError(
                        "transform: an inverse that is not linear has no parameters. Allowed: save() to a file of "
                        "displacements, or the transform that was inverted."
                    )
                rows = np.reshape(numbers, (self.dimension + 1, self.dimension + 1))
                chain = Transform.from_matrix(np.linalg.inv(rows))._parts[0][0]
            chains.append(chain)
        return chains

    def inverse(self) -> Transform:
        """The transform from the moving image to the fixed one. It is searched where it is applied; points without
        an inverse become NaN, and voxels count as outside."""
        parts = tuple((chain, not inverted) for chain, inverted in reversed(self._parts))
        return Transform._of(parts, self._moving, self._fixed)

    def __matmul__(self, first: Transform) -> Transform:
        if not isinstance(first, Transform):
            return NotImplemented
        if first.dimension != self.dimension:
            raise UsageError(
                f"transform: {self.dimension}D @ {first.dimension}D: they do not go together. Allowed: transforms of "
                f"one dimension."
            )
        return Transform._of(first._parts + self._parts, first._fixed, self._moving)

    def apply(
        self,
        image: ImageLike,
        *,
        labels: bool = False,
        grid: Grid | ImageLike | None = None,
        order: int | None = None,
        default: float | None = None,
        device: str = "cpu",
        threads: int | None = None,
        from_time: int | None = None,
    ) -> Any:
        """Resamples an image of the moving space on the grid of the fixed image.

        ``labels``: the image is a label map, and voxels get the nearest label. ``grid``: a `Grid` or an image whose
        grid takes the place of that of the fixed image. ``order``: of the spline through the voxels, from 0 (nearest
        voxel) to 5; else as the parameters of the registration say, or 3. ``default``: the value outside of the
        image; else 0 or what these parameters say. ``from_time``: the transform is that of a series, the image is of
        this time alone, counted from 0, and is carried to all times.

        Returns an image of the kind of ``image`` (`Image` for a path), with its type of voxels, into whose range
        values are rounded; doubles become floats. Raises UsageError, InputError.

        >>> import numpy as np
        >>> shift = Transform.from_matrix([[1, 0, 1], [0, 1, 0], [0, 0, 1]])
        >>> image = np.array([[0, 0, 7, 0]] * 4, np.uint8)
        >>> shift.apply(image, grid=image, order=1)[0]
        array([0, 7, 0, 0], dtype=uint8)
        """
        asked = self._asked(grid, device, threads)
        if from_time is not None:
            if not isinstance(from_time, int) or from_time < 0 or grid is not None:
                raise UsageError(
                    f"from_time: {from_time!r}: not the number of a time, or given with grid. Allowed: a whole number, 0 "
                    f"for the first time, and the grid of the transform."
                )
            asked.set_from_time(from_time)
        source = source_of(image, "image")
        if labels:
            asked.add_labels(source)
        else:
            asked.add_image(source)
        changes = []
        if order is not None:
            if order not in range(6):
                raise UsageError(f"order: {order!r}: no order of a spline. Allowed: 0 to 5.")
            changes.append(("ResampleInterpolator", [_INTERPOLATORS.get(order, "FinalBSplineInterpolator")]))
            changes.append(("FinalBSplineInterpolationOrder", [str(order)]))
        if default is not None:
            changes.append(("DefaultPixelValue", [repr(float(default))]))
        asked.set_changes(changes)
        array, numbers = self._result(asked).image()
        return like(image, array, Grid(*numbers))

    def apply_points(self, points: ArrayLike) -> NDArray[np.float64]:
        """Maps points (n x D, x, y, z in mm, LPS) of the fixed image to the moving one."""
        mm = points_of(points, "points")
        if isinstance(mm, str):
            raise UsageError("points: a path. Allowed: an array of n x D numbers.")
        if len(mm) == 0:
            return np.empty((0, self.dimension))
        asked = self._asked(None, "cpu", None, needs_grid=False)
        asked.set_points(mm)
        return np.asarray(self._result(asked).points())

    def apply_indices(
        self,
        indices: ArrayLike,
        *,
        fixed: Grid | ImageLike | None = None,
        moving: Grid | ImageLike | None = None,
    ) -> NDArray[np.float64]:
        """Maps indices (n x D, z, y, x) of the array of the fixed image to places in the array of the moving one, which
        may lie between its voxels. `numpy.argwhere` gives such indices, and `scipy.ndimage.map_coordinates` takes such
        places, transposed. ``fixed``, ``moving``: images or grids, if the transform does not know these.

        >>> grid = Grid((8, 8), spacing=(2, 2))
        >>> shift = Transform.from_matrix([[1, 0, 6], [0, 1, 0], [0, 0, 1]])
        >>> shift.apply_indices([[5, 0]], fixed=grid, moving=grid)
        array([[5., 3.]])
        """
        grids = []
        for name, given, own in ("fixed", fixed, self._fixed), ("moving", moving, self._moving):
            grid = own if given is None else grid_of(given, name)
            if grid is None:
                raise UsageError(f"{name}: not given, and the transform has no such grid. Allowed: a Grid or an image.")
            if not self._parts[-1][0].uses_direction_cosines():
                grid = Grid(grid.size, grid.spacing, grid.origin)
            grids.append(grid)
        return grids[1].indices(self.apply_points(grids[0].points(indices)))

    def displacement(self, grid: Grid | ImageLike | None = None, *, device: str = "cpu") -> NDArray[np.float32]:
        """T(x) - x at all voxels, mm: an array of the shape of the grid, with x, y, z in its last axis."""
        asked = self._asked(grid, device, None)
        asked.ask_for_field()
        return np.asarray(self._result(asked).field("deformationField"))

    def jacobian(self, grid: Grid | ImageLike | None = None, *, device: str = "cpu") -> NDArray[np.float32]:
        """The determinant of dT/dx at all voxels: above 1 where the moving image is larger, below 0 in folds."""
        asked = self._asked(grid, device, None)
        asked.ask_for_determinants()
        return np.asarray(self._result(asked).field("spatialJacobian"))

    def jacobian_matrix(self, grid: Grid | ImageLike | None = None, *, device: str = "cpu") -> NDArray[np.float32]:
        """dT/dx at all voxels: an array of the shape of the grid, whose last two axes are components of T and of x."""
        asked = self._asked(grid, device, None)
        asked.ask_for_matrices()
        return np.asarray(self._result(asked).field("fullSpatialJacobian"))

    def save(self, path: str | os.PathLike[str], format: str = "", *, grid: Grid | ImageLike | None = None) -> None:
        """Writes a file for the program of ``format``, by default that of the ending, as `tessera-transform --write`
        does: elastix (.txt), itk (.tfm, .h5), field (images), ants, fsl, niftyreg, greedy, freesurfer. Transforms
        that the format cannot hold become one field of displacements on the grid. Raises OutputError, UsageError."""
        if grid is None and self._fixed is None and self.is_linear:
            grid = Grid((2,) * self.dimension)
        asked = self._asked(grid, "cpu", None)
        if self._moving is not None:
            asked.set_moving_grid(self._moving._numbers())
        asked.write_to(os.fsdecode(path), format)
        self._result(asked)

    def _single(self) -> _core.Chain:
        """All parts in one chain."""
        if len(self._parts) == 1 and not self._parts[0][1]:
            return self._parts[0][0]
        asked = self._asked(None if self._fixed else Grid((2,) * self.dimension), "cpu", None)
        asked.ask_for_chain()
        chain: _core.Chain = self._result(asked).chain()
        return chain

    def _asked(
        self, grid: Grid | ImageLike | None, device: str, threads: int | None, needs_grid: bool = True
    ) -> _core.TransformAsked:
        asked = _core.TransformAsked()
        for chain, inverted in self._parts:
            asked.add_chain(chain, inverted)
        output = self._fixed if grid is None else grid_of(grid, "grid")
        if output is None and needs_grid:
            raise UsageError("grid: not given, and the transform has none. Allowed: a Grid or an image.")
        if output is None:
            output = Grid((2,) * self.dimension)
        asked.set_grid(output._numbers())
        asked.set_device(device)
        asked.set_threads(thread_count(threads)[0])
        return asked

    @staticmethod
    def _result(asked: _core.TransformAsked) -> _core.Mapped:
        mapped: _core.Mapped = finish(_core.transform(asked, least_level()))
        return mapped

    def __reduce__(self) -> tuple[Any, ...]:
        parts = [(self._pickled(chain), inverted) for chain, inverted in self._parts]
        return _unpickled, (self.dimension, parts, self._fixed, self._moving)

    def _pickled(self, chain: _core.Chain) -> Any:
        """The texts of a chain or, where it has fields in memory, the arguments of `_core.chain_of_itk`."""
        try:
            return self._texts_of(chain)
        except OutputError:
            numbers = [(name, np.array(place), np.array(values)) for name, place, values in reversed(chain.itk())]
            return self.dimension, numbers, chain.settings()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transform) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __repr__(self) -> str:
        return f"Transform({self.dimension}D, {'linear' if self.is_linear else 'nonlinear'})"


def _unpickled(dimension: int, parts: list[tuple[Any, bool]], fixed: Grid | None, moving: Grid | None) -> Transform:
    chains = [
        (
            _core.chain_of_itk(*part)
            if isinstance(part, tuple)
            else finish(_core.chain_of_texts(dimension, part, least_level()))[0]
        )
        for part, _ in parts
    ]
    return Transform._of(tuple(zip(chains, (inverted for _, inverted in parts))), fixed, moving)
