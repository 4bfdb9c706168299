"""Finds the motion in a series of volumes, and follows images as they come.

Run it: python follow_a_series.py
"""

import numpy as np

import tessera

z, y, x = np.mgrid[:20, :28, :28] * 3.0
motion_mm = [0, 0.4, 0.9, 0.5]


def volume(shift: float) -> tessera.Image:
    """Voxels of 3 mm; `shift` in mm along x, which is to the left of a patient in LPS."""
    head = ((x - 40 - shift) / 30) ** 2 + ((y - 42) / 34) ** 2 + ((z - 30) / 24) ** 2
    inside = np.exp(-(head**4)) * (900 + 150 * np.sin((x - shift) / 6) * np.cos(y / 8) * np.sin(z / 7))
    return tessera.Image(inside.astype(np.float32), spacing=(3, 3, 3))


found = tessera.register_series([volume(mm) for mm in motion_mm], "SeriesRigid", reference="first")
print("shift of each volume to the left, mm:", (-found.motion[:, 3]).round(2) + 0.0)
print("displacement from the volume before, mm:", found.framewise_displacement.round(2))

follower = tessera.Follower(volume(0), "Rigid")
for mm in motion_mm[1:]:
    update = follower.update(volume(mm), deadline=60)  # seconds; it ends at its best state by then
    start = "from nothing" if update.is_cold else "from the last one"
    print(f"{start}: the point (40, 42, 30) lies at {update.transform.apply_points([[40, 42, 30]]).round(1)[0]}")
