"""Many registrations at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import _core
from ._errors import Error, UsageError
from ._images import as_list
from ._parameters import Stages
from ._registration import Registration, asked_of, finished
from ._work import SECONDS_BETWEEN_LOOKS, least_level, tell

_AHEAD = 4  # times the lanes: so many pairs at most are read before the first of them is yielded


def register_many(
    pairs: Iterable[Any], parameters: Stages, *, lanes: int | None = None, **more: Any
) -> Iterator[Registration | Error]:
    """Registers many pairs, several at a time on one thread each, and yields the results in the order of the pairs.

    ``pairs``: (fixed, moving), or dicts of arguments of `register` for one pair each, such as
    ``{"fixed": a, "moving": b, "fixed_mask": c}``; read as they are needed. ``lanes``: how many at a time; else one for
    each processor of this process. ``more``: arguments of `register` for all pairs. A pair that fails yields its
    `Error`, and the others go on. To leave the loop ends what is running.

    >>> import numpy as np
    >>> y, x = np.mgrid[:40, :40]
    >>> images = [np.exp(-((x - 20 - shift) ** 2 + (y - 20) ** 2) / 60) for shift in (0, 1, 2)]
    >>> pairs = [(images[0], image) for image in images]
    >>> [round(one.transform.matrix[0, 2]) for one in register_many(pairs, "Translation", lanes=2)]
    [0, 1, 2]
    """
    lanes = len(os.sched_getaffinity(0)) if lanes is None else lanes
    if isinstance(lanes, bool) or not isinstance(lanes, int) or lanes < 1:
        raise UsageError(f"lanes: {lanes!r}: no number of lanes. Allowed: whole numbers from 1.")
    for name in ("threads", "progress", "cancel"):
        if name in more:
            raise UsageError(f"{name}: each lane has one thread, and is stopped by leaving the loop. Allowed: lanes.")
    return _results(iter(pairs), parameters, lanes, more)


def _results(pairs: Iterator[Any], parameters: Stages, lanes: int, more: dict[str, Any]) -> Iterator[Any]:
    waiting: list[tuple[_core.Work, Any] | Error] = []  # in the order of the pairs
    try:
        while True:
            while len(waiting) < _AHEAD * lanes and sum(map(_goes_on, waiting)) < lanes:
                try:
                    pair = next(pairs)
                except StopIteration:
                    break
                waiting.append(_begun(pair, parameters, more))
            if not waiting:
                return
            first = waiting[0]
            if isinstance(first, tuple):
                if _goes_on(first):
                    _core.wait_for_one(
                        [one[0] for one in waiting if isinstance(one, tuple) and _goes_on(one)], SECONDS_BETWEEN_LOOKS
                    )
                for one in waiting:
                    if isinstance(one, tuple):
                        tell(one[0], None)
                if _goes_on(first):
                    continue
            waiting.pop(0)
            yield first if isinstance(first, Error) else _ended(*first)
    finally:
        for one in waiting:
            if isinstance(one, tuple):
                one[0].stop()


def _goes_on(one: tuple[_core.Work, Any] | Error) -> bool:
    return isinstance(one, tuple) and not one[0].wait(0)


def _begun(pair: Any, parameters: Stages, more: dict[str, Any]) -> tuple[_core.Work, Any] | Error:
    arguments = dict(pair) if isinstance(pair, Mapping) else dict(zip(("fixed", "moving"), pair))
    try:
        asked = asked_of(parameters=parameters, threads=1, **more, **arguments)
        return _core.register(asked, least_level()), as_list(arguments["fixed"])[0]
    except Error as error:
        return error


def _ended(work: _core.Work, example: Any) -> Registration | Error:
    try:
        return finished(work, example)
    except Error as error:
        return error
