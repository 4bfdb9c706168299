"""Registration of medical images, with the parameter files of elastix: dox/Python.md.

>>> import tessera
>>> tessera.__version__ == tessera._core.version
True
"""

from . import sparse
from ._compare import compare, compare_labels, score
from ._core import Component, ImageScores, LabelScore, ParameterInfo, PointErrors, Progress
from ._core import version as __version__
from ._describe import components, describe
from ._errors import (
    Cancelled,
    DeviceError,
    Error,
    InputError,
    OutOfMemory,
    OutputError,
    RegistrationFailed,
    UsageError,
)
from ._files import read, write
from ._following import Follower, Series, Update, register_series
from ._images import Grid, Image
from ._many import register_many
from ._parameters import Parameters, Preset, parameter_files, presets
from ._registration import Level, Prediction, Quality, Registration, check, register
from ._transform import Transform
from ._work import Cancel

__all__ = [
    "Cancel",
    "Cancelled",
    "Component",
    "DeviceError",
    "Error",
    "Follower",
    "Grid",
    "Image",
    "ImageScores",
    "InputError",
    "LabelScore",
    "Level",
    "OutOfMemory",
    "OutputError",
    "ParameterInfo",
    "Parameters",
    "PointErrors",
    "Prediction",
    "Preset",
    "Progress",
    "Quality",
    "Registration",
    "RegistrationFailed",
    "Series",
    "Transform",
    "Update",
    "UsageError",
    "__version__",
    "check",
    "compare",
    "compare_labels",
    "components",
    "describe",
    "parameter_files",
    "presets",
    "read",
    "register",
    "register_many",
    "register_series",
    "score",
    "sparse",
    "write",
]
