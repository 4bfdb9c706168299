"""Registers many pairs at once, one thread each, and makes a table of the results. What fails is told, and the others go on.

Run it: python many_pairs.py
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import tessera

shifts = [0, 1, 2.5, 4, float("nan")]


def image(shift: float) -> Any:
    y, x = np.mgrid[:60, :60]
    return np.exp(-((x - 30 - shift) ** 2 / 80 + (y - 28) ** 2 / 200)).astype(np.float32)


def pairs() -> Iterator[dict[str, Any]]:
    """They are read as they are needed, so that thousands take no more memory than some."""
    for shift in shifts:
        yield {"fixed": image(0), "moving": image(shift)}


for shift, found in zip(shifts, tessera.register_many(pairs(), "Translation", lanes=2)):
    if isinstance(found, tessera.Error):
        print(f"{shift}\tcode {found.code}\t{found}")
    else:
        assert found.transform is not None and found.transform.matrix is not None
        print(
            f"{shift}\t{found.transform.matrix[0, 2]:.2f} mm\tcorrelation {found.record['quality']['correlation']:.3f}"
        )
