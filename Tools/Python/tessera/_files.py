"""Files of images."""

from __future__ import annotations

import os

import numpy as np

from . import _core
from ._errors import UsageError
from ._images import Grid, Image, ImageLike, array_of, image_of
from ._work import finish, least_level, thread_count


def read(path: str | os.PathLike[str], *, threads: int | None = None) -> Image:
    """Reads an image in 2D or 3D, or a folder with one DICOM series, with the values and the type of the file; colours
    become luminance. Plain NIfTI-1, MetaImage and NRRD are read in this process, other formats by the program
    `tessera-decode` (dox/FilesAndFormats.md). Raises InputError."""
    array, numbers = finish(_core.read_image(os.fsdecode(path), thread_count(threads)[0], least_level()))
    grid = Grid(*numbers)
    return Image(array, grid.spacing, grid.origin, grid.direction)


def write(
    image: ImageLike, path: str | os.PathLike[str], *, compress: bool = False, threads: int | None = None
) -> None:
    """Writes an image in the format of the path's ending, with its type of voxels. Raises OutputError, UsageError."""
    given = image_of(image, "image")
    if isinstance(given, str):
        raise UsageError("image: a path. Allowed: an image in memory.")
    array = np.ascontiguousarray(array_of(given, "image"))
    finish(
        _core.write_image(
            os.fsdecode(path), array, given.grid._numbers(), compress, thread_count(threads)[0], least_level()
        )
    )
