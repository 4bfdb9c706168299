"""Exceptions, and the words in which messages speak of arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._registration import Registration

_ARGUMENTS = {
    "-f": "fixed",
    "-m": "moving",
    "-fMask": "fixed_mask",
    "-mMask": "moving_mask",
    "--fLabels": "fixed_labels",
    "--mLabels": "moving_labels",
    "-fp": "fixed_points",
    "-mp": "moving_points",
    "--point-weights": "point_weights",
    "-t0": "initial",
    "-p": "parameters",
    "-threads": "threads",
    "--device": "device",
    "--max-device-memory": "max_device_memory",
    "--strict": "strict",
    "-in": "image",
    "--labels": "labels",
    "--from-time": "from_time",
    "-def": "points",
    "--grid": "grid",
    "--moving": "moving grid",
    "-tp": "transform",
    "--write": "path",
    "-out": "folder",
    "--reference": "reference",
}
_OPTION = re.compile(r"(?<![^\s(\"])(%s)(?![^\s:,.)\"])" % "|".join(map(re.escape, _ARGUMENTS)))


def in_words_of_python(message: str) -> str:
    """The message with the names of arguments in place of options of the programs."""
    return _OPTION.sub(lambda found: _ARGUMENTS[found[1]], message.removeprefix("command line: "))


class Error(RuntimeError):
    """An error of Tessera, whose text says where, what was given, what is wrong, and what is allowed.

    ``code`` is the exit code that the programs have for it (dox/ExitCodes.md).

    >>> import tessera
    >>> try:
    ...     tessera.Grid((2, 2), spacing=(1, 1, 1))
    ... except tessera.Error as error:
    ...     error.code
    2
    """

    code: int = 1


class RegistrationFailed(Error):
    """The registration found nothing: all samples lie outside of the moving image, for example."""


class UsageError(Error, ValueError):
    """An argument or a parameter has a value that is not allowed."""

    code = 2


class InputError(Error, ValueError):
    """An image, a mask, points or a transform cannot be read, or make no sense."""

    code = 3


class OutputError(Error, OSError):
    """A file cannot be written."""

    code = 4


class DeviceError(Error):
    """The device that was asked for cannot be used."""

    code = 5


class OutOfMemory(Error, MemoryError):
    """There is too little memory, of the host or of the device."""

    code = 6


class Cancelled(Error):
    """A `Cancel` has ended the call. ``partial`` has what was finished, or None."""

    code = 130
    partial: Registration | None = None


_CLASSES = {kind.code: kind for kind in (UsageError, InputError, OutputError, DeviceError, OutOfMemory, Cancelled)}


def error_of(code: int, message: str) -> Error:
    """The exception for an exit code of the programs."""
    return _CLASSES.get(code, RegistrationFailed)(in_words_of_python(message))
