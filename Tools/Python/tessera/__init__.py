"""Registration of medical images, with the parameter files of elastix: dox/Python.md.

>>> import tessera
>>> tessera.__version__ == tessera._core.version
True
"""

from ._core import Progress
from ._core import version as __version__
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
from ._images import Grid, Image
from ._parameters import presets
from ._registration import Level, Quality, Registration, register
from ._transform import Transform
from ._work import Cancel

__all__ = [
    "Cancel",
    "Cancelled",
    "DeviceError",
    "Error",
    "Grid",
    "Image",
    "InputError",
    "Level",
    "OutOfMemory",
    "OutputError",
    "Progress",
    "Quality",
    "Registration",
    "RegistrationFailed",
    "Transform",
    "UsageError",
    "__version__",
    "presets",
    "register",
]
