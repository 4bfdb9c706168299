"""What the computations of `tessera.elastix` share: settings, a log, and an image that they make."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, ClassVar

from ._errors import UsageError
from ._work import listener

_LOG_LEVELS = {"info": 10, "warning": 30, "error": 40, "off": 1000}  # of Python's logging


class Filter:
    """A computation with settings. Each setting X has `SetX`, `GetX`, `RemoveX`, `XOn` and `XOff`; those of which there
    may be several also have `AddX` and `GetNumberOfXs`. `New(x=value)` is `New()` and `SetX(value)`."""

    _inputs: ClassVar[tuple[str, ...]]  # in the order of positional arguments
    _several: ClassVar[tuple[str, ...]]
    _settings: ClassVar[tuple[str, ...]]

    def __init__(self, *inputs: Any, **settings: Any) -> None:
        self._given: dict[str, list[Any]] = {}
        self._image: Any = None
        names = {"".join(word[:1].upper() + word[1:] for word in name.split("_")): name for name in settings}
        if len(inputs) > len(self._inputs):
            raise UsageError(f"{len(inputs)} arguments without names. Allowed: {', '.join(self._inputs)}.")
        for name, value in [*zip(self._inputs, inputs), *((name, settings[names[name]]) for name in names)]:
            getattr(self, f"Set{name}")(value)

    @classmethod
    def New(cls, *inputs: Any, **settings: Any) -> Any:
        """With these inputs and settings."""
        return cls(*inputs, **settings)

    def __class_getitem__(cls, types: Any) -> Any:  # types of images, which are those of the images that are given
        return cls

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._ways()]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in (ways := self._ways()):
            return ways[name]
        raise AttributeError(
            f"{type(self).__name__} has no {name}. There are: {', '.join(one for one in dir(self) if one[0] != '_')}."
        )

    def _ways(self) -> dict[str, Any]:
        """The methods of all settings by name."""
        ways: dict[str, Any] = {}
        for name in dict.fromkeys(self._inputs + self._several + self._settings):
            ways |= {
                f"Set{name}": partial(self._put, name),
                f"Get{name}": partial(self._get, name),
                f"Remove{name}": partial(self._given.pop, name, None),
                f"{name}On": partial(self._put, name, True),
                f"{name}Off": partial(self._put, name, False),
            }
            if name in self._several:
                ways |= {f"Add{name}": partial(self._add, name), f"GetNumberOf{name}s": partial(self._count, name)}
        return ways

    def _put(self, name: str, value: Any) -> None:
        self._given[name] = [value]

    def _add(self, name: str, value: Any) -> None:
        self._given.setdefault(name, []).append(value)

    def _get(self, name: str, index: int = 0) -> Any:
        return (self._all(name)[index:] or [None])[0]

    def _count(self, name: str) -> int:
        return len(self._all(name))

    def _all(self, name: str) -> list[Any]:
        return [one for one in self._given.get(name, []) if one is not None]

    def _one(self, *names: str) -> Any:
        """What these settings say, of which one may be given; None: nothing."""
        given = [(name, one) for name in names for one in self._all(name)]
        if len(given) > 1:
            raise UsageError(f"{' and '.join(name for name, _ in given)} are given. Allowed: one of these.")
        return given[0][1] if given else None

    def _folder(self) -> str | None:
        folder = self._one("OutputDirectory")
        if folder:
            os.makedirs(folder, exist_ok=True)
        return folder or None

    @contextmanager
    def _logged(self, file_name: str) -> Iterator[None]:
        """Prints and writes the log meanwhile, as far as that is asked for."""
        level, folder = self._one("LogLevel") or "info", self._folder()
        if level not in _LOG_LEVELS:
            raise UsageError(f"log_level: {level!r}: no level. Allowed: {', '.join(_LOG_LEVELS)}.")
        if self._one("LogToFile") and folder is None:
            raise UsageError("log_to_file: without output_directory. Allowed: both.")
        with ExitStack() as opened:
            outputs: list[Any] = [sys.stdout] if self._one("LogToConsole") else []
            if self._one("LogToFile"):
                path = os.path.join(folder or "", self._one("LogFileName") or file_name)
                outputs.append(opened.enter_context(open(path, "w")))

            def tell(line: str) -> None:
                for output in outputs:
                    print(line, file=output)

            if outputs:
                opened.callback(listener.reset, listener.set((_LOG_LEVELS[level], tell)))
            yield

    def SetInput(self, image: Any) -> None:
        """Sets the first input."""
        self._put(self._inputs[0], image)

    def GetInput(self) -> Any:
        """The first input."""
        return self._get(self._inputs[0])

    def DisableOutput(self) -> None:
        """Takes back what asks for a log."""
        self._put("LogToConsole", False)
        self._put("LogToFile", False)

    def Update(self) -> None:
        """Computes."""
        raise NotImplementedError

    def UpdateLargestPossibleRegion(self) -> None:
        """As `Update`."""
        self.Update()

    def GetOutput(self) -> Any:
        """The image that `Update` has made; None if there is none."""
        return self._image
