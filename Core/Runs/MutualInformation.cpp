#include "Core/Runs/MutualInformation.h"

#include "Core/Compute/Math/VectorLength.h"
#include "Core/Image/Pictures/PictureParts.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera {
namespace {

constexpr std::size_t bins = 16, greysOfBin = 256 / bins;
constexpr int turns = 10;

using Joint = std::array<double, bins * bins>;

double natsOf(const Joint& counts)
{
  double all = 0, sum = 0;
  std::array<double, bins> fixed{}, moving{};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    all += counts[i];
    fixed[i / bins] += counts[i];
    moving[i % bins] += counts[i];
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      sum += counts[i] * std::log(counts[i] * all / (fixed[i / bins] * moving[i % bins]));
  return all > 0 ? sum / all : 0;
}

/// From axis a to axis b.
template <int D>
Matrix<D> rotation(int a, int b, double radians)
{
  Matrix<D> matrix = identityMatrix<D>();
  matrix[a][a] = matrix[b][b] = std::cos(radians);
  matrix[b][a] = std::sin(radians);
  matrix[a][b] = -matrix[b][a];
  return matrix;
}

/// One of ten turns that are spread over all of them: by Euler angles in even steps.
template <int D>
Matrix<D> anyTurn(int k)
{
  const double circle = 2 * std::numbers::pi, ofTurn = std::fmod(k * std::numbers::phi, 1.0);
  const Matrix<D> first = rotation<D>(0, 1, circle * k / (turns + 1));
  if constexpr (D == 2)
    return first;
  else
    return multiply<D>(
        multiply<D>(rotation<D>(0, 1, circle * ofTurn), rotation<D>(1, 2, std::acos(1 - (2 * k - 1) / 10.0))),
        first);
}

}

template <int D>
std::optional<MutualInformation> mutualInformation(const std::vector<float>& fixed,
                                                   const std::vector<Vec<D>>& movingMm,
                                                   const MovingValuesAt<D>& movingAt)
{
  std::vector<float> fixedInside, movingInside;
  Vec<D> middleMm{};
  double squaredMm = 0; // the mean square distance from the middle
  const ValuesAtPoints unmoved = movingAt(movingMm);
  for (std::size_t i = 0; i < movingMm.size(); ++i) {
    if (!unmoved.inside[i])
      continue;
    fixedInside.push_back(fixed[i]);
    movingInside.push_back(unmoved.values[i]);
    const double distanceMm = distanceBetween<D>(movingMm[i], middleMm),
                 share = 1.0 / static_cast<double>(fixedInside.size());
    squaredMm += ((1 - share) * distanceMm * distanceMm - squaredMm) * share;
    for (int d = 0; d < D; ++d)
      middleMm[d] += (movingMm[i][d] - middleMm[d]) * share;
  }
  if (fixedInside.empty())
    return {};
  const GreyLine greyOfFixed = windowOf(std::move(fixedInside)),
                 greyOfMoving = windowOf(std::move(movingInside));

  std::vector<AffineMap<D>> moves(1); // none; then ten turns, small turns, shifts
  const auto addTurn = [&](const Matrix<D>& matrix) {
    const Vec<D> turned = apply<D>(matrix, middleMm);
    moves.push_back({matrix, {}});
    for (int d = 0; d < D; ++d)
      moves.back().offset[d] = middleMm[d] - turned[d];
  };
  for (int k = 1; k <= turns; ++k)
    addTurn(anyTurn<D>(k));
  for (const double side : {-1.0, 1.0})
    for (int axis = D == 3 ? 0 : 2; axis < 3; ++axis)
      addTurn(rotation<D>((axis + 1) % 3, (axis + 2) % 3, side * std::numbers::pi / 18));
  const std::size_t firstShift = moves.size();
  for (const double side : {-1.0, 1.0})
    for (int d = 0; d < D; ++d)
      moves.emplace_back().offset[d] = side * std::sqrt(squaredMm) / 5;

  std::vector<double> nats;
  std::vector<Vec<D>> movedMm(movingMm.size()); // of one move at a time, which bounds the memory
  for (const AffineMap<D>& move : moves) {
    std::ranges::transform(movingMm, movedMm.begin(), move);
    const ValuesAtPoints moved = movingAt(movedMm);
    Joint counts{};
    for (std::size_t i = 0; i < movedMm.size(); ++i)
      if (moved.inside[i])
        ++counts[greyLevel(greyOfFixed(fixed[i])) / greysOfBin * bins
                 + greyLevel(greyOfMoving(moved.values[i])) / greysOfBin];
    nats.push_back(natsOf(counts));
  }
  if (!(nats[0] > 0))
    return {};
  const auto best = [&](std::size_t first, std::size_t last) {
    return *std::max_element(nats.begin() + static_cast<std::ptrdiff_t>(first),
                             nats.begin() + static_cast<std::ptrdiff_t>(last))
           / nats[0];
  };
  return MutualInformation{nats[0], best(1, turns + 1), best(turns + 1, firstShift),
                           best(firstShift, moves.size())};
}

TESSERA_INSTANTIATE_FUNCTIONS(mutualInformation<D>);

}
