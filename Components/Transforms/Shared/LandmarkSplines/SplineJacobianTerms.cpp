#include "Components/Transforms/Shared/LandmarkSplines/SplineBatch.h"
#include "Components/Transforms/Shared/LinearKernels.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cmath>

namespace tessera::spline {
namespace {

constexpr std::size_t samplesAtOnce = 256, perTask = 16;

/// J of samples. If the system couples no components, J is a row times the identity, and only the row is
/// stored. A sample has `block` rows of `columns` numbers.
template <int D>
class Jacobians {
public:
  Jacobians(const SplineModel<D>& model, const std::vector<double>& influence, const ListSamples<D>& samples)
      : block(model.block()), columns(model.landmarksMm.size() * block), model_(model), influence_(influence),
        samples_(samples), values_(samplesAtOnce * block * columns)
  {
  }

  void compute(const Context& context, std::size_t first, std::size_t count)
  {
    std::fill(values_.begin(), values_.end(), 0.0);
    forEachRange(context, count, perTask, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i)
        compute(samples_.point(first + i), values_.data() + i * block * columns);
    });
  }
  const double* row(std::size_t sample, std::size_t component) const
  {
    return values_.data() + (sample * block + component) * columns;
  }

  const std::size_t block, columns;

private:
  /// (d T / d vectors) * influence.
  void compute(const Vec<D>& pointMm, double* to) const
  {
    const std::size_t n = model_.landmarksMm.size();
    const auto add = [&](std::size_t influenceRow, std::size_t component, double factor) {
      const double* from = influence_.data() + influenceRow * columns;
      for (std::size_t c = 0; c < columns; ++c)
        to[component * columns + c] += factor * from[c];
    };
    withKernel<D>(model_.kernel, [&](auto kernel) {
      for (std::size_t l = 0; l < n; ++l)
        for (std::size_t b = 0; b < block; ++b) {
          Vec<D> unit{}, column{};
          unit[b] = 1;
          addKernel<D, decltype(kernel)::value>(minus(pointMm, model_.landmarksMm[l]), unit, model_.alpha(),
                                                column);
          for (std::size_t k = 0; k < block; ++k)
            add(l * block + b, k, column[k]);
        }
    });
    for (std::size_t k = 0; k < block; ++k) {
      for (std::size_t d = 0; d < D; ++d)
        add((n + d) * block + k, k, pointMm[d]);
      add((n + D) * block + k, k, 1);
    }
  }

  const SplineModel<D>& model_;
  const std::vector<double>& influence_;
  const ListSamples<D>& samples_;
  std::vector<double> values_;
};

/// 1/n sum J^T J for J without scales.
template <int D>
std::vector<double> gramian(const Context& context, Jacobians<D>& jacobians, std::size_t samples)
{
  const std::size_t columns = jacobians.columns;
  std::vector<double> c(columns * columns, 0.0);
  for (std::size_t first = 0; first < samples; first += samplesAtOnce) {
    const std::size_t count = std::min(samplesAtOnce, samples - first);
    jacobians.compute(context, first, count);
    forEachRange(context, columns, perTask, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t b = 0; b < jacobians.block; ++b) {
          const double* j = jacobians.row(i, b);
          for (std::size_t row = from; row < to; ++row)
            for (std::size_t column = 0; column < columns; ++column)
              c[row * columns + column] += j[row] * j[column];
        }
    });
  }
  for (double& entry : c)
    entry /= static_cast<double>(samples);
  return c;
}

/// The trace plus 2 sqrt(2) |.|_F of J J^T and of J C J^T for one sample; q[component * columns + column] = 1
/// / sqrt(scale).
template <int D>
void sizesOf(const Jacobians<D>& jacobians, std::size_t sample, const std::vector<double>& c,
             const std::vector<double>& q, JacobianTerms& largest)
{
  const std::size_t block = jacobians.block, columns = jacobians.columns;
  Matrix<D> jj{}, jcj{};
  for (std::size_t component = 0; component < D / block; ++component) {
    const double* componentScales = q.data() + component * columns;
    for (std::size_t b = 0; b < block; ++b) {
      const double* right = jacobians.row(sample, b);
      for (std::size_t row = 0; row < columns; ++row) {
        double product = 0;
        for (std::size_t column = 0; column < columns; ++column)
          product +=
              c[row * columns + column] * right[column] * (componentScales[column] * componentScales[column]);
        const double squared = componentScales[row] * componentScales[row];
        for (std::size_t a = 0; a < block; ++a) {
          const double left = jacobians.row(sample, a)[row] * squared;
          jj[component + a][component + b] += left * right[row];
          jcj[component + a][component + b] += left * product;
        }
      }
    }
  }
  largest.maxJJ = std::max(largest.maxJJ, linear::sizeOf<D>(jj));
  largest.maxJCJ = std::max(largest.maxJCJ, linear::sizeOf<D>(jcj));
}

}

template <int D>
JacobianTerms jacobianTerms(const Context& context, const SplineModel<D>& model,
                            const std::vector<double>& influence, const ListSamples<D>& samples,
                            std::span<const double> scales)
{
  Jacobians<D> jacobians(model, influence, samples);
  const std::size_t columns = jacobians.columns, rightHandSides = D / jacobians.block;
  std::vector<double> q(rightHandSides * columns);
  for (std::size_t column = 0; column < columns; ++column)
    for (std::size_t component = 0; component < rightHandSides; ++component)
      q[component * columns + column] = 1 / std::sqrt(scales[column * rightHandSides + component]);
  const std::vector<double> c = gramian(context, jacobians, samples.count);

  JacobianTerms terms;
  for (std::size_t component = 0; component < rightHandSides; ++component)
    for (std::size_t row = 0; row < columns; ++row)
      for (std::size_t column = 0; column < columns; ++column) {
        const double entry =
            c[row * columns + column] * q[component * columns + row] * q[component * columns + column];
        terms.traceC += row == column ? entry : 0;
        terms.frobeniusC2 += entry * entry;
      }
  for (std::size_t first = 0; first < samples.count; first += samplesAtOnce) {
    const std::size_t count = std::min(samplesAtOnce, samples.count - first);
    jacobians.compute(context, first, count);
    std::vector<JacobianTerms> partial((count + perTask - 1) / perTask);
    forEachRange(context, count, perTask, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i)
        sizesOf<D>(jacobians, i, c, q, partial[from / perTask]);
    });
    for (const JacobianTerms& largest : partial) {
      terms.maxJJ = std::max(terms.maxJJ, largest.maxJJ);
      terms.maxJCJ = std::max(terms.maxJCJ, largest.maxJCJ);
    }
  }
  return terms;
}

TESSERA_INSTANTIATE_FUNCTIONS(jacobianTerms<D>);

}
