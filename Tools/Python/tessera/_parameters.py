"""Parameters of stages: names of shipped files, paths, texts and dicts."""

from __future__ import annotations

import os
import re
from collections import UserDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, Union

from . import _core
from ._errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

Value: TypeAlias = Union[str, bool, int, float, Sequence[Union[str, bool, int, float]]]
Stage: TypeAlias = Union[str, "os.PathLike[str]", Mapping[str, Value]]
Stages: TypeAlias = Union[Stage, Sequence[Stage]]

_CHANGED = " (changed)"
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_FOLDER = os.path.join(os.path.dirname(__file__), "Parameters")


class Preset(NamedTuple):
    """Shipped parameter files for a kind of images."""

    images: str
    """What is registered."""
    stages: tuple[str, ...]
    """Names of `parameter_files`."""
    evidence: str
    """What to expect, errors in mm."""


def presets() -> dict[str, Preset]:
    """What `tessera --list-presets` prints, by name. `register` takes the names.

    >>> presets()["general"].stages
    ('Rigid', 'Affine', 'FreeFormNMI')
    """
    import tomllib

    with open(os.path.join(_FOLDER, "presets.toml"), "rb") as file:
        tables = tomllib.load(file)
    return {name: Preset(one["images"], tuple(one["stages"]), one["evidence"]) for name, one in tables.items()}


def parameter_files() -> dict[str, Path]:
    """The shipped parameter files by name. Parameters/README.md tells when to take which.

    >>> sorted(parameter_files())[:3]
    ['Affine', 'BSpline', 'CTAffine']
    >>> parameter_files()["Rigid"].name
    'Rigid.txt'
    """
    from pathlib import Path  # which takes as long to import as half of this package

    return {path.stem: path for path in sorted(Path(_FOLDER).glob("*.txt"))}


def value_text(value: Any, where: str) -> str:
    """A value as a parameter file has it. Raises UsageError."""
    if isinstance(value, str):
        return value
    if getattr(value, "ndim", 1) == 0:  # a number of numpy
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    raise UsageError(
        f"{where}: a value of type {type(value).__name__}. Allowed: str, bool, int, float, or a list of these."
    )


def entries_of(parameters: Mapping[str, Value], name: str) -> list[tuple[str, list[str]]]:
    """Names and values of a dict as texts."""
    entries = []
    for key, value in parameters.items():
        where = f"{name}: ({key})"
        if not isinstance(key, str):
            raise UsageError(f"{name}: a name of type {type(key).__name__}. Allowed: str.")
        several = not isinstance(value, str) and (isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1)
        texts = [value_text(one, where) for one in (value if several else [value])]  # type: ignore[union-attr]
        if not texts:
            raise UsageError(f"{where}: no value. Allowed: one value or more.")
        entries.append((key, texts))
    return entries


class Parameters(UserDict[str, Any]):
    """Names and values of parameters. What is assigned becomes a tuple of str.

    >>> one = Parameters.load(parameter_files()["Rigid"])
    >>> one["NumberOfResolutions"], one["Transform"]
    (('4',), ('EulerTransform',))
    >>> one["NumberOfResolutions"] = 3

    Messages name the file, and its line where that has not been changed.
    """

    def __init__(self, given: Any = (), /) -> None:
        self._file = ""
        self._lines: dict[str, int] = {}
        super().__init__(given)
        if isinstance(given, Parameters):
            self._file, self._lines = given._file, dict(given._lines)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Parameters:
        """Reads a parameter file (.txt, .toml). Raises UsageError, InputError."""
        made = cls()
        made._file = os.fsdecode(path)
        entries, lines = _core.entries_of_file(made._file)
        made.data = {name: tuple(values) for name, values in entries}
        made._lines = dict(zip(made.data, lines))
        return made

    def __setitem__(self, name: str, value: Value) -> None:
        self.data.update((key, tuple(values)) for key, values in entries_of({name: value}, "parameters"))
        self._change(name)

    def __delitem__(self, name: str) -> None:
        del self.data[name]
        self._change(name)

    def _change(self, name: str) -> None:
        self._lines.pop(name, None)
        if self._file and not self._file.endswith(_CHANGED):
            self._file += _CHANGED


def is_number(text: str) -> bool:
    """Whether a value needs no quotes in files."""
    return _NUMBER.fullmatch(text) is not None


def text_of(entries: Iterable[tuple[str, Sequence[str]]]) -> str:
    """The text of a parameter file with these entries. Raises UsageError for what it cannot hold."""
    rows = []
    for name, values in entries:
        if bad := [value for value in values if '"' in value or "\n" in value]:
            raise UsageError(f"({name}): {bad[0]!r}: no such file can hold this. Allowed: no quotes, one line.")
        written = " ".join(value if is_number(value) else f'"{value}"' for value in values)
        rows.append(f"({name} {written})\n")
    return "".join(rows)


def add_stages(asked: _core.Asked, parameters: Stages) -> None:
    """Adds the stages to what is asked of the extension."""
    stages = [parameters] if isinstance(parameters, (str, os.PathLike, Mapping)) else parameters
    if not isinstance(stages, (list, tuple)):
        raise UsageError(
            f"parameters: an object of type {type(parameters).__name__}. Allowed: the name of a shipped file, a "
            f"path, a text, a dict, or a list of these."
        )
    if not stages:
        raise UsageError("parameters: an empty list. Allowed: one stage or more.")
    for number, stage in enumerate(stages):
        name = f"parameters[{number}]"
        if isinstance(stage, Mapping):
            file, lines = (stage._file, stage._lines) if isinstance(stage, Parameters) else ("", {})
            asked.add_map(file or name, entries_of(stage, name), [lines.get(entry, 0) for entry in stage])
        elif isinstance(stage, str) and ("\n" in stage or stage.lstrip().startswith("(")):
            asked.add_text(name, stage)
        elif isinstance(stage, (str, os.PathLike)):
            for path in _paths_of(os.fsdecode(stage)):
                asked.add_file(path)
        else:
            raise UsageError(
                f"{name}: an object of type {type(stage).__name__}. Allowed: the name of a shipped file, a path, "
                f"a text, or a dict."
            )


def _paths_of(stage: str) -> list[str]:
    """A name without "/" and "." that is no file is that of a shipped file, or of a preset."""
    if "/" in stage or "." in stage or os.path.exists(stage):
        return [stage]
    files, groups = parameter_files(), presets()
    names = [stage] if stage in files else groups[stage].stages if stage in groups else ()
    if not names:
        raise UsageError(
            f'parameters: "{stage}": neither a file nor the name of a shipped one or of a preset. Allowed: '
            f"{', '.join([*files, *groups])}."
        )
    return [str(files[name]) for name in names]
