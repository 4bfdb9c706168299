"""How alike images, label maps and points are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from . import _core
from ._errors import UsageError
from ._files import read
from ._images import ImageLike, points_of, source_of
from ._transform import Transform
from ._work import finish, least_level, thread_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _source(thing: ImageLike, argument: str, threads: int) -> _core.Source:
    return source_of(read(thing, threads=threads) if isinstance(thing, (str, os.PathLike)) else thing, argument)


def compare(
    first: ImageLike,
    second: ImageLike,
    *,
    mask: ImageLike | None = None,
    range: float | None = None,
    threads: int | None = None,
) -> _core.ImageScores:
    """Compares two images of one grid voxel by voxel, as `tessera-compare` does. ``mask``: voxels other than 0 count.
    ``range``: of grey values, for the structural similarity; else that of ``first``. Raises InputError, UsageError.

    >>> import numpy as np
    >>> image = np.arange(400.0).reshape(20, 20)
    >>> scores = compare(image, image + 2)
    >>> scores.mean_absolute_error, round(scores.correlation, 6)
    (2.0, 1.0)
    """
    count = thread_count(threads)[0]
    a, b = _source(first, "first", count), _source(second, "second", count)
    inside = None if mask is None else _source(mask, "mask", count)
    work = _core.compare_images(a, b, inside, range, count, [a, b, inside], least_level())
    scores: _core.ImageScores = finish(work)
    return scores


def compare_labels(first: ImageLike, second: ImageLike, *, threads: int | None = None) -> dict[int, _core.LabelScore]:
    """Compares two label maps of one grid: overlap and distances of surfaces of each label. Raises InputError,
    UsageError.

    >>> import numpy as np
    >>> labels = np.zeros((20, 20), np.uint8)
    >>> labels[5:15, 5:15] = 3
    >>> compare_labels(labels, labels)[3].dice
    1.0
    """
    count = thread_count(threads)[0]
    a, b = _source(first, "first", count), _source(second, "second", count)
    scores: dict[int, _core.LabelScore] = finish(_core.compare_labels(a, b, None, None, count, [a, b], least_level()))
    return scores


def score(fixed_points: ArrayLike, moving_points: ArrayLike, transform: Transform | None = None) -> _core.PointErrors:
    """The distances between points of the fixed image, mapped by the transform, and the same points in the moving
    image (n x D, x, y, z in mm). Raises UsageError.

    >>> score([[0, 0], [10, 0]], [[3, 4], [10, 0]]).mean
    2.5
    """
    fixed, moving = points_of(fixed_points, "fixed_points"), points_of(moving_points, "moving_points")
    if isinstance(fixed, str) or isinstance(moving, str):
        raise UsageError("points: a path. Allowed: arrays of n x D numbers.")
    if fixed.shape != moving.shape or not len(fixed):
        raise UsageError(
            f"fixed_points and moving_points: of shapes {fixed.shape} and {moving.shape}. Allowed: as many of one as "
            f"of the other, and one at least."
        )
    mapped = fixed if transform is None else transform.apply_points(fixed)
    return _core.point_errors(np.ascontiguousarray(mapped - moving))
