"""Registration of images."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._errors import UsageError, in_words_of_python
from ._gpu import own
from ._images import Example, Grid, ImageLike, as_list, image_of, is_on_gpu, like, points_of, source_of
from ._parameters import Stages, add_stages
from ._transform import Transform
from ._work import Cancel, finish, least_level, thread_count, warnings_of


class Quality(NamedTuple):
    """How well the images fit; "before" is at the start. Distances in mm."""

    overlap_before: float
    overlap: float
    correlation_before: float | None
    correlation: float | None
    mean_displacement: float
    largest_displacement: float
    outside: float
    determinant: float | None
    dice_before: dict[int, float]
    dice: dict[int, float]
    mean_dice_before: float | None
    mean_dice: float | None
    mismatch_signs: tuple[str, ...]


class Level(NamedTuple):
    """A level of a stage; both count from 0."""

    stage: int
    level: int
    iterations: int
    seconds: float
    stop_condition: str
    values: np.ndarray[Any, np.dtype[np.float64]]
    """The metric at each iteration."""


class Registration:
    """What `register` has found."""

    __slots__ = ("transforms", "inverse", "warnings", "_found", "_fixed", "_record", "_image")

    transforms: list[Transform]
    """The transforms after each stage, each with those of the stages before."""
    inverse: Transform | None
    """From the moving image to the fixed one, if `register` was asked for it: one field of displacements on the grid of
    the moving image, or a matrix."""
    warnings: list[str]
    """What the log has as WARNING."""

    def __init__(self, found: _core.Found, fixed: ImageLike, warnings: list[str]) -> None:
        self.transforms = [
            Transform._of(((chain, False),), Grid(*fixed_grid), Grid(*moving_grid))
            for chain, fixed_grid, moving_grid in found.chains()
        ]
        inverse = found.inverse()
        self.inverse = inverse and Transform._of(((inverse[0], False),), Grid(*inverse[1]), Grid(*inverse[2]))
        self.warnings = warnings
        self._found = found
        self._fixed = Example(fixed)
        self._record: dict[str, Any] = {}
        self._image: Any = None

    @property
    def transform(self) -> Transform | None:
        """All stages together; None if a call was stopped before its first level had ended."""
        return self.transforms[-1] if self.transforms else None

    @property
    def image(self) -> Any:
        """The moving image on the grid of the fixed one, of the kind of ``fixed`` and with the voxel type of
        ``moving``; None if the parameters or ``resample`` ask for none."""
        if self._image is None and (view := self._found.image()) is not None:
            self._image = like(self._fixed, own(view[0]), Grid(*view[1]))
        return self._image

    @property
    def record(self) -> dict[str, Any]:
        """What run.json of the program says (dox/run.schema.json); arrays have no digests."""
        import json

        self._record = self._record or json.loads(self._found.record())
        return self._record

    @property
    def quality(self) -> Quality | None:
        """Figures of the result; None if the call was stopped, or asked for none."""
        told = self.record["quality"]
        if told is None:
            return None
        dice = told.get("dice") or {"labels": {}, "labelsBefore": {}, "mean": None, "meanBefore": None}
        return Quality(
            told["overlapBefore"],
            told["overlap"],
            told["correlationBefore"],
            told["correlation"],
            told["meanDisplacementMm"],
            told["largestDisplacementMm"],
            told["outside"],
            told["determinant"],
            {int(label): value for label, value in dice["labelsBefore"].items()},
            {int(label): value for label, value in dice["labels"].items()},
            dice["meanBefore"],
            dice["mean"],
            tuple(told["mismatchSigns"]),
        )

    @property
    def levels(self) -> list[Level]:
        """All levels of all finished stages."""
        curves = self._found.curves()
        return [
            Level(
                number,
                level["level"],
                level["iterations"],
                level["seconds"],
                level["stopCondition"],
                np.array(curves[number][level["level"]]),
            )
            for number, stage in enumerate(self.record["stages"])
            for level in stage["levels"]
        ]

    @property
    def device(self) -> str:
        """Where the last stage ran: "cpu", "cuda:0"."""
        return str(self.record["device"])

    @property
    def seconds(self) -> float:
        """Of the whole call."""
        return float(self.record["seconds"])

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes what `tessera -out folder` writes of images, transforms and tables, with the same bytes; makes the
        folder if it is not there. An initial transform that was in memory is written, too. Raises OutputError."""
        finish(self._found.save(os.fsdecode(folder), least_level()))

    def plot(self) -> Any:
        """A figure of matplotlib, which is imported: the metric at each iteration, with a curve for each level."""
        from matplotlib.figure import Figure

        figure = Figure()
        axes = figure.subplots()
        for level in self.levels:
            axes.plot(level.values, label=f"stage {level.stage}, level {level.level}")
        axes.set(xlabel="iteration", ylabel="metric")
        axes.legend()
        return figure

    def _repr_html_(self) -> str:
        return framed(self._found.page())

    def __repr__(self) -> str:
        return f"Registration({self.transform!r}, {len(self.warnings)} warnings)"


def framed(page: str) -> str:
    """A page in HTML for a cell of a notebook."""
    style = page[page.find("<style") : page.find("</style>") + len("</style>")]
    body = page[page.find(">", page.find("<body")) + 1 : page.rfind("</body>")]
    escaped = (style + body).replace("&", "&amp;").replace('"', "&quot;")
    return f'<iframe srcdoc="{escaped}" style="width:100%;height:40em;border:0"></iframe>'


def asked_of(
    fixed: ImageLike,
    moving: ImageLike,
    parameters: Stages,
    *,
    fixed_mask: ImageLike | None = None,
    moving_mask: ImageLike | None = None,
    fixed_points: Any = None,
    moving_points: Any = None,
    point_weights: Any = None,
    fixed_labels: ImageLike | None = None,
    moving_labels: ImageLike | None = None,
    initial: Any = None,
    device: str | None = None,
    threads: int | None = None,
    max_device_memory: float | str | None = None,
    resample: bool = True,
    quality: bool = True,
    inverse: bool = False,
    strict: bool = False,
    report: bool = False,
) -> _core.Asked:
    """The arguments of `register` for the extension. Raises UsageError."""
    asked = _core.Asked()
    for role, images in (
        ("fixed", fixed),
        ("moving", moving),
        ("fixed_mask", fixed_mask),
        ("moving_mask", moving_mask),
        ("fixed_labels", fixed_labels),
        ("moving_labels", moving_labels),
    ):
        if role in ("fixed", "moving") and not as_list(images):
            raise UsageError(f"{role}: not given. Allowed: an image, or a list of images.")
        for image in as_list(images):
            asked.add(role, source_of(image, role, may_be_on_gpu=role in ("fixed", "moving")))
    if fixed_points is not None:
        asked.set_fixed_points(points_of(fixed_points, "fixed_points"))
    if moving_points is not None:
        asked.set_moving_points(points_of(moving_points, "moving_points"))
    if isinstance(point_weights, (str, os.PathLike)):
        asked.set_point_weights(os.fsdecode(point_weights), "")
    elif point_weights is not None:
        weights = np.asarray(point_weights, dtype=float)
        if weights.ndim == 3 and weights.shape[1] == weights.shape[2]:
            weights = weights[:, *np.triu_indices(weights.shape[1])]
        asked.set_point_weights("array", "\n".join(map(repr, map(float, weights.ravel()))) + "\n")
    if isinstance(initial, (str, os.PathLike)):
        asked.set_initial(os.fsdecode(initial))
    elif initial is not None:
        if not isinstance(initial, Transform):
            of = {"itk": Transform.from_itk, "SimpleITK": Transform.from_itk, "ants": Transform.from_ants}
            initial = of.get(type(initial).__module__.partition(".")[0], Transform.from_matrix)(initial)
        asked.set_initial(initial._single())
    add_stages(asked, parameters)
    asked.set_threads(*thread_count(threads))
    if device is not None:
        asked.set_device(device)
    if max_device_memory is not None:
        size = max_device_memory if isinstance(max_device_memory, str) else f"{float(max_device_memory) / 1e3}kB"
        asked.set_most_device_memory(size)
    asked.set_strict(strict)
    asked.set_pictures(report)
    if inverse and fixed_labels is not None and moving_labels is None:
        raise UsageError(
            "fixed_labels: given without moving_labels. Allowed: both, or `Registration.inverse` to apply."
        )
    asked.set_inverse(inverse)
    asked.set_resample(resample)
    asked.set_stays_on_gpu(is_on_gpu(as_list(fixed)[0]))
    if not quality and (report or fixed_labels is not None or moving_labels is not None):
        raise UsageError("quality: False, with labels or report=True, which need it. Allowed: one or the other.")
    asked.set_quality(quality)
    return asked


def finished(
    work: _core.Work,
    example: ImageLike,
    progress: Callable[[_core.Progress], object] | None = None,
    cancel: Cancel | None = None,
) -> Registration:
    """The result of a registration that was begun with a fixed image of this kind."""
    found = finish(work, progress, cancel, lambda part: Registration(part, example, warnings_of(work)))
    return Registration(found, example, warnings_of(work))


def register(
    fixed: ImageLike,
    moving: ImageLike,
    parameters: Stages,
    *,
    fixed_mask: ImageLike | None = None,
    moving_mask: ImageLike | None = None,
    fixed_points: Any = None,
    moving_points: Any = None,
    point_weights: Any = None,
    fixed_labels: ImageLike | None = None,
    moving_labels: ImageLike | None = None,
    initial: Transform | str | os.PathLike[str] | Any = None,
    device: str | None = None,
    threads: int | None = None,
    max_device_memory: float | str | None = None,
    resample: bool = True,
    quality: bool = True,
    inverse: bool = False,
    strict: bool = False,
    report: bool = False,
    like: ImageLike | None = None,
    progress: Callable[[_core.Progress], object] | None = None,
    cancel: Cancel | None = None,
) -> Registration:
    """Finds the transform that maps points of the fixed image to those of the moving one, and resamples the latter.

    ``fixed``, ``moving``: an image, or a list for metrics that compare several. ``parameters``: the name of a preset
    (`presets`) or of a shipped file (`parameter_files`), a path, a text, a dict, or a list of these.
    Masks: voxels other than 0 count. Points: n x D, x, y, z in mm (LPS), or a file. ``point_weights``: n numbers above 0,
    n x D x D covariances of the errors of the pairs in mm^2, or a file. Labels: compared after the run, for
    `Registration.quality`. ``initial``: a `Transform`, its file, a matrix of 4 x 4, or a transform of itk, SimpleITK or ants.
    ``device``: "cpu", "cuda", "cuda:1" or "auto"; else as the parameters say. ``threads``: else SLURM_CPUS_PER_TASK,
    OMP_NUM_THREADS, or all processors; the result does not depend on it. ``max_device_memory``: bytes, or "2.5GB".
    ``resample``, ``quality``: False saves the time that `Registration.image` and `Registration.quality` take, which
    are None then. ``like``: an image of the kind that `Registration.image` shall have; else it has that of ``fixed``.
    ``inverse``: finds `Registration.inverse`, once for all uses of it. ``strict``: a parameter that nothing reads is an
    error. ``report``: makes the pictures that notebooks show. ``progress`` is called in this thread, at most 20 times a
    second.

    Nothing is written or printed; the log goes to ``logging.getLogger("tessera")``. Ctrl-C raises KeyboardInterrupt
    whose ``partial`` has the finished levels.

    Raises UsageError, InputError, DeviceError, OutOfMemory, RegistrationFailed, and Cancelled after `Cancel.cancel`.

    >>> import numpy as np
    >>> y, x = np.mgrid[:40, :40]
    >>> def blob(at): return np.exp(-((x - at) ** 2 + (y - 20) ** 2) / 60)
    >>> found = register(blob(20), blob(23), "Translation")
    >>> found.transform.apply_points([[20, 20]]).round(1) + 0.0
    array([[23., 20.]])
    """
    asked = asked_of(
        fixed,
        moving,
        parameters,
        fixed_mask=fixed_mask,
        moving_mask=moving_mask,
        fixed_points=fixed_points,
        moving_points=moving_points,
        point_weights=point_weights,
        fixed_labels=fixed_labels,
        moving_labels=moving_labels,
        initial=initial,
        device=device,
        threads=threads,
        max_device_memory=max_device_memory,
        resample=resample,
        quality=quality,
        inverse=inverse,
        strict=strict,
        report=report,
    )
    example = as_list(fixed)[0] if like is None else like
    asked.set_stays_on_gpu(is_on_gpu(example))
    if like is not None and not is_on_gpu(like) and isinstance(image_of(like, "like"), str):
        raise UsageError(f"like: {like!r}: a path. Allowed: an image in memory, whose kind the result gets.")
    return finished(_core.register(asked, least_level()), example, progress, cancel)


class Prediction(NamedTuple):
    """What a registration would take, by `check`."""

    seconds: float
    """Without reading files and figures of the result; the most that it takes where ``may_end_early``."""
    may_end_early: bool
    memory: float
    """Bytes of this machine's memory, at most."""
    devices: tuple[str, ...]
    """Of each stage."""
    lines: tuple[str, ...]
    """All of it in words."""
    warnings: tuple[str, ...]


def check(fixed: ImageLike, moving: ImageLike, parameters: Stages, **more: Any) -> Prediction:
    """Checks the arguments of `register` without running it, and predicts what it takes. Raises the errors of
    `register` that can be found without voxels.

    >>> import numpy as np
    >>> check(np.zeros((64, 64)), np.zeros((64, 64)), "Rigid", device="cpu").devices
    ('cpu',)
    """
    work = _core.check(asked_of(fixed, moving, parameters, **more), least_level())
    told: _core.Prediction = finish(work)
    warnings = tuple(warnings_of(work))
    return Prediction(
        told.seconds,
        told.may_end_early,
        told.host_bytes,
        tuple(told.devices),
        tuple(map(in_words_of_python, told.lines)),
        warnings,
    )
