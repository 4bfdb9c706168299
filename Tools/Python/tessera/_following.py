"""Registrations of image after image to one fixed image, and of the volumes of a series."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core
from ._errors import UsageError, in_words_of_python
from ._files import read
from ._gpu import own
from ._images import Example, Grid, Image, ImageLike, image_of, like, source_of
from ._parameters import Stages
from ._registration import asked_of, framed
from ._transform import Transform
from ._work import Cancel, finish, least_level, warnings_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Update(NamedTuple):
    """What `Follower.update` has found. Distances in mm."""

    transform: Transform
    """From the fixed image to the moving one."""
    image: Any
    """The moving image on the grid of the fixed one, of the kind of the latter; None without ``resample``."""
    is_cold: bool
    """It began anew, not from the update before it."""
    why: str
    """Why it is cold; "" if it is not."""
    ended_in_time: bool
    """The deadline has ended it."""
    first_levels: tuple[int, ...]
    """The first level of each stage that was run, from 0; -1: none."""
    metric: float
    """Its value at the end."""
    overlap: float
    """The share of the fixed image that maps into the moving one."""
    correlation: float
    """Of the intensities."""
    folded: float
    """The share of the image where the determinant of the Jacobian is not above 0."""
    left: float
    """What was left to move before this update."""
    mean_displacement: float
    """Of the points of the image, by the transform."""
    largest_displacement: float
    reading_seconds: float
    looking_seconds: float
    registering_seconds: float
    warnings: tuple[str, ...]
    """Of this update."""
    parameters: tuple[str, ...]
    """Texts of what was run, one a stage. `tessera --start-at` with them repeats the update to the bit."""


class Follower:
    """Registers image after image to one fixed image. It keeps that image and its pyramid, and each registration goes
    on from the last one, where that still holds: dox/Following.md.

    ``parameters``: as for `register`; the first stage should be rigid, and "FreeFormFollow" is made for this.
    ``start_at``: a `Transform` of the same stages, or its file, from which the first update goes on. ``resample``: each
    update has its image. The others are those of `register`. Raises UsageError, InputError, DeviceError, OutOfMemory.

    >>> import numpy as np
    >>> y, x = np.mgrid[:40, :40]
    >>> def blob(at): return np.exp(-((x - at) ** 2 + (y - 20) ** 2) / 60)
    >>> follower = Follower(blob(20), "Translation")
    >>> [round(follower.update(blob(at)).transform.matrix[0, 2]) for at in (21, 22, 23)]
    [1, 2, 3]
    """

    __slots__ = ("_followed", "_example", "_busy", "_last")

    def __init__(
        self,
        fixed: ImageLike,
        parameters: Stages,
        *,
        fixed_mask: ImageLike | None = None,
        initial: Transform | str | os.PathLike[str] | Any = None,
        start_at: Transform | str | os.PathLike[str] | None = None,
        resample: bool = False,
        device: str | None = None,
        threads: int | None = None,
        max_device_memory: float | str | None = None,
        strict: bool = False,
    ) -> None:
        asked = asked_of(
            fixed,
            fixed,  # in place of moving images, which come later
            parameters,
            fixed_mask=fixed_mask,
            initial=initial,
            device=device,
            threads=threads,
            max_device_memory=max_device_memory,
            strict=strict,
        )
        self._followed: _core.Followed = finish(_core.follow(asked, resample, least_level()))
        self._example = Example(fixed)
        self._busy = threading.Lock()
        self._last: Transform | None = None
        if start_at is not None:
            self.last = start_at if isinstance(start_at, Transform) else Transform.load(start_at)

    @property
    def last(self) -> Transform | None:
        """The transform from which the next update goes on; None: it begins anew. It may be set."""
        return self._last

    @last.setter
    def last(self, transform: Transform | None) -> None:
        with self._alone():
            self._followed.set_last(None if transform is None else transform._single())
            self._last = transform

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise UsageError("Follower: an update goes on in another thread. Allowed: one at a time.")
        try:
            yield
        finally:
            self._busy.release()

    @property
    def warnings(self) -> list[str]:
        """What the log has as WARNING."""
        return [in_words_of_python(line) for line in self._followed.warnings()]

    def update(
        self,
        moving: ImageLike,
        *,
        deadline: float | None = None,
        progress: Callable[[_core.Progress], object] | None = None,
        cancel: Cancel | None = None,
    ) -> Update:
        """Registers one moving image, an array or a file in the dimension of the fixed one.

        ``deadline``: seconds after which the update ends at its best state. Images must have the size, spacing and
        direction of the first one. Ctrl-C, ``progress`` and ``cancel`` are as for `register`; what was ended early, or
        has failed, leaves the follower as it was. One update goes at a time.

        Raises InputError for an image that is constant or has voxels that are no finite numbers, RegistrationFailed if
        the deadline comes before the first iteration, and the errors of `register`.
        """
        seconds = math.inf if deadline is None else float(deadline)
        if not (0 < seconds < 1e6 or deadline is None):
            raise UsageError(f"deadline: {deadline!r}: no time. Allowed: seconds above 0, below 1000000.")
        source = source_of(moving, "moving", may_be_on_gpu=True)
        with self._alone():
            work = self._followed.update(source, seconds, least_level())
            found, *rest, warnings, parameters = finish(work, progress, cancel)
            chain, fixed_grid, moving_grid = found.chains()[-1]
            transform = self._last = Transform._of(((chain, False),), Grid(*fixed_grid), Grid(*moving_grid))
        image = None if (view := found.image()) is None else like(self._example, own(view[0]), Grid(*view[1]))
        rest[3] = tuple(rest[3])
        return Update._make([transform, image, *rest, tuple(map(in_words_of_python, warnings)), tuple(parameters)])


class Series:
    """What `register_series` has found, of n volumes."""

    __slots__ = (
        "images",
        "transforms",
        "errors",
        "is_cold",
        "correlation",
        "motion",
        "warnings",
        "_tables",
        "_steps",
        "_page",
    )

    images: Any
    """The volumes on the grid of the reference, of the kind of the series and with its type of voxels (doubles become
    floats). A volume without a result is 0."""
    transforms: list[Transform | None]
    """From the reference to each volume; None: there is no result, and ``errors`` says why."""
    errors: list[str]
    """Of each volume; "": there was none."""
    is_cold: list[bool]
    """Which volumes did not go on from the one before."""
    correlation: list[float]
    """Of the intensities of each volume with those of the reference."""
    motion: NDArray[np.float64]
    """n x 6: turns about x, y, z in rad and shifts in mm, from the reference to each volume about the centre of the
    reference, in the axes of patients (right, front, up); NaN where there is no rigid transform."""
    warnings: list[str]
    """What the log has as WARNING."""

    def __init__(self, images: Any, grid: Grid, volume: Grid, told: Sequence[Any], warnings: list[str]) -> None:
        chains, self.is_cold, self.errors, self.correlation, self._page, *self._tables = told
        self.images = images
        self.transforms = [chain and Transform._of(((chain, False),), grid, volume) for chain in chains]
        rows = [row.split("\t") for row in self._tables[0].splitlines()[1:]]
        numbers = np.array([[math.nan if cell == "n/a" else float(cell) for cell in row] for row in rows])
        self.motion, self._steps = numbers[:, :6], numbers[:, 6:]
        self.warnings = warnings

    @property
    def framewise_displacement(self) -> NDArray[np.float64]:
        """n displacements from the volume before, mm: Power et al. (2012), turns as arcs at 50 mm."""
        return self._steps[:, 0]

    @property
    def rms_displacement(self) -> NDArray[np.float64]:
        """n displacements from the volume before, mm: Jenkinson et al. (2002), over a ball of 80 mm."""
        return self._steps[:, 1]

    def motion_table(self, order: str = "fsl") -> str:
        """The text of motion.tsv, as `tessera-follow --series --order` writes it: "fsl" or "spm"."""
        if order not in ("fsl", "spm"):
            raise UsageError(f"order: {order!r}: no order of the six numbers. Allowed: fsl, spm.")
        return str(self._tables[order == "spm"])

    def _repr_html_(self) -> str | None:
        return framed(self._page) if self._page else None

    def __repr__(self) -> str:
        return f"Series({len(self.transforms)} volumes, {sum(map(bool, self.errors))} without a result)"


def register_series(
    series: Any,
    parameters: Stages,
    *,
    reference: str | int | ImageLike = "mean",
    fixed_mask: ImageLike | None = None,
    initial: Transform | str | os.PathLike[str] | Any = None,
    device: str | None = None,
    threads: int | None = None,
    max_device_memory: float | str | None = None,
    strict: bool = False,
    report: bool = False,
    progress: Callable[[_core.Progress], object] | None = None,
    cancel: Cancel | None = None,
) -> Series:
    """Registers the volumes of a series in 3D over time, each from the result of the one before it.

    ``series``: a file or an image of four axes (arrays: t, z, y, x), or a list of images in 3D of one grid.
    ``reference``: "mean" (two passes: to the first volume, then to the mean of the result), "first", the number of a
    volume from 0, or an image. ``parameters``: "SeriesRigid", or as for `register`, as all others.
    ``report``: notebooks show motion, change over time (DVARS), carpets, mean and deviation, before and after.
    ``progress``: its stage is the pass, and its iteration and iterations are the number of volumes
    that are done, and of all.

    Raises UsageError, InputError, DeviceError, OutOfMemory, and Cancelled after `Cancel.cancel`. A volume that fails
    has its text in `Series.errors`.

    >>> import numpy as np
    >>> z, y, x = np.mgrid[:20, :20, :20]
    >>> def blob(at): return 100 * np.exp(-((x - at) ** 2 / 20 + (y - 10) ** 2 / 30 + (z - 10) ** 2 / 40))
    >>> found = register_series(np.stack([blob(at) for at in (10, 10.5, 11)]), "SeriesRigid", reference="first")
    >>> found.motion[:, 3].round(1) + 0.0  # to the right, which is -x
    array([ 0. , -0.5, -1. ])
    """
    volumes, make = _volumes_of(series)
    number = None if isinstance(reference, bool) or not isinstance(reference, (int, np.integer)) else str(reference)
    name = number or (reference if isinstance(reference, str) and reference in ("mean", "first") else "fixed")
    asked = asked_of(
        volumes[0] if name != "fixed" else reference,
        volumes,
        parameters,
        fixed_mask=fixed_mask,
        initial=initial,
        device=device,
        threads=threads,
        max_device_memory=max_device_memory,
        strict=strict,
    )
    work = _core.follow_series(asked, name, report, least_level())
    array, numbers, moving, time_step, *told = finish(work, progress, cancel)
    grid = Grid(*numbers)
    return Series(make(array, grid, time_step), grid, Grid(*moving), told, warnings_of(work))


def _volumes_of(series: Any) -> tuple[list[ImageLike], Callable[[NDArray[Any], Grid, float], Any]]:
    """The volumes as images in 3D, or a file in 4D, and what makes such a series of an array."""
    if isinstance(series, (list, tuple)):
        if not series:
            raise UsageError("series: no volume. Allowed: one or more.")
        images = [image_of(one, f"series[{number}]") for number, one in enumerate(series)]
        volumes = [read(one) if isinstance(one, str) else one for one in images]
        for number, volume in enumerate(volumes):
            if volume.grid != volumes[0].grid:
                raise UsageError(f"series[{number}]: another grid than series[0]. Allowed: volumes of one grid.")
        return volumes, lambda array, grid, _: [like(one, array[i], grid) for i, one in enumerate(series)]
    image = image_of(series, "series")
    if isinstance(image, str):
        return [image], lambda array, grid, step: _with_time(array, grid, step, 0.0)
    if image.grid.dimension != 4 or len(image.array) == 0:
        raise UsageError(
            f"series: {image!r}: no volumes over time. Allowed: a file or an image of four axes (arrays: t, z, y, x), "
            f"or a list of images in 3D."
        )
    direction = np.asarray(image.direction)[:3, :3]
    volumes = [Image(one, image.spacing[:3], image.origin[:3], direction) for one in image.array]
    step, start = image.spacing[3], image.origin[3]

    def make(array: NDArray[Any], grid: Grid, _: float) -> Any:
        whole = _with_time(array, grid, step, start)
        return like(series, whole.array, whole.grid)

    return volumes, make


def _with_time(array: NDArray[Any], grid: Grid, step: float, start: float) -> Image:
    direction = np.eye(4)
    direction[:3, :3] = grid.direction
    return Image(array, (*grid.spacing, step), (*grid.origin, start), direction)
