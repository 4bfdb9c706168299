#include "Components/Transforms/Shared/SearchedStart.h"

#include "Components/Transforms/Shared/CoarsePair.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tessera {
namespace {

constexpr double coarseAngle = 20 * std::numbers::pi / 180;
constexpr double shiftShare = 0.2; // of the extent of the fixed image, along each axis
constexpr std::size_t refinedStarts = 16, finalStarts = 4;
template <int D>
constexpr std::size_t coarsePoints = D == 3 ? 5000 : 2500;
template <int D>
constexpr std::size_t finePoints = D == 3 ? 40000 : 10000;

/// The angle about each axis (in 2D the first one is used), as a vector along the axis of rotation, in rad.
using Turn = std::array<double, 3>;

double angleOf(const Turn& turn)
{
  return std::hypot(turn[0], turn[1], turn[2]);
}

/// The rotation matrix of a turn (in 3D Rodrigues' formula).
template <int D>
Matrix<D> rotationOf(const Turn& turn)
{
  if constexpr (D == 2) {
    const double c = std::cos(turn[0]), s = std::sin(turn[0]);
    return {{{c, -s}, {s, c}}};
  } else {
    Matrix<3> rotation = identityMatrix<3>();
    const double angle = angleOf(turn);
    if (angle == 0)
      return rotation;
    const double x = turn[0] / angle, y = turn[1] / angle, z = turn[2] / angle;
    const Matrix<3> cross = {{{0, -z, y}, {z, 0, -x}, {-y, x, 0}}}, twice = multiply<3>(cross, cross);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        rotation[i][j] += std::sin(angle) * cross[i][j] + (1 - std::cos(angle)) * twice[i][j];
    return rotation;
  }
}

/// All turns of a cubic grid of at most `coarseAngle` between neighbours, within a ball.
template <int D>
std::vector<Turn> coarseTurns(double largestAngle)
{
  const int steps = static_cast<int>(std::ceil(largestAngle / coarseAngle - 1e-9));
  const double step = steps > 0 ? largestAngle / steps : 0;
  std::vector<Turn> turns;
  const int others = D == 3 ? steps : 0;
  for (int z = -others; z <= others; ++z)
    for (int y = -others; y <= others; ++y)
      for (int x = -steps; x <= steps; ++x) {
        const Turn turn{x * step, y * step, z * step};
        if (angleOf(turn) <= largestAngle * (1 + 1e-9))
          turns.push_back(turn);
      }
  return turns;
}

/// A rigid map and its score, which is higher where images fit better.
template <int D>
struct Candidate {
  Matrix<D> rotation = identityMatrix<D>();
  Vec<D> translationMm{};
  double score = -std::numeric_limits<double>::infinity();
};

/// All turns, each with both translations and with shifts of either along each axis.
template <int D>
std::vector<Candidate<D>> coarseCandidates(const CoarsePair<D>& pair, double largestAngle)
{
  std::vector<Candidate<D>> candidates;
  for (const Turn& turn : coarseTurns<D>(largestAngle)) {
    const Matrix<D> rotation = rotationOf<D>(turn);
    for (const Vec<D>& translationMm : pair.translations(rotation)) {
      candidates.push_back({rotation, translationMm});
      for (int d = 0; d < D; ++d)
        for (const double sign : {-1.0, 1.0}) {
          candidates.push_back({rotation, translationMm});
          candidates.back().translationMm[d] += sign * shiftShare * pair.extentMm();
        }
    }
  }
  return candidates;
}

template <int D>
bool isBetter(const Candidate<D>& a, const Candidate<D>& b)
{
  return a.score > b.score;
}

/// The best candidates. Those nearer to each other than a step of the search would end in the same place, so
/// only the best of them stays.
template <int D>
std::vector<Candidate<D>> bestOf(std::vector<Candidate<D>> candidates, const CoarsePair<D>& pair,
                                 std::size_t count)
{
  std::ranges::stable_sort(candidates, isBetter<D>);
  std::vector<Candidate<D>> best;
  for (const Candidate<D>& candidate : candidates) {
    const bool isNew = std::ranges::none_of(best, [&](const Candidate<D>& other) {
      const Matrix<D> between = multiply<D>(transpose<D>(candidate.rotation), other.rotation);
      double trace = 0, distance2 = 0;
      for (int d = 0; d < D; ++d) {
        trace += between[d][d];
        const double apart = candidate.translationMm[d] - other.translationMm[d];
        distance2 += apart * apart;
      }
      const double cosine = D == 2 ? trace / 2 : (trace - 1) / 2;
      return std::acos(std::clamp(cosine, -1.0, 1.0)) < 0.7 * coarseAngle
             && std::sqrt(distance2) < 0.7 * shiftShare * pair.extentMm();
    });
    if (isNew && best.size() < count)
      best.push_back(candidate);
  }
  return best;
}

/// Climbs by turns about each axis and shifts along each, with steps that are halved where none helps.
template <int D>
void refine(const CoarsePair<D>& pair, bool turns, double angle, double shiftMm, double leastAngle,
            Candidate<D>& candidate)
{
  candidate.score = pair.score(candidate.rotation, candidate.translationMm);
  while (angle > leastAngle) {
    Candidate<D> best = candidate;
    const auto consider = [&](const Matrix<D>& rotation, const Vec<D>& translationMm) {
      const double score = pair.score(rotation, translationMm);
      if (score > best.score)
        best = {rotation, translationMm, score};
    };
    for (const double sign : {-1.0, 1.0}) {
      for (int axis = 0; turns && axis < (D == 3 ? 3 : 1); ++axis) {
        Turn turn{};
        turn[axis] = sign * angle;
        consider(multiply<D>(rotationOf<D>(turn), candidate.rotation), candidate.translationMm);
      }
      for (int d = 0; d < D; ++d) {
        Vec<D> translationMm = candidate.translationMm;
        translationMm[d] += sign * shiftMm;
        consider(candidate.rotation, translationMm);
      }
    }
    if (best.score > candidate.score) {
      candidate = best;
    } else {
      angle /= 2;
      shiftMm /= 2;
    }
  }
}

template <int D>
void refineAll(const Context& context, const CoarsePair<D>& pair, bool turns, double angle, double leastAngle,
               std::vector<Candidate<D>>& candidates)
{
  // An arm of a third of the extent moves as far by the turn as by the shift.
  const double shiftMm = angle * pair.extentMm() / 3;
  forEachChunk(context, candidates.size(),
               [&](std::size_t i) { refine<D>(pair, turns, angle, shiftMm, leastAngle, candidates[i]); });
  std::ranges::stable_sort(candidates, isBetter<D>);
}

}

template <int D>
LinearStart<D> searchedStart(Context& context, const TransformStart<D>& start, double largestAngle)
{
  const bool turns = largestAngle > 0;
  Context onCpu = context.onCpu();
  const CoarsePair<D> coarse(onCpu, start, coarsePoints<D>);
  std::vector<Candidate<D>> candidates = coarseCandidates<D>(coarse, largestAngle);
  forEachChunk(onCpu, candidates.size(), [&](std::size_t i) {
    candidates[i].score = coarse.score(candidates[i].rotation, candidates[i].translationMm);
  });
  std::vector<Candidate<D>> best = bestOf<D>(std::move(candidates), coarse, refinedStarts);
  for (const Vec<D>& translationMm : coarse.translations(identityMatrix<D>()))
    best.push_back({identityMatrix<D>(), translationMm});
  refineAll<D>(onCpu, coarse, turns, coarseAngle / 2, coarseAngle / 30, best);
  best.resize(finalStarts);
  const CoarsePair<D> fine(onCpu, start, finePoints<D>);
  refineAll<D>(onCpu, fine, turns, coarseAngle / 10, coarseAngle / 60, best);
  if (!std::isfinite(best.front().score))
    throw Error(
        ExitCode::registrationFailed,
        "(AutomaticTransformInitializationMethod \"Search\"): no turn and shift was found by which half of "
        "the smaller image lies in the other one. Allowed: masks and images that show the same object, or "
        "the method \"GeometricalCenter\".");
  return {coarse.centerMm(), best.front().translationMm, best.front().rotation};
}

TESSERA_INSTANTIATE_FUNCTIONS(searchedStart<D>);

}
