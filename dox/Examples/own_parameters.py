"""Parameters of one's own as dicts, a check before the run, progress, and results as files.

Run it: python own_parameters.py
"""

import logging
from typing import Any

import numpy as np

import tessera

logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")  # INFO shows the whole log

y, x = np.mgrid[:64, :64]
fixed = np.exp(-((x - 32) ** 2 + (y - 32) ** 2) / 200) + 0.2 * np.sin(x / 5) * np.sin(y / 6)
moving = np.exp(-((x - 34) ** 2 + (y - 31) ** 2) / 240) + 0.2 * np.sin((x - 2) / 5) * np.sin((y + 1) / 6)

spline: dict[str, Any] = {
    "Transform": "BSplineTransform",
    "FinalGridSpacingInPhysicalUnits": 12,
    "Metric": "AdvancedNormalizedCorrelation",
    "ImageSampler": "Full",
    "Optimizer": "AdaptiveStochasticGradientDescent",
    "NumberOfResolutions": 3,
    "MaximumNumberOfIterations": 60,
}
try:
    tessera.check(fixed, moving, {**spline, "Metric": "Correlation"})
except tessera.UsageError as error:
    print("check:", error)
print(f"check: {tessera.check(fixed, moving, ['Rigid', spline]).memory / 1e6:.0f} MB of memory at most")


def tell(at: tessera.Progress) -> None:
    """Called in this thread, at most 20 times a second. An exception would end the run."""
    print(
        f"stage {at.stage + 1} of {at.stages}, level {at.level + 1} of {at.levels}, iteration {at.iteration}", end="\r"
    )


found = tessera.register(fixed, moving, ["Rigid", spline], progress=tell)
print()
for level in found.levels:
    print(f"stage {level.stage}, level {level.level}: {level.iterations} iterations, metric {level.values[-1]:.4f}")

found.save("result")  # what `tessera -out result` writes; nothing was written before
assert found.transform is not None
again = tessera.Transform.load("result/TransformParameters.1.txt")
print("from its file the transform is the same:", bool(np.all(again.displacement() == found.transform.displacement())))
