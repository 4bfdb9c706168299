"""Waiting for work of the extension: signals, log lines and progress meanwhile."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from . import _core
from ._errors import Cancelled, UsageError, in_words_of_python

logger = logging.getLogger("tessera")
logger.addHandler(logging.NullHandler())  # else logging prints warnings of programs that set up no logging
atexit.register(_core.end_all)

# Who hears the lines from a level on of the calls in this context, beside the logger.
listener: ContextVar[tuple[int, Callable[[str], object]] | None] = ContextVar("listener", default=None)

SECONDS_BETWEEN_LOOKS = 0.05


class Cancel:
    """Ends calls early: give it to a call, and call `cancel` from another thread.

    >>> stop = Cancel()
    >>> stop.cancel()
    >>> stop.is_cancelled
    True
    """

    def __init__(self) -> None:
        self.is_cancelled = False

    def cancel(self) -> None:
        """Ends all calls that this was given to, and those that it will be given to."""
        self.is_cancelled = True


def least_level() -> int:
    """The least level of log lines that anybody wants."""
    also = listener.get()
    return logger.getEffectiveLevel() if also is None else min(logger.getEffectiveLevel(), also[0])


def tell(work: _core.Work, progress: Callable[[_core.Progress], object] | None) -> None:
    """Hands log lines and progress on, in this thread."""
    also = listener.get()
    for level, line in work.lines():
        text = in_words_of_python(line)
        logger.log(level, "%s", text)
        if also is not None and level >= also[0]:
            also[1](text)
    if progress is not None and (reached := work.progress()) is not None:
        progress(reached)


def finish(
    work: _core.Work,
    progress: Callable[[_core.Progress], object] | None = None,
    cancel: Cancel | None = None,
    partial: Callable[[Any], Any] = lambda found: found,
) -> Any:
    """Waits for work and returns its result. An exception of `progress` and Ctrl-C stop it."""
    try:
        while not work.wait(SECONDS_BETWEEN_LOOKS):
            tell(work, progress)
            if cancel is not None and cancel.is_cancelled:
                work.stop()
        tell(work, progress)
        return work.result()
    except BaseException as ended:
        work.stop()
        found = work.partial()  # which waits for its end
        if isinstance(ended, (KeyboardInterrupt, Cancelled)):
            ended.partial = None if found is None else partial(found)  # type: ignore[union-attr]
        raise


def warnings_of(work: _core.Work) -> list[str]:
    """The warnings of work that has ended, each once."""
    return [in_words_of_python(line) for line in work.warnings()]


def thread_count(threads: int | None) -> tuple[int, str]:
    """The number of threads by the rule of the programs, and who has set it."""
    if threads is not None:
        if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 100_000:
            raise UsageError(f"threads: {threads!r}: no number of threads. Allowed: whole numbers from 1.")
        return threads, "-threads"
    for name in ("SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS"):
        if text := os.environ.get(name, "").partition(",")[0]:
            if not text.isdecimal() or not 1 <= int(text) <= 100_000:
                raise UsageError(f"{name}: {text!r}: no number of threads. Allowed: whole numbers from 1.")
            return int(text), name
    return len(os.sched_getaffinity(0)), "processors of this process"
