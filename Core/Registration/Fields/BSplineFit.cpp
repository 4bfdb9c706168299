#include "Core/Registration/Fields/BSplineFit.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/WithConstant.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Registration/Fields/BSplineLattice.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera {
namespace {

constexpr double penaltyShare = 1e-9;
constexpr double enoughMm = 1e-6; // change of the spline (root mean square) at which conjugate gradients end
constexpr int maxSteps = 200;
constexpr std::size_t linesAtOnce = 64;

/// A symmetric positive definite matrix whose entries lie beside the diagonal.
class BandMatrix {
public:
  BandMatrix(std::size_t size, std::size_t width) : size_(size), width_(width), rows_(size * (width + 1)) {}

  /// Entry (row, column) of the lower triangle; row - column is at most the width.
  double& at(std::size_t row, std::size_t column) { return rows_[row * (width_ + 1) + row - column]; }
  double at(std::size_t row, std::size_t column) const { return rows_[row * (width_ + 1) + row - column]; }

  std::vector<double> times(const std::vector<double>& x) const
  {
    std::vector<double> product(size_, 0.0);
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t j = firstColumn(i); j <= i; ++j) {
        product[i] += at(i, j) * x[j];
        if (j < i)
          product[j] += at(i, j) * x[i];
      }
    return product;
  }

  /// Replaces the matrix by its Cholesky factor, for solve().
  void factorize()
  {
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t j = firstColumn(i); j <= i; ++j) {
        double sum = at(i, j);
        for (std::size_t k = std::max(firstColumn(i), firstColumn(j)); k < j; ++k)
          sum -= at(i, k) * at(j, k);
        at(i, j) = i == j ? std::sqrt(sum) : sum / at(j, j);
      }
  }

  void solve(std::vector<double>& x) const
  {
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = firstColumn(i); j < i; ++j)
        x[i] -= at(i, j) * x[j];
      x[i] /= at(i, i);
    }
    for (std::size_t i = size_; i-- > 0;) {
      x[i] /= at(i, i);
      for (std::size_t j = firstColumn(i); j < i; ++j)
        x[j] -= at(i, j) * x[i];
    }
  }

private:
  std::size_t firstColumn(std::size_t row) const { return row > width_ ? row - width_ : 0; }

  std::size_t size_, width_;
  std::vector<double> rows_;
};

/// The spline along one axis: the weights of the control points at each voxel, and their normal equations.
struct Axis {
  std::size_t points, voxels, taps;
  std::vector<std::size_t> starts; // of each voxel
  std::vector<double> weights;     // `taps` of each voxel
  BandMatrix normal, factor;       // with the penalty; its Cholesky factor

  Axis(const FieldAxis& axis, int order)
      : points(static_cast<std::size_t>(axis.points)), voxels(static_cast<std::size_t>(axis.voxels)),
        taps(static_cast<std::size_t>(order) + 1), starts(voxels), weights(voxels * taps),
        normal(points, taps), factor(points, taps)
  {
    for (std::size_t v = 0; v < voxels; ++v) {
      const AxisSupport support = supportOf(axis, static_cast<int>(v), order);
      if (!support.inside)
        failAs(ExitCode::usage, "fitting a B-spline", "a voxel lies outside of the grid's support",
               "grids that cover the lattice");
      double* w = weights.data() + v * taps;
      withConstant<1, 3>(order, [&]<int Order>() { axisWeights<Order>(support, w); });
      starts[v] = static_cast<std::size_t>(support.start);
      for (std::size_t i = 0; i < taps; ++i)
        for (std::size_t j = 0; j <= i; ++j)
          normal.at(starts[v] + i, starts[v] + j) += w[i] * w[j];
    }
    addPenalty();
    factor = normal;
    factor.factorize();
  }

private:
  void addPenalty()
  {
    double trace = 0;
    for (std::size_t i = 0; i < points; ++i)
      trace += normal.at(i, i);
    const double penalty = penaltyShare * trace / static_cast<double>(points);
    std::vector<double> differences{1}; // binomial coefficients with alternating signs
    for (std::size_t n = 0; n < taps; ++n) {
      differences.push_back(0);
      for (std::size_t i = differences.size(); i-- > 1;)
        differences[i] -= differences[i - 1];
    }
    for (std::size_t first = 0; first + taps < points; ++first)
      for (std::size_t i = 0; i <= taps; ++i)
        for (std::size_t j = 0; j <= i; ++j)
          normal.at(first + i, first + j) += penalty * differences[i] * differences[j];
  }
};

/// The least squares of one component on a lattice.
template <int D>
class Fit {
public:
  Fit(const Context& context, const AlignedField<D>& field, const VectorImage<D>& displacements)
      : context_(context)
  {
    for (const FieldAxis& axis : field.axes)
      axes_.emplace_back(axis, field.order);
    for (std::size_t v = 0; v < displacements.geometry.voxelCount(); ++v)
      for (int d = 0; d < D; ++d)
        if (std::isnan(displacements.voxels[v * D + d])) {
          missing_.push_back(v);
          break;
        }
  }

  const std::vector<std::size_t>& missing() const { return missing_; }

  /// `values` holds those of all voxels, at missing ones where the search begins.
  std::vector<double> coefficients(const std::vector<double>& values) const
  {
    std::vector<double> b = sumsOfControlPoints(values), x = solved(b);
    if (missing_.empty())
      return x;
    subtractMissing(b, nullptr, values.data());
    std::vector<double> residual = applied(x);
    for (std::size_t i = 0; i < b.size(); ++i)
      residual[i] = b[i] - residual[i];
    const double enough = enoughMm * enoughMm * static_cast<double>(values.size());
    std::vector<double> z = solved(residual), direction = z;
    // About the sum over voxels of the squared change that the next step can make.
    double rz = dot(residual, z);
    for (int step = 0; step < maxSteps && rz > enough; ++step) {
      const std::vector<double> image = applied(direction);
      const double curvature = dot(direction, image);
      if (!(curvature > 0))
        break; // rounding
      const double length = rz / curvature;
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] += length * direction[i];
        residual[i] -= length * image[i];
      }
      z = solved(residual);
      const double next = dot(residual, z), turn = next / rz;
      rz = next;
      for (std::size_t i = 0; i < x.size(); ++i)
        direction[i] = z[i] + turn * direction[i];
    }
    return x;
  }

private:
  static double dot(const std::vector<double>& a, const std::vector<double>& b)
  {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }

  /// Replaces each line along axis d, whose length is `from`, by change(line), whose length is `to`. The axes
  /// before d have as many values as control points, those after it as many as sizes says.
  template <class Change>
  std::vector<double> alongAxis(const std::vector<double>& values, std::size_t inner, std::size_t from,
                                std::size_t to, Change&& change) const
  {
    const std::size_t lines = values.size() / from;
    std::vector<double> result(lines * to);
    forEachRange(context_, lines, linesAtOnce, [&](std::size_t first, std::size_t last) {
      std::vector<double> line(from);
      for (std::size_t l = first; l < last; ++l) {
        const std::size_t outer = l / inner, offset = l % inner;
        line.resize(from);
        for (std::size_t i = 0; i < from; ++i)
          line[i] = values[(outer * from + i) * inner + offset];
        change(line);
        for (std::size_t i = 0; i < to; ++i)
          result[(outer * to + i) * inner + offset] = line[i];
      }
    });
    return result;
  }

  /// The product with the transposed matrix of weights.
  std::vector<double> sumsOfControlPoints(std::vector<double> values) const
  {
    std::size_t inner = 1;
    for (const Axis& axis : axes_) {
      values = alongAxis(values, inner, axis.voxels, axis.points, [&](std::vector<double>& line) {
        std::vector<double> sums(axis.points, 0.0);
        for (std::size_t v = 0; v < axis.voxels; ++v)
          for (std::size_t k = 0; k < axis.taps; ++k)
            sums[axis.starts[v] + k] += axis.weights[v * axis.taps + k] * line[v];
        line = std::move(sums);
      });
      inner *= axis.points;
    }
    return values;
  }

  template <class Change>
  std::vector<double> alongAllAxes(std::vector<double> x, Change&& change) const
  {
    std::size_t inner = 1;
    for (const Axis& axis : axes_) {
      x = alongAxis(x, inner, axis.points, axis.points,
                    [&](std::vector<double>& line) { change(axis, line); });
      inner *= axis.points;
    }
    return x;
  }

  /// The solution if no voxel is missing.
  std::vector<double> solved(const std::vector<double>& b) const
  {
    return alongAllAxes(b, [](const Axis& axis, std::vector<double>& line) { axis.factor.solve(line); });
  }

  /// The normal matrix times x: that of all voxels without the part of missing ones.
  std::vector<double> applied(const std::vector<double>& x) const
  {
    std::vector<double> product =
        alongAllAxes(x, [](const Axis& axis, std::vector<double>& line) { line = axis.normal.times(line); });
    subtractMissing(product, x.data(), nullptr);
    return product;
  }

  /// Subtracts the part of missing voxels from sums over all voxels: from the product of the normal matrix
  /// and `x`, or from the right-hand side for `values` of all voxels. Voxels of one line along the first axis
  /// share the weights of the other axes.
  void subtractMissing(std::vector<double>& sums, const double* x, const double* values) const
  {
    const Axis& axis = axes_[0];
    std::vector<double> coefficients(axis.points), ofLine(axis.points);
    for (std::size_t first = 0, last = 0; first < missing_.size(); first = last) {
      const std::size_t line = missing_[first] / axis.voxels;
      std::ranges::fill(ofLine, 0.0);
      if (x) {
        std::ranges::fill(coefficients, 0.0);
        forEachLineOfPoints(line, [&](std::size_t points, double weight) {
          for (std::size_t p = 0; p < axis.points; ++p)
            coefficients[p] += weight * x[points + p];
        });
      }
      for (; last < missing_.size() && missing_[last] / axis.voxels == line; ++last) {
        const std::size_t place = missing_[last] % axis.voxels;
        const double* weights = axis.weights.data() + place * axis.taps;
        double value = values ? values[missing_[last]] : 0;
        for (std::size_t k = 0; x && k < axis.taps; ++k)
          value += weights[k] * coefficients[axis.starts[place] + k];
        for (std::size_t k = 0; k < axis.taps; ++k)
          ofLine[axis.starts[place] + k] += weights[k] * value;
      }
      forEachLineOfPoints(line, [&](std::size_t points, double weight) {
        for (std::size_t p = 0; p < axis.points; ++p)
          sums[points + p] -= weight * ofLine[p];
      });
    }
  }

  /// Calls visit(first control point, weight) for all lines of control points along the first axis in whose
  /// support a line of voxels lies.
  template <class Visit>
  void forEachLineOfPoints(std::size_t line, Visit&& visit) const
  {
    std::array<std::size_t, D> places{};
    std::size_t lines = 1;
    const std::size_t taps = axes_[0].taps;
    for (int d = 1; d < D; ++d) {
      places[d] = line % axes_[d].voxels;
      line /= axes_[d].voxels;
      lines *= taps;
    }
    for (std::size_t tap = 0; tap < lines; ++tap) {
      std::size_t rest = tap, point = 0, stride = axes_[0].points;
      double weight = 1;
      for (int d = 1; d < D; ++d) {
        const std::size_t k = rest % taps;
        rest /= taps;
        weight *= axes_[d].weights[places[d] * taps + k];
        point += stride * (axes_[d].starts[places[d]] + k);
        stride *= axes_[d].points;
      }
      visit(point, weight);
    }
  }

  const Context& context_;
  std::vector<Axis> axes_;
  std::vector<std::size_t> missing_;
};

}

template <int D>
std::vector<double> fitBSpline(const Context& context, const BSplineGrid<D>& grid,
                               const VectorImage<D>& displacementsMm, const AffineMap<D>& beyond)
{
  const auto field = alignedFieldOf(grid, displacementsMm.geometry);
  if (!field)
    failAs(ExitCode::usage, "fitting a B-spline", "its grid does not run along the axes of the lattice",
           "a grid of the same direction that is not cyclic");
  const Fit<D> fit(context, *field, displacementsMm);
  const std::size_t voxels = displacementsMm.geometry.voxelCount();
  const AffineMap<D> pointFromIndex = displacementsMm.geometry.pointFromIndex();
  std::vector<double> coefficients, values(voxels);
  for (int d = 0; d < D; ++d) {
    for (std::size_t v = 0; v < voxels; ++v)
      values[v] = displacementsMm.voxels[v * D + d];
    for (const std::size_t voxel : fit.missing()) {
      Vec<D> index;
      for (std::size_t e = 0, rest = voxel; e < D; rest /= displacementsMm.geometry.size[e++])
        index[e] = static_cast<double>(rest % displacementsMm.geometry.size[e]);
      const Vec<D> pointMm = pointFromIndex(index);
      values[voxel] = beyond(pointMm)[d] - pointMm[d];
    }
    const std::vector<double> coefficientsOfComponent = fit.coefficients(values);
    coefficients.insert(coefficients.end(), coefficientsOfComponent.begin(), coefficientsOfComponent.end());
  }
  return coefficients;
}

TESSERA_INSTANTIATE_FUNCTIONS(fitBSpline<D>);

}
