#include "Components/Transforms/Shared/LandmarkSplines/SplineBatch.h"

#include <algorithm>

namespace tessera::spline {
namespace {

constexpr std::size_t blockSize = 64; // samples for which a landmark's term is computed side by side

template <int D>
struct Block {
  double values[D][blockSize];

  /// Loads a block; places beyond the arrays' end become 0.
  void load(const std::array<const double*, D>& arrays, std::size_t first, std::size_t count)
  {
    for (int d = 0; d < D; ++d) {
      std::copy_n(arrays[d] + first, count, values[d]);
      std::fill(values[d] + count, values[d] + blockSize, 0.0);
    }
  }
  TESSERA_ALWAYS_INLINE Vec<D> minus(const Vec<D>& p, std::size_t i) const
  {
    Vec<D> difference;
    for (int d = 0; d < D; ++d)
      difference[d] = values[d][i] - p[d];
    return difference;
  }
  TESSERA_ALWAYS_INLINE Vec<D> at(std::size_t i) const
  {
    Vec<D> value;
    for (int d = 0; d < D; ++d)
      value[d] = values[d][i];
    return value;
  }
  TESSERA_ALWAYS_INLINE void set(std::size_t i, const Vec<D>& value)
  {
    for (int d = 0; d < D; ++d)
      values[d][i] = value[d];
  }
};

/// sums += G(x - p) v, lane by lane.
template <int D, SplineKernel Kernel>
TESSERA_MULTIVERSION void addCovectorsOfLandmark(const Vec<D>& p, double alpha, const Block<D>& x,
                                                 const Block<D>& v, Block<D>& sums)
{
  for (std::size_t i = 0; i < blockSize; ++i) {
    Vec<D> sum = sums.at(i);
    addKernel<D, Kernel>(x.minus(p, i), v.at(i), alpha, sum);
    sums.set(i, sum);
  }
}

/// The product of the covectors with the derivatives of G(x) e, for the unit vector e of each component.
template <int D, SplineKernel Kernel>
void addSpatialCovectorsOfLandmark(const Vec<D>& x, double alpha, const double (&covJacobian)[D][D],
                                   const double (&covHessian)[D][symmetricCount(D)], double* sums)
{
  for (int m = 0; m < D; ++m) {
    Vec<D> unit{};
    unit[m] = 1;
    double jacobian[D][D] = {}, hessian[D][symmetricCount(D)] = {};
    addKernelDerivatives<D, Kernel>(x, unit, alpha, jacobian, hessian);
    for (int k = 0; k < D; ++k) {
      for (int j = 0; j < D; ++j)
        sums[m] += covJacobian[k][j] * jacobian[k][j];
      for (int s = 0; s < symmetricCount(D); ++s)
        sums[m] += covHessian[k][s] * hessian[k][s];
    }
  }
}

}

template <int D>
void addCovectors(const SplineModel<D>& model, const ListSamples<D>& samples, const Covectors<D>& covectors,
                  std::span<double> sums)
{
  const std::size_t n = model.landmarksMm.size();
  for (int k = 0; k < D; ++k)
    for (std::size_t i = 0; i < samples.count; ++i) {
      for (int d = 0; d < D; ++d)
        sums[(n + d) * D + k] += samples.pointMm[d][i] * covectors[k][i];
      sums[(n + D) * D + k] += covectors[k][i];
    }
  thread_local std::vector<Block<D>> blocks; // points and covectors, in turn
  blocks.clear();
  for (std::size_t first = 0; first < samples.count; first += blockSize) {
    const std::size_t count = std::min(blockSize, samples.count - first);
    blocks.emplace_back().load(samples.pointMm, first, count);
    blocks.emplace_back().load(covectors, first, count);
  }
  withKernel<D>(model.kernel, [&](auto kernel) {
    for (std::size_t l = 0; l < n; ++l) {
      Block<D> lanes{};
      for (std::size_t b = 0; b < blocks.size(); b += 2)
        addCovectorsOfLandmark<D, decltype(kernel)::value>(model.landmarksMm[l], model.alpha(), blocks[b],
                                                           blocks[b + 1], lanes);
      for (int k = 0; k < D; ++k)
        for (const double lane : lanes.values[k])
          sums[l * D + k] += lane;
    }
  });
}

template <int D>
void addSpatialCovectors(const SplineModel<D>& model, const ListSamples<D>& samples,
                         const double* covJacobian, const double* covHessian, std::span<double> sums)
{
  const std::size_t n = model.landmarksMm.size(), count = samples.count;
  for (std::size_t i = 0; i < count; ++i) {
    double ofJacobian[D][D] = {}, ofHessian[D][symmetricCount(D)] = {};
    for (int k = 0; k < D; ++k) {
      for (int j = 0; j < D && covJacobian; ++j)
        ofJacobian[k][j] = covJacobian[(k * D + j) * count + i];
      for (int s = 0; s < symmetricCount(D) && covHessian; ++s)
        ofHessian[k][s] = covHessian[(k * symmetricCount(D) + s) * count + i];
      for (int j = 0; j < D; ++j)
        sums[(n + j) * D + k] += ofJacobian[k][j];
    }
    const Vec<D> pointMm = samples.point(i);
    withKernel<D>(model.kernel, [&](auto kernel) {
      for (std::size_t l = 0; l < n; ++l)
        addSpatialCovectorsOfLandmark<D, decltype(kernel)::value>(
            minus(pointMm, model.landmarksMm[l]), model.alpha(), ofJacobian, ofHessian, sums.data() + l * D);
    });
  }
}

template <int D>
void addProduct(const SplineModel<D>& model, const std::vector<double>& influence, bool transposed,
                std::span<const double> from, std::span<double> to)
{
  const std::size_t rightHandSides = D / model.block(),
                    rows = (transposed ? from.size() : to.size()) / rightHandSides,
                    columns = (transposed ? to.size() : from.size()) / rightHandSides;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      for (std::size_t s = 0; s < rightHandSides; ++s)
        to[(transposed ? column : row) * rightHandSides + s] +=
            influence[row * columns + column] * from[(transposed ? row : column) * rightHandSides + s];
}

TESSERA_INSTANTIATE_FUNCTIONS(addCovectors<D>, addSpatialCovectors<D>, addProduct<D>);

}
