#include "Core/Runs/Following/VolumeMotion.h"

#include "Core/Compute/Log.h"
#include "Core/Registration/Transform.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

Matrix<3> rotationOf(const std::array<double, 3>& turns)
{
  Matrix<3> all = identityMatrix<3>();
  for (int axis = 0; axis < 3; ++axis) {
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    Matrix<3> one = identityMatrix<3>();
    one[a][a] = one[b][b] = std::cos(turns[axis]);
    one[b][a] = std::sin(turns[axis]);
    one[a][b] = -one[b][a];
    all = multiply<3>(all, one);
  }
  return all;
}

}

template <int D>
std::optional<VolumeMotion> motionOf(const TransformChain<D>* chain, const ImageGeometry<D>& reference)
{
  if (!chain || !isLinearChain<D>(chain))
    return {};
  Vec<D> middle;
  for (int d = 0; d < D; ++d)
    middle[d] = (static_cast<double>(reference.size[d]) - 1) / 2;
  const Vec<D> centreMm = reference.pointFromIndex()(middle), movedMm = mappedPoint<D>(*chain, centreMm);
  const double ofPatient = D == 3 ? -1 : 1; // from LPS to RAS
  const std::array<double, 3> sign{ofPatient, ofPatient, 1};
  VolumeMotion motion;
  Matrix<3> r = identityMatrix<3>();
  double wrong = 0;
  for (int d = 0; d < D; ++d) {
    motion.shiftMm[d] = sign[d] * (movedMm[d] - centreMm[d]);
    constexpr double armMm = 100;
    Vec<D> besideMm = centreMm;
    besideMm[d] += armMm;
    const Vec<D> arm = mappedPoint<D>(*chain, besideMm);
    for (int row = 0; row < D; ++row)
      r[row][d] = sign[row] * sign[d] * (arm[row] - movedMm[row]) / armMm;
  }
  motion.turnsRad = {std::atan2(-r[1][2], r[2][2]), std::asin(std::clamp(r[0][2], -1.0, 1.0)),
                     std::atan2(-r[0][1], r[0][0])};
  const Matrix<3> again = rotationOf(motion.turnsRad);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column)
      wrong = std::max(wrong, std::abs(again[row][column] - r[row][column]));
  if (!(wrong < 1e-3))
    return {};
  return motion;
}

double displacementOfPower(const VolumeMotion& before, const VolumeMotion& now, double radiusMm)
{
  double mm = 0;
  for (int d = 0; d < 3; ++d)
    mm += std::abs(now.shiftMm[d] - before.shiftMm[d])
          + radiusMm * std::abs(now.turnsRad[d] - before.turnsRad[d]);
  return mm;
}

double displacementOfJenkinson(const VolumeMotion& before, const VolumeMotion& now, double radiusMm)
{
  // Between T1 and T2 about one centre, T2 - T1 is (R2 - R1) x + t2 - t1. T1^-1 changes no length, so that
  // this is the mean square of the change T1^-1 T2 - 1, too: FSL, whose matrices are T1^-1 and T2^-1, takes
  // that one.
  const Matrix<3> one = rotationOf(before.turnsRad), other = rotationOf(now.turnsRad);
  double trace = 0, squares = 0;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column)
      trace += std::pow(other[row][column] - one[row][column], 2);
    squares += std::pow(now.shiftMm[row] - before.shiftMm[row], 2);
  }
  return std::sqrt(radiusMm * radiusMm / 5 * trace + squares);
}

std::string motionTable(const std::vector<std::optional<VolumeMotion>>& motions, const std::string& order)
{
  const std::string turns = "rot_x\trot_y\trot_z", shifts = "trans_x\ttrans_y\ttrans_z";
  const bool turnsFirst = order == "fsl";
  std::string text = (turnsFirst ? turns + "\t" + shifts : shifts + "\t" + turns)
                     + "\tframewise_displacement\trms_displacement\n";
  for (std::size_t i = 0; i < motions.size(); ++i) {
    if (!motions[i]) {
      text += "n/a\tn/a\tn/a\tn/a\tn/a\tn/a\tn/a\tn/a\n";
      continue;
    }
    for (const auto* numbers : {turnsFirst ? &motions[i]->turnsRad : &motions[i]->shiftMm,
                                turnsFirst ? &motions[i]->shiftMm : &motions[i]->turnsRad})
      for (const double number : *numbers)
        text += decimals(number, 7) + "\t";
    const bool hasBefore = i > 0 && motions[i - 1];
    const auto since = [&](double mm) { return i == 0 ? "0" : hasBefore ? decimals(mm, 6) : "n/a"; };
    const VolumeMotion& before = hasBefore ? *motions[i - 1] : *motions[i];
    text += since(displacementOfPower(before, *motions[i])) + "\t"
            + since(displacementOfJenkinson(before, *motions[i])) + "\n";
  }
  return text;
}

TESSERA_INSTANTIATE_FUNCTIONS(motionOf<D>);

}
