"""Registers two images in memory, and tells how well they fit.

Run it: python register_arrays.py
"""

import numpy as np

import tessera


def phantom(shift: float) -> tessera.Image:
    """Two ellipsoids and a stripe of 2 mm voxels; `shift` in mm along x."""
    z, y, x = np.mgrid[:40, :48, :48] * 2.0
    inside = ((x - 48 - shift) / 40) ** 2 + ((y - 48) / 34) ** 2 + ((z - 40) / 30) ** 2 < 1
    spot = ((x - 62 - shift) / 10) ** 2 + ((y - 40) / 8) ** 2 + ((z - 44) / 9) ** 2 < 1
    return tessera.Image((100 * inside + 80 * spot + 20 * np.sin(y / 7) * inside).astype(np.float32), spacing=(2, 2, 2))


fixed, moving = phantom(0), phantom(5)
found = tessera.register(fixed, moving, "Rigid")
assert found.transform is not None and found.quality is not None

print("The matrix maps points of the fixed image to the moving one (mm, LPS):")
print(found.transform.matrix)
print(f"correlation {found.quality.correlation_before:.2f} before, {found.quality.correlation:.2f} after")
print(f"mean difference of the intensities {np.abs(found.image.array - fixed.array).mean():.1f}")
for warning in found.warnings:
    print("warning:", warning)
