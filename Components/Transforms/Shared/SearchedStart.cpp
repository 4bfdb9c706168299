#include "Components/Transforms/Shared/SearchedStart.h"

#include "Components/Transforms/Shared/CoarsePair.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Voxels/ImageOnCuda.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera {
namespace {

constexpr double coarseAngle = 20 * std::numbers::pi / 180;
constexpr double shiftShare = 0.2;  // of the extent of the smaller image, along each axis
constexpr int turnsOfSphere = 600;  // neighbours lie some 30 degrees apart
constexpr double hopeless = 0.8;    // of the best gain over images that have nothing in common
constexpr double priceOfTurn = 0.3; // of that gain, for a turn of 360 degrees
constexpr std::size_t placesOfTurn = 8, climbedStarts = 128, refinedStarts = 24, finalStarts = 4;
template <int D>
constexpr std::size_t quickPoints = D == 3 ? 1500 : 1000;
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

/// Turns of at most `largestAngle`, the first of which is none. In 3D they are spread evenly over all
/// rotations by spirals of unit quaternions (Alexa, "Super-Fibonacci spirals: fast, low-discrepancy sampling
/// of SO(3)", CVPR 2022, algorithm 1).
template <int D>
std::vector<Matrix<D>> evenTurns(double largestAngle)
{
  std::vector<Matrix<D>> turns{identityMatrix<D>()};
  if constexpr (D == 2) {
    const int steps = static_cast<int>(std::ceil(largestAngle / coarseAngle - 1e-9));
    for (int i = 1; i <= steps; ++i)
      for (const double sign : {-1.0, 1.0})
        turns.push_back(rotationOf<2>({sign * i * largestAngle / steps}));
  } else {
    constexpr double psi = 1.533751168755204288118041;
    for (int i = 0; i < turnsOfSphere; ++i) {
      const double share = (i + 0.5) / turnsOfSphere, along = 2 * std::numbers::pi * (i + 0.5);
      const double alpha = along / std::numbers::sqrt2, beta = along / psi;
      const double real = std::sqrt(1 - share) * std::cos(beta), angle = 2 * std::acos(std::abs(real));
      const double factor = std::copysign(angle / std::sqrt(1 - real * real), real), inner = std::sqrt(share);
      if (angle <= largestAngle)
        turns.push_back(rotationOf<3>({factor * inner * std::sin(alpha), factor * inner * std::cos(alpha),
                                       factor * std::sqrt(1 - share) * std::sin(beta)}));
    }
  }
  return turns;
}

template <int D>
double angleBetween(const Matrix<D>& a, const Matrix<D>& b)
{
  const Matrix<D> between = multiply<D>(transpose<D>(a), b);
  double trace = 0;
  for (int d = 0; d < D; ++d)
    trace += between[d][d];
  return std::acos(std::clamp(D == 2 ? trace / 2 : (trace - 1) / 2, -1.0, 1.0));
}

/// A rigid map and how well the images fit by it.
template <int D>
struct Candidate {
  Matrix<D> rotation = identityMatrix<D>();
  Vec<D> translationMm{};
  CoarseFit fit = {};
};

template <int D>
using FitOf = CoarseFit (CoarsePair<D>::*)(const Matrix<D>&, const Vec<D>&) const;

template <int D>
bool isBetter(const Candidate<D>& a, const Candidate<D>& b)
{
  return a.fit.gain > b.fit.gain;
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
      double distance2 = 0;
      for (int d = 0; d < D; ++d) {
        const double apart = candidate.translationMm[d] - other.translationMm[d];
        distance2 += apart * apart;
      }
      return angleBetween<D>(candidate.rotation, other.rotation) < 0.7 * coarseAngle
             && std::sqrt(distance2) < 0.7 * shiftShare * pair.extentMm();
    });
    if (isNew)
      best.push_back(candidate);
    if (best.size() == count)
      break;
  }
  return best;
}

/// Climbs by turns about each axis and shifts along each, with steps that are halved where none helps.
template <int D>
void refine(const CoarsePair<D>& pair, FitOf<D> fitOf, bool turns, double angle, double shiftMm,
            double leastAngle, Candidate<D>& candidate)
{
  candidate.fit = (pair.*fitOf)(candidate.rotation, candidate.translationMm);
  while (angle > leastAngle) {
    Candidate<D> best = candidate;
    const auto consider = [&](const Matrix<D>& rotation, const Vec<D>& translationMm) {
      const Candidate<D> other{rotation, translationMm, (pair.*fitOf)(rotation, translationMm)};
      if (other.fit.information > best.fit.information)
        best = other;
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
    if (best.fit.information > candidate.fit.information) {
      candidate = best;
    } else {
      angle /= 2;
      shiftMm /= 2;
    }
  }
}

template <int D>
void refineAll(const Context& context, const CoarsePair<D>& pair, FitOf<D> fitOf, bool turns, double angle,
               double leastAngle, std::vector<Candidate<D>>& candidates)
{
  // An arm of a third of the extent moves as far by the turn as by the shift.
  const double shiftMm = angle * pair.extentMm() / 3;
  forEachChunk(context, candidates.size(), [&](std::size_t i) {
    refine<D>(pair, fitOf, turns, angle, shiftMm, leastAngle, candidates[i]);
  });
  std::ranges::stable_sort(candidates, isBetter<D>);
}

/// The quick fits of all turns, each at its best places.
template <int D>
std::vector<Candidate<D>> coarseCandidates(const Context& context, const CoarsePair<D>& pair,
                                           const std::vector<Matrix<D>>& turns)
{
  std::vector<std::vector<Candidate<D>>> ofTurns(turns.size());
  forEachChunk(context, turns.size(), [&](std::size_t i) {
    const auto consider = [&](const Vec<D>& translationMm) {
      ofTurns[i].push_back({turns[i], translationMm, pair.quickFit(turns[i], translationMm)});
    };
    std::ranges::for_each(pair.placements(turns[i]), consider);
    std::ranges::for_each(pair.translations(turns[i]), consider);
    std::ranges::stable_sort(ofTurns[i], isBetter<D>);
    ofTurns[i].resize(std::min(ofTurns[i].size(), placesOfTurn));
  });
  std::vector<Candidate<D>> all;
  for (const std::vector<Candidate<D>>& candidates : ofTurns)
    all.insert(all.end(), candidates.begin(), candidates.end());
  return all;
}

/// The best one. Most headers are right, so a larger turn must gain more.
template <int D>
Candidate<D> likeliest(const std::vector<Candidate<D>>& candidates)
{
  return *std::ranges::max_element(candidates, {}, [](const Candidate<D>& candidate) {
    const double turns = angleBetween<D>(identityMatrix<D>(), candidate.rotation) / (2 * std::numbers::pi);
    return candidate.fit.gain * (1 - priceOfTurn * turns);
  });
}

}

template <int D>
LinearStart<D> searchedStart(Context& context, const TransformStart<D>& start, double largestAngle)
{
  const bool turns = largestAngle > 0;
  Context onCpu = context.onCpu();
  hostVoxels<D>(start.fixed);
  hostVoxels<D>(start.moving);
  const CoarsePair<D> quick(onCpu, start, quickPoints<D>), coarse(onCpu, start, coarsePoints<D>);
  std::vector<Candidate<D>> best =
      bestOf<D>(coarseCandidates<D>(onCpu, quick, evenTurns<D>(largestAngle)), quick, climbedStarts);
  refineAll<D>(onCpu, quick, &CoarsePair<D>::quickFit, turns, 0.6 * coarseAngle, coarseAngle / 10, best);
  best = bestOf<D>(std::move(best), coarse, refinedStarts);
  for (const Vec<D>& translationMm : coarse.translations(identityMatrix<D>()))
    best.push_back({identityMatrix<D>(), translationMm});
  refineAll<D>(onCpu, coarse, &CoarsePair<D>::fit, turns, coarseAngle / 2, coarseAngle / 30, best);
  best = bestOf<D>(std::move(best), coarse, finalStarts);
  const double least = hopeless * best.front().fit.gain;
  std::erase_if(best, [&](const Candidate<D>& candidate) { return candidate.fit.gain < least; });
  const CoarsePair<D> fine(onCpu, start, finePoints<D>);
  refineAll<D>(onCpu, fine, &CoarsePair<D>::fit, turns, coarseAngle / 10, coarseAngle / 60, best);
  if (!std::isfinite(best.front().fit.gain))
    failAs(ExitCode::registrationFailed, "(AutomaticTransformInitializationMethod \"Search\")",
           "no turn and shift was found by which half of the smaller image lies in the other one",
           "masks and images that show the same object, or the method \"GeometricalCenter\"");
  std::vector<Candidate<D>> found{likeliest<D>(best)};
  refineAll<D>(onCpu, fine, &CoarsePair<D>::fit, turns, coarseAngle / 80, coarseAngle / 120, found);
  return {coarse.centerMm(), found.front().translationMm, found.front().rotation};
}

TESSERA_INSTANTIATE_FUNCTIONS(searchedStart<D>);

}
