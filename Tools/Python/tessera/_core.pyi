from collections.abc import Sequence
import enum
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray


version: str = '0.2.0'

class Progress:
    """How far a registration is; stages, levels and iterations count from 0."""

    @property
    def stage(self) -> int:
        """The stage that runs."""

    @property
    def stages(self) -> int:
        """The number of stages."""

    @property
    def level(self) -> int:
        """The level of the stage that runs."""

    @property
    def levels(self) -> int:
        """The number of levels of the stage."""

    @property
    def iteration(self) -> int:
        """The iteration of the level."""

    @property
    def value(self) -> float:
        """The value of the metric."""

    @property
    def iterations(self) -> int | None:
        """
        The most iterations of the level; None for an optimizer that has no such number.
        """

    @property
    def seconds(self) -> float:
        """Since the run began."""

class Work:
    def wait(self, arg: float, /) -> bool: ...

    def stop(self) -> None: ...

    def lines(self) -> list[tuple[int, str]]: ...

    def progress(self) -> Progress | None: ...

    def warnings(self) -> list[str]: ...

    def result(self) -> object: ...

    def partial(self) -> object: ...

def wait_for_one(arg0: Sequence[Work], arg1: float, /) -> bool: ...

def end_all() -> None: ...

class Source:
    @overload
    def __init__(self, arg: str, /) -> None: ...

    @overload
    def __init__(self, name: str, voxels: object, grid: tuple[Sequence[int], Sequence[float], Sequence[float], Sequence[float]], /) -> None: ...

class Chain:
    @property
    def dimension(self) -> int: ...

    def texts(self, arg0: tuple[Sequence[int], Sequence[float], Sequence[float], Sequence[float]], arg1: int, /) -> Work: ...

    def itk(self) -> list[tuple[str, list[float], list[float]]]: ...

    def matrix(self) -> list[float] | None: ...

    def settings(self) -> list[tuple[str, list[str]]]: ...

    def uses_direction_cosines(self) -> bool: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

def chain_of_itk(arg0: int, arg1: Sequence[tuple[str, Sequence[float], Sequence[float]]], arg2: Sequence[tuple[str, Sequence[str]]], /) -> Chain: ...

def read_transform(arg0: str, arg1: int, /) -> Work: ...

def chain_of_texts(arg0: int, arg1: Sequence[str], arg2: int, /) -> Work: ...

def entries_of_text(arg0: str, arg1: str, /) -> list[tuple[str, list[str]]]: ...

def entries_of_file(arg: str, /) -> tuple[list[tuple[str, list[str]]], list[int]]: ...

def transform_digest(arg: str, /) -> str: ...

class Asked:
    def __init__(self) -> None: ...

    def add(self, arg0: str, arg1: Source, /) -> None: ...

    def set_fixed_points(self, arg: object, /) -> None: ...

    def set_moving_points(self, arg: object, /) -> None: ...

    def set_point_weights(self, arg0: str, arg1: str, /) -> None: ...

    def set_initial(self, arg: object, /) -> None: ...

    def add_file(self, arg: str, /) -> None: ...

    def add_text(self, arg0: str, arg1: str, /) -> None: ...

    def add_map(self, arg0: str, arg1: Sequence[tuple[str, Sequence[str]]], arg2: Sequence[int], /) -> None: ...

    def set_device(self, arg: str, /) -> None: ...

    def set_threads(self, arg0: int, arg1: str, /) -> None: ...

    def set_most_device_memory(self, arg: str, /) -> None: ...

    def set_strict(self, arg: bool, /) -> None: ...

    def set_quality(self, arg: bool, /) -> None: ...

    def set_resample(self, arg: bool, /) -> None: ...

    def set_inverse(self, arg: bool, /) -> None: ...

    def set_pictures(self, arg: bool, /) -> None: ...

class Prediction:
    @property
    def lines(self) -> list[str]: ...

    @property
    def devices(self) -> list[str]: ...

    @property
    def seconds(self) -> float: ...

    @property
    def host_bytes(self) -> float: ...

    @property
    def may_end_early(self) -> bool: ...

class Found:
    @property
    def dimension(self) -> int: ...

    def chains(self) -> list[Any]: ...

    def inverse(self) -> Any: ...

    def image(self) -> Any: ...

    def record(self) -> str: ...

    def page(self) -> str: ...

    def curves(self) -> list[list[list[float]]]: ...

    def save(self, arg0: str, arg1: int, /) -> Work: ...

def register(arg0: object, arg1: int, /) -> Work: ...

def check(arg0: object, arg1: int, /) -> Work: ...

class Followed:
    def set_last(self, arg: Chain | None, /) -> None: ...

    def warnings(self) -> list[str]: ...

    def update(self, arg0: object, arg1: float, arg2: int, /) -> Work: ...

def follow(arg0: object, arg1: bool, arg2: int, /) -> Work: ...

def follow_series(arg0: object, arg1: str, arg2: bool, arg3: int, /) -> Work: ...

class TransformAsked:
    def __init__(self) -> None: ...

    def add_chain(self, arg0: Chain, arg1: bool, /) -> None: ...

    def set_grid(self, arg: tuple[Sequence[int], Sequence[float], Sequence[float], Sequence[float]], /) -> None: ...

    def set_moving_grid(self, arg: tuple[Sequence[int], Sequence[float], Sequence[float], Sequence[float]], /) -> None: ...

    def add_image(self, arg: Source, /) -> None: ...

    def add_labels(self, arg: Source, /) -> None: ...

    @overload
    def set_points(self, arg: str, /) -> None: ...

    @overload
    def set_points(self, arg: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], /) -> None: ...

    def set_changes(self, arg: Sequence[tuple[str, Sequence[str]]], /) -> None: ...

    def ask_for_field(self) -> None: ...

    def ask_for_determinants(self) -> None: ...

    def ask_for_matrices(self) -> None: ...

    def ask_for_chain(self) -> None: ...

    def write_to(self, arg0: str, arg1: str, /) -> None: ...

    def set_device(self, arg: str, /) -> None: ...

    def set_threads(self, arg: int, /) -> None: ...

class Mapped:
    def image(self) -> Any: ...

    def points(self) -> object: ...

    def table(self) -> str: ...

    def field(self, arg: str, /) -> object: ...

    def chain(self) -> Chain: ...

def transform(arg0: object, arg1: int, /) -> Work: ...

class ParameterType(enum.Enum):
    integer = 0

    real = 1

    boolean = 2

    text = 3

class ParameterInfo:
    """A parameter that a component reads."""

    @property
    def name(self) -> str:
        """Its name in parameter files."""

    @property
    def type(self) -> ParameterType:
        """What its values are."""

    @property
    def default(self) -> str:
        """As a file has it; empty: there is none."""

    @property
    def unit(self) -> str:
        """"mm", "voxels", ...; empty: none."""

    @property
    def meaning(self) -> str:
        """One line."""

    @property
    def choices(self) -> list[str]:
        """The texts that are allowed; empty: any."""

    @property
    def minimum(self) -> float:
        """The least value that is allowed."""

    @property
    def maximum(self) -> float:
        """The largest value that is allowed."""

    def __repr__(self) -> str: ...

class Component:
    """Something that a parameter file can name."""

    @property
    def role(self) -> str:
        """"Metric", "Transform", ..."""

    @property
    def name(self) -> str:
        """The value in a parameter file."""

    @property
    def summary(self) -> str:
        """One line, with the formula or the source."""

    @property
    def aliases(self) -> list[str]:
        """Other values that mean the same."""

    @property
    def parameters(self) -> list[ParameterInfo]:
        """What it reads."""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

def components() -> list[Component]: ...

def require_component(arg: str, /) -> None: ...

class Read:
    def image(self) -> Any: ...

def read_image(arg0: str, arg1: int, arg2: int, /) -> Work: ...

def write_image(arg0: str, arg1: object, arg2: tuple[Sequence[int], Sequence[float], Sequence[float], Sequence[float]], arg3: bool, arg4: int, arg5: int, /) -> Work: ...

class ImageScores:
    """How alike two images are, voxel by voxel."""

    @property
    def voxels(self) -> int:
        """The number of voxels that were compared."""

    @property
    def mean_absolute_error(self) -> float:
        """In grey values."""

    @property
    def absolute_error_deviation(self) -> float:
        """In grey values."""

    @property
    def root_mean_square_error(self) -> float:
        """In grey values."""

    @property
    def z_scored_mean_absolute_error(self) -> float | None:
        """Of images of mean 0 and deviation 1; None: one is constant."""

    @property
    def z_scored_sum_of_squared_errors(self) -> float | None:
        """Of images of mean 0 and deviation 1; None: one is constant."""

    @property
    def correlation(self) -> float | None:
        """Pearson's; None: an image is constant."""

    @property
    def mutual_information(self) -> float | None:
        """Normalized, 1 to 2, of 64 x 64 bins; None: an image is constant."""

    @property
    def structural_similarity(self) -> float | None:
        """The mean over windows; None: an axis has fewer than 11 voxels."""

class LabelScore:
    """How well a label covers the same label of another image."""

    @property
    def voxels_first(self) -> int:
        """The number of its voxels in the first image."""

    @property
    def voxels_second(self) -> int:
        """The number of its voxels in the second image."""

    @property
    def dice(self) -> float:
        """From 0 to 1."""

    @property
    def hausdorff_95(self) -> float | None:
        """mm; None: an image lacks the label."""

    @property
    def mean_surface_distance(self) -> float | None:
        """mm; None: an image lacks the label."""

class PointErrors:
    """Distances of points, mm."""

    @property
    def count(self) -> int:
        """The number of points."""

    @property
    def mean(self) -> float:
        """mm."""

    @property
    def deviation(self) -> float:
        """Of a sample, mm."""

    @property
    def median(self) -> float:
        """mm."""

    @property
    def percentile_95(self) -> float:
        """mm."""

    @property
    def largest(self) -> float:
        """mm."""

    @property
    def mean_per_axis(self) -> list[float]:
        """Mapped - wanted along x, y and z, mm."""

def compare_images(first: Source, second: Source, mask: Source | None, range: float | None, threads: int, inputs: object, least_level: int) -> Work: ...

def compare_labels(first: Source, second: Source, mask: Source | None, range: float | None, threads: int, inputs: object, least_level: int) -> Work: ...

def point_errors(arg: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], /) -> PointErrors: ...

def multiply_float64(arg0: tuple[int, int, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], arg1: tuple[int, int, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], arg2: tuple[int, int, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, arg3: bool, arg4: str, arg5: str, arg6: int, arg7: int, /) -> Work: ...

def multiply_float32(arg0: tuple[int, int, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], arg1: tuple[int, int, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], arg2: tuple[int, int, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, arg3: bool, arg4: str, arg5: str, arg6: int, arg7: int, /) -> Work: ...

def multiply_int64(arg0: tuple[int, int, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], arg1: tuple[int, int, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], arg2: tuple[int, int, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, arg3: bool, arg4: str, arg5: str, arg6: int, arg7: int, /) -> Work: ...
