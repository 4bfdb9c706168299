"""Brings labels and points from one image to the other, in both directions.

A transform maps points of the fixed image to the moving one. Images go the other way: `apply` brings what belongs to the
moving image to the grid of the fixed one.

Run it: python labels_and_points.py
"""

from typing import Any

import numpy as np

import tessera

z, y, x = np.mgrid[:32, :40, :40]


def image(shift: float) -> Any:
    return np.exp(-((x - 20 - shift) ** 2 / 90 + (y - 18) ** 2 / 60 + (z - 16) ** 2 / 40)) * (200 + 30 * np.sin(z))


def labels(shift: float) -> Any:
    near = np.hypot(x - 20 - shift, y - 18) < 6
    return (near * (1 + (z > 16))).astype(np.uint8)


found = tessera.register(image(0), image(3), "Rigid", fixed_labels=labels(0), moving_labels=labels(3), inverse=True)
assert found.transform is not None and found.inverse is not None and found.quality is not None
print(f"Dice of all labels: {found.quality.mean_dice_before:.2f} before, {found.quality.mean_dice:.2f} after")

atlas_here = found.transform.apply(labels(3), labels=True)  # labels of the moving image on the fixed grid
here_on_atlas = found.inverse.apply(labels(0), labels=True)  # and the other way
print(f"voxels of label 2: {(atlas_here == 2).sum()} on the fixed grid, {(here_on_atlas == 2).sum()} on the moving one")

points = np.array([[20.0, 18, 16], [25, 20, 10]])  # x, y, z in mm of the fixed image
there = found.transform.apply_points(points)
print("points of the fixed image lie in the moving one at", there.round(1).tolist())
print(f"and back within {np.abs(found.inverse.apply_points(there) - points).max():.3f} mm")
