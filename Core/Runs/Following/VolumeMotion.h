#pragma once

#include "Core/Registration/Transform.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The rigid motion of a volume: x -> R (x - c) + t + c from the reference to the volume, c the centre of the
/// reference, R = Rx Ry Rz; in 3D in the axes of patients, RAS (right, front, up). In 2D a turn from x to y
/// and two shifts in the axes of the pictures' points; the other numbers are 0.
struct VolumeMotion {
  std::array<double, 3> turnsRad{}, shiftMm{};
};

/// Nothing if there is no chain, or if it is not linear, or no rotation to 1 in 1000.
template <int D>
std::optional<VolumeMotion> motionOf(const TransformChain<D>*, const ImageGeometry<D>& reference);

/// Power et al., "Spurious but systematic correlations in functional connectivity MRI networks arise from
/// subject motion", 2012: the sum of the changes of the shifts, and of the turns as arcs on a sphere; mm.
double displacementOfPower(const VolumeMotion& before, const VolumeMotion& now, double radiusMm = 50);

/// Jenkinson et al., "Improved optimization for the robust and accurate linear registration and motion
/// correction of brain images", 2002: the root mean square of the change over a ball about the centre of the
/// reference, as rmsdiff and mcflirt of FSL have it; mm.
double displacementOfJenkinson(const VolumeMotion& before, const VolumeMotion& now, double radiusMm = 80);

/// A table with a row for each volume: six numbers in the order of fsl (turns, shifts) or spm (shifts,
/// turns), and the displacements from the volume before, which are 0 for the first one. Rows of volumes
/// without a motion say n/a.
std::string motionTable(const std::vector<std::optional<VolumeMotion>>&, const std::string& order);

}
