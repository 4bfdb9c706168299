#include "Components/Transforms/Shared/LandmarkSplines/SplineField.h"

#include "Core/Compute/Math/Bounds.h"
#include "Core/Compute/Math/VectorLength.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tessera {
namespace {

constexpr double farInCorners = 2;      // distance of far landmarks, relative to that of the corners
constexpr double shareOfEstimate = 0.5; // of the tolerance, since errors are only estimated
constexpr double shareOfSuper = 0.25;   // the same for the polynomials of super-blocks, which add to it
constexpr int placesTried = 128;

double halfBlock()
{
  return (SplineFieldPlan::blockVoxels - 1) / 2.0;
}

Vec<3> fromMiddle(const AffineMap<3>& pointFromIndex, const Vec<3>& voxels)
{
  return apply<3>(pointFromIndex.matrix, voxels);
}

void placeNodes(SplineFieldPlan& plan, int nodes)
{
  plan.nodes = nodes;
  for (int j = 0; j < nodes; ++j)
    plan.nodePlaces[j] = halfBlock() * chebyshevNode(j, nodes);
  for (int v = 0; v < SplineFieldPlan::blockVoxels; ++v)
    for (int j = 0; j < nodes; ++j)
      plan.weights[v][j] = nodeWeight(plan.nodePlaces, nodes, j, v - halfBlock());
}

/// The largest error of the polynomial of a landmark with weight 1 at the distance farMm, over some
/// directions and every fifth voxel.
double unitError(const SplineFieldPlan& plan, const SplineOfLandmarks<3>& spline)
{
  constexpr double s = 0.5773502691896258, t = 0.7071067811865476;
  double largest = 0;
  for (const Vec<3>& direction :
       {Vec<3>{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {s, s, s}, {t, 0, -t}, {0.36, 0.48, 0.8}}) {
    const auto term = [&](double x, double y, double z) {
      const Vec<3> offset = fromMiddle(plan.pointFromIndex, {x, y, z});
      Vec<3> difference, sum{};
      for (std::size_t d = 0; d < 3; ++d)
        difference[d] = offset[d] - plan.farMm * direction[d];
      withKernel<3>(spline.kernel, [&](auto kernel) {
        addKernel<3, decltype(kernel)::value>(difference, {1, 1, 1}, spline.alpha, sum);
      });
      return sum;
    };
    const int n = plan.nodes;
    std::array<Vec<3>, SplineFieldPlan::maxNodes * SplineFieldPlan::maxNodes * SplineFieldPlan::maxNodes>
        values;
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i)
          values[static_cast<std::size_t>((k * n + j) * n + i)] =
              term(plan.nodePlaces[i], plan.nodePlaces[j], plan.nodePlaces[k]);
    for (int z = 0; z < SplineFieldPlan::blockVoxels; z += 5)
      for (int y = 0; y < SplineFieldPlan::blockVoxels; y += 5)
        for (int x = 0; x < SplineFieldPlan::blockVoxels; x += 5) {
          Vec<3> error = term(x - halfBlock(), y - halfBlock(), z - halfBlock());
          for (int k = 0; k < n; ++k)
            for (int j = 0; j < n; ++j)
              for (int i = 0; i < n; ++i)
                for (std::size_t d = 0; d < 3; ++d)
                  error[d] -= plan.weights[z][k] * plan.weights[y][j] * plan.weights[x][i]
                              * values[static_cast<std::size_t>((k * n + j) * n + i)][d];
          largest = std::max(largest, lengthOf<3>(error));
        }
  }
  return largest;
}

/// The exponent p of the kernel's growth r^p.
int growth(SplineKernel kernel)
{
  using enum SplineKernel;
  return kernel == volume || kernel == elasticBody ? 3 : kernel == thinPlateR2LogR ? 2 : 1;
}

/// Where landmarks are closest: twice the root of the sum of their squared weights, since their errors have
/// signs of their own. Each weight is divided by the distance over farMm to the power of `decay`.
double weightsAtWorst(const SplineOfLandmarks<3>& spline, double farMm, int decay)
{
  double largest = 0;
  const int step = (spline.count + placesTried - 1) / placesTried;
  for (int place = 0; place < spline.count; place += step) {
    const Vec<3> middle = spline.landmarkMm(place);
    double sum = 0;
    for (int i = 0; i < spline.count; ++i) {
      const double ratio = farMm / std::max(lengthOf<3>(minus(spline.landmarkMm(i), middle)), farMm);
      double share = lengthOf<3>(spline.vector(i));
      for (int power = 0; power < decay; ++power)
        share *= ratio;
      sum += share * share;
    }
    largest = std::max(largest, 2 * std::sqrt(sum));
  }
  return largest;
}

/// An estimate of the largest error that single precision leaves: two roundings of the largest distance for
/// each landmark, with random signs.
double singleError(const SplineOfLandmarks<3>& spline, const SplineFieldPlan& plan)
{
  Bounds<3> boundsMm;
  for (int corner = 0; corner < 8; ++corner)
    boundsMm.add(
        plan.pointFromIndex(Vec<3>{corner & 1 ? plan.size[0] - 1.0 : 0, corner & 2 ? plan.size[1] - 1.0 : 0,
                                   corner & 4 ? plan.size[2] - 1.0 : 0}));
  double squares = 0;
  for (int i = 0; i < spline.count; ++i) {
    boundsMm.add(spline.landmarkMm(i));
    const double weight = lengthOf<3>(spline.vector(i));
    squares += weight * weight;
  }
  return std::numeric_limits<float>::epsilon() * lengthOf<3>(minus(boundsMm.high, boundsMm.low))
         * std::sqrt(squares);
}

/// The fewest nodes of super-blocks whose error is at most the tolerance; 0 if none are exact enough. A
/// kernel that grows as r^p has the scale to the power of p times the error that it has with blocks.
int superNodesFor(SplineFieldPlan plan, const SplineOfLandmarks<3>& spline, double toleranceMm)
{
  const int power = growth(spline.kernel);
  const double scale = SplineFieldPlan::superScale, grown = std::pow(scale, power);
  for (int nodes = plan.nodes; nodes <= SplineFieldPlan::maxNodes; ++nodes) {
    placeNodes(plan, nodes);
    if (grown * unitError(plan, spline)
            * weightsAtWorst(spline, scale * plan.farMm, std::max(nodes + 1 - power, 0))
        <= toleranceMm)
      return nodes;
  }
  return 0;
}

}

double chebyshevNode(int node, int nodes)
{
  return std::cos(std::numbers::pi * (node + 0.5) / nodes);
}

double nodeWeight(const double* nodePlaces, int nodes, int node, double place)
{
  double weight = 1;
  for (int m = 0; m < nodes; ++m)
    if (m != node)
      weight *= (place - nodePlaces[m]) / (nodePlaces[node] - nodePlaces[m]);
  return weight;
}

std::optional<SplineFieldPlan> planSplineField(const SplineOfLandmarks<3>& spline,
                                               const AffineMap<3>& pointFromIndex,
                                               const std::array<std::size_t, 3>& size, double toleranceMm)
{
  SplineFieldPlan plan;
  plan.pointFromIndex = pointFromIndex;
  for (std::size_t d = 0; d < 3; ++d)
    plan.size[d] = static_cast<int>(size[d]);
  for (int corner = 0; corner < 4; ++corner)
    plan.farMm = std::max(
        plan.farMm,
        farInCorners
            * lengthOf<3>(fromMiddle(pointFromIndex, {halfBlock(), corner & 1 ? halfBlock() : -halfBlock(),
                                                      corner & 2 ? halfBlock() : -halfBlock()})));
  plan.isSingle =
      spline.kernel == SplineKernel::thinPlate && singleError(spline, plan) <= shareOfEstimate * toleranceMm;
  for (int nodes = SplineFieldPlan::fewestNodes; nodes <= SplineFieldPlan::maxNodes; ++nodes) {
    placeNodes(plan, nodes);
    plan.boundMm = unitError(plan, spline)
                   * weightsAtWorst(spline, plan.farMm, std::max(nodes + 1 - growth(spline.kernel), 0));
    if (plan.boundMm <= shareOfEstimate * toleranceMm) {
      plan.superNodes = superNodesFor(plan, spline, shareOfSuper * toleranceMm);
      return plan;
    }
  }
  return {};
}

}
