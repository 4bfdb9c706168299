#include "Components/Transforms/Shared/LandmarkSplines/SplineBatch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

// The terms of landmarks that are far from a straight row of points are smooth along the row. Their sum is
// computed at the Chebyshev nodes of the row, and a polynomial carries it to the points.
namespace tessera::spline {
namespace {

constexpr std::size_t pointsAtOnce = 64, nodeCount = 12;
constexpr std::size_t lanes = 16;                  // points side by side in registers
constexpr std::size_t shortestRow = 2 * nodeCount; // in shorter ones the nodes would save little

// A term is singular only at its landmark. Where that is at least two half lengths away from the middle of
// the row, each node makes the error of the polynomial 2 + sqrt(3) times smaller (Trefethen, Approximation
// Theory and Approximation Practice, 2013, theorem 8.2); 12 nodes leave about 1e-8 mm for a weight of 1.
constexpr double farInHalfLengths = 2;

// A point may be this share of a step away from where the row has it.
constexpr double rowTolerance = 1e-8;

/// G(x) w.
template <int D, SplineKernel Kernel>
struct ValueTerm {
  static constexpr int components = D;

  static TESSERA_ALWAYS_INLINE void add(const Vec<D>& x, const Vec<D>& w, double alpha, Vec<D>& sum)
  {
    addKernel<D, Kernel>(x, w, alpha, sum);
  }
  /// The linear part of the spline, which no landmark adds to.
  static Vec<D> linearPart(const SplineOfLandmarks<D>& spline, const Vec<D>& pointMm)
  {
    Vec<D> sum = spline.vector(spline.count + D);
    for (int d = 0; d < D; ++d)
      for (int k = 0; k < D; ++k)
        sum[k] += spline.vector(spline.count + d)[k] * pointMm[d];
    return sum;
  }
};

/// d G(x) w / dx, row by row.
template <int D, SplineKernel Kernel>
struct JacobianTerm {
  static constexpr int components = D * D;

  static TESSERA_ALWAYS_INLINE void add(const Vec<D>& x, const Vec<D>& w, double alpha, Vec<D * D>& sum)
  {
    double squared = 0, along = 0;
    for (int d = 0; d < D; ++d) {
      squared += x[d] * x[d];
      along += x[d] * w[d];
    }
    const RadialTerms radial = radialTerms<Kernel>(squared, alpha);
    for (int k = 0; k < D; ++k)
      for (int j = 0; j < D; ++j)
        sum[k * D + j] += jacobianEntry<D, Kernel>(radial, x, w, along, k, j);
  }
  static Vec<D * D> linearPart(const SplineOfLandmarks<D>& spline, const Vec<D>&)
  {
    Vec<D * D> sum;
    for (int k = 0; k < D; ++k)
      for (int j = 0; j < D; ++j)
        sum[k * D + j] = spline.vector(spline.count + j)[k];
    return sum;
  }
};

/// Places and the sums of the landmarks' terms there.
template <int D, int Components, std::size_t Count>
struct Sums {
  double pointMm[D][Count] = {}, sum[Components][Count] = {};

  template <class Term>
  TESSERA_ALWAYS_INLINE void add(const Vec<D>& landmarkMm, const Vec<D>& w, double alpha)
  {
    for (std::size_t i = 0; i < Count; ++i) {
      Vec<D> x;
      for (int d = 0; d < D; ++d)
        x[d] = pointMm[d][i] - landmarkMm[d];
      Vec<Components> terms;
      for (int k = 0; k < Components; ++k)
        terms[k] = sum[k][i];
      Term::add(x, w, alpha, terms);
      for (int k = 0; k < Components; ++k)
        sum[k][i] = terms[k];
    }
  }
};

/// Up to pointsAtOnce points, and the nodes of the row that they may be.
template <int D, int Components>
struct Piece {
  std::array<Sums<D, Components, lanes>, pointsAtOnce / lanes> points;
  Sums<D, Components, nodeCount> nodes;
  Vec<D> middleMm{};
  double farMm = std::numeric_limits<double>::infinity(); // from the middle; infinite without nodes

  void placeNodes(const Vec<D>& firstMm, const Vec<D>& lastMm)
  {
    double squared = 0;
    for (int d = 0; d < D; ++d) {
      const double halfMm = (lastMm[d] - firstMm[d]) / 2;
      middleMm[d] = firstMm[d] + halfMm;
      squared += halfMm * halfMm;
      for (std::size_t n = 0; n < nodeCount; ++n)
        nodes.pointMm[d][n] =
            middleMm[d] + halfMm * std::cos(std::numbers::pi * (static_cast<double>(n) + 0.5) / nodeCount);
    }
    farMm = farInHalfLengths * std::sqrt(squared);
  }
};

template <class Term, int D>
TESSERA_MULTIVERSION void addLandmarks(const SplineOfLandmarks<D>& spline, std::size_t count,
                                       Piece<D, Term::components>& piece)
{
  const double farSquared = piece.farMm * piece.farMm;
  for (int l = 0; l < spline.count; ++l) {
    const Vec<D> landmarkMm = spline.landmarkMm(l), w = spline.vector(l);
    double squared = 0;
    for (int d = 0; d < D; ++d)
      squared += (landmarkMm[d] - piece.middleMm[d]) * (landmarkMm[d] - piece.middleMm[d]);
    if (squared >= farSquared)
      piece.nodes.template add<Term>(landmarkMm, w, spline.alpha);
    else
      for (std::size_t first = 0; first < count; first += lanes)
        piece.points[first / lanes].template add<Term>(landmarkMm, w, spline.alpha);
  }
}

/// coefficients[j][n]: what the value at node n adds to the coefficient of the Chebyshev polynomial T_j.
const auto& chebyshevCoefficients()
{
  static const auto table = [] {
    std::array<std::array<double, nodeCount>, nodeCount> values;
    for (std::size_t j = 0; j < nodeCount; ++j)
      for (std::size_t n = 0; n < nodeCount; ++n)
        values[j][n] = (j == 0 ? 1.0 : 2.0) / nodeCount
                       * std::cos(std::numbers::pi * static_cast<double>(j) * (static_cast<double>(n) + 0.5)
                                  / nodeCount);
    return values;
  }();
  return table;
}

/// sums += the polynomial through the values at the nodes, by Clenshaw's recurrence.
TESSERA_MULTIVERSION void addPolynomial(const double (&atNodes)[nodeCount], std::size_t count, double* sums)
{
  double t[pointsAtOnce], last[pointsAtOnce] = {}, before[pointsAtOnce] = {};
  for (std::size_t i = 0; i < pointsAtOnce; ++i)
    t[i] = 2 * static_cast<double>(static_cast<int>(i)) / static_cast<double>(count - 1) - 1;
  for (std::size_t j = nodeCount; j-- > 0;) {
    double coefficient = 0;
    for (std::size_t n = 0; n < nodeCount; ++n)
      coefficient += chebyshevCoefficients()[j][n] * atNodes[n];
    const double factor = j > 0 ? 2 : 1;
    for (std::size_t i = 0; i < pointsAtOnce; ++i) {
      const double next = coefficient + factor * t[i] * last[i] - before[i];
      before[i] = last[i];
      last[i] = next;
    }
  }
  for (std::size_t i = 0; i < count; ++i)
    sums[i] += last[i];
}

/// How many points from the first on are a straight row with equal steps, at most pointsAtOnce.
template <int D>
std::size_t rowLength(const ListSamples<D>& samples, std::size_t first)
{
  const std::size_t most = std::min(pointsAtOnce, samples.count - first);
  if (most < 3)
    return most;
  const Vec<D> startMm = samples.point(first), stepMm = minus(samples.point(first + 1), startMm);
  double toleranceMm = 0;
  for (int d = 0; d < D; ++d)
    toleranceMm = std::max(toleranceMm, rowTolerance * std::abs(stepMm[d]));
  for (std::size_t length = 2; length < most; ++length)
    for (int d = 0; d < D; ++d)
      if (!(std::abs(samples.pointMm[d][first + length]
                     - (startMm[d] + static_cast<double>(length) * stepMm[d]))
            <= toleranceMm))
        return length;
  return toleranceMm > 0 ? most : 1;
}

/// Writes the sums over all landmarks; component k of sample i goes to out[k][i].
template <template <int, SplineKernel> class TermOf, int D, std::size_t Components>
void evaluate(const SplineOfLandmarks<D>& spline, const ListSamples<D>& samples,
              const std::array<double*, Components>& out)
{
  withKernel<D>(spline.kernel, [&](auto kernel) {
    using Term = TermOf<D, decltype(kernel)::value>;
    for (std::size_t first = 0, count; first < samples.count; first += count) {
      count = rowLength<D>(samples, first);
      const bool isRow = count >= shortestRow;
      if (!isRow) // points without order, up to the next row
        for (std::size_t more = 0; count < pointsAtOnce && first + count < samples.count; count += more)
          if ((more = rowLength<D>(samples, first + count)) >= shortestRow)
            break;
      count = std::min(count, pointsAtOnce);
      Piece<D, Term::components> piece;
      for (std::size_t i = 0; i < count; ++i) {
        const Vec<D> pointMm = samples.point(first + i);
        const auto linear = Term::linearPart(spline, pointMm);
        auto& to = piece.points[i / lanes];
        for (int d = 0; d < D; ++d)
          to.pointMm[d][i % lanes] = pointMm[d];
        for (int k = 0; k < Term::components; ++k)
          to.sum[k][i % lanes] = linear[k];
      }
      if (isRow)
        piece.placeNodes(samples.point(first), samples.point(first + count - 1));
      addLandmarks<Term, D>(spline, count, piece);
      for (int k = 0; k < Term::components; ++k) {
        for (std::size_t i = 0; i < count; ++i)
          out[k][first + i] = piece.points[i / lanes].sum[k][i % lanes];
        if (isRow)
          addPolynomial(piece.nodes.sum[k], count, out[k] + first);
      }
    }
  });
}

}

template <int D>
void map(const SplineOfLandmarks<D>& spline, const ListSamples<D>& samples, const PointsOut<D>& out)
{
  evaluate<ValueTerm, D>(spline, samples, out);
}

template <int D>
void jacobians(const SplineOfLandmarks<D>& spline, const ListSamples<D>& samples, double* jacobian)
{
  std::array<double*, D * D> out;
  for (std::size_t k = 0; k < out.size(); ++k)
    out[k] = jacobian + k * samples.count;
  evaluate<JacobianTerm, D>(spline, samples, out);
}

TESSERA_INSTANTIATE_FUNCTIONS(map<D>, jacobians<D>);

}
