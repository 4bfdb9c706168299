#include "Components/Metrics/SelfSimilarity.h"

#include "Core/Registration/Samples/VoxelBatches.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

constexpr std::size_t wantedJacobians = 1000;

/// The voxels around a place, and their weights in linear interpolation.
template <int D>
struct Cell {
  static constexpr std::size_t corners = std::size_t(1) << D;
  std::array<std::size_t, corners> voxel;
  std::array<float, corners> weight;
  std::array<std::array<float, corners>, D> slope; // of the weights, by the index along each axis

  /// False: the place lies more than half a voxel beyond the image. Nearer ones have the border's values.
  bool setTo(const Size<D>& size, const Vec<D>& index)
  {
    voxel.fill(0);
    weight.fill(1);
    for (auto& ofAxis : slope)
      ofAxis.fill(1);
    std::size_t stride = 1;
    for (int d = 0; d < D; ++d) {
      const double last = static_cast<double>(size[d]) - 1;
      if (!(index[d] >= -0.5 && index[d] < last + 0.5))
        return false;
      const double within = std::clamp(index[d], 0.0, last), below = std::min(std::floor(within), last);
      const auto share = static_cast<float>(within - below);
      const bool hasSlope = below < last && index[d] >= 0;
      for (std::size_t corner = 0; corner < corners; ++corner) {
        const bool isAbove = (corner >> d & 1) != 0;
        voxel[corner] += stride * (static_cast<std::size_t>(below) + (isAbove && below < last));
        const float ofAxis = isAbove ? share : 1 - share;
        weight[corner] *= ofAxis;
        for (int e = 0; e < D; ++e)
          slope[e][corner] *= e != d ? ofAxis : !hasSlope ? 0 : isAbove ? 1 : -1;
      }
      stride *= size[d];
    }
    return true;
  }
};

template <int D>
using Channels = std::array<float, SelfSimilarityDescriptor<D>::channels>;

template <int D>
Channels<D> interpolated(const SelfSimilarityDescriptor<D>& descriptor, const Cell<D>& cell)
{
  Channels<D> sum{};
  for (std::size_t corner = 0; corner < cell.corners; ++corner) {
    const std::uint8_t* const values = &descriptor.values[descriptor.channels * cell.voxel[corner]];
    for (std::size_t k = 0; k < descriptor.channels; ++k)
      sum[k] += cell.weight[corner] * static_cast<float>(values[k]);
  }
  return sum;
}

/// The derivative by the index of sum_k v_k M_k.
template <int D>
Vec<D> slopeOf(const SelfSimilarityDescriptor<D>& descriptor, const Cell<D>& cell, const Channels<D>& v)
{
  Vec<D> slope{};
  for (std::size_t corner = 0; corner < cell.corners; ++corner) {
    const std::uint8_t* const values = &descriptor.values[descriptor.channels * cell.voxel[corner]];
    float product = 0;
    for (std::size_t k = 0; k < descriptor.channels; ++k)
      product += v[k] * static_cast<float>(values[k]);
    for (int d = 0; d < D; ++d)
      slope[d] += cell.slope[d][corner] * product;
  }
  return slope;
}

/// The mean of dT/dx over the fixed image (and mask).
template <int D>
Matrix<D> meanJacobian(Context& context, const TermLevel<D>& level)
{
  const SampleSet<D> samples = gridOfAbout<D>(wantedJacobians, level.fixed, level.fixedMask);
  Matrix<D> mean{};
  std::size_t count = 0;
  PointBatch<D> points;
  std::array<float, batchCapacity> intensities;
  std::array<double, D * D * batchCapacity> jacobians;
  const std::size_t positions = positionCount<D>(samples);
  for (std::size_t first = 0; first < positions; first += batchCapacity) {
    fillBatch<D>(samples, first, std::min(positions, first + batchCapacity), points, intensities.data());
    chainSpatialDerivatives<D>(context, *level.chain, points.list(), jacobians.data(), nullptr);
    for (int e = 0; e < D * D; ++e)
      for (std::size_t i = 0; i < points.count; ++i)
        mean[e / D][e % D] += jacobians[e * points.count + i];
    count += points.count;
  }
  if (count == 0)
    return identityMatrix<D>();
  for (auto& row : mean)
    for (double& entry : row)
      entry /= static_cast<double>(count);
  return mean;
}

}

template <int D>
SelfSimilarity<D>::SelfSimilarity(const Parameters& parameters) : validSampleRule_(parameters)
{
}

template <int D>
const ComponentDescription& SelfSimilarity<D>::description()
{
  static const ComponentDescription description{
      "Metric",
      "SelfSimilarity",
      {},
      "mean squared difference of self-similarities, for images of different contrast (MIND-SSC, Heinrich et "
      "al. 2013)",
      ValidSampleRule::parameters()};
  return description;
}

template <int D>
void SelfSimilarity<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  level_ = level;
  fixedIndexFromPoint_ = level.fixed->geometry.indexFromPoint();
  movingIndexFromPoint_ = level.moving->geometry.indexFromPoint();
  const Matrix<D> fixedVoxelMm = level.fixed->geometry.pointFromIndex().matrix;
  fixed_ = Descriptor(context, *level.fixed);
  moving_ = Descriptor(
      context, *level.moving,
      multiply<D>(movingIndexFromPoint_.matrix, multiply<D>(meanJacobian<D>(context, level), fixedVoxelMm)));
}

template <int D>
void SelfSimilarity<D>::endLevel()
{
  fixed_ = moving_ = {};
}

template <int D>
typename MeanOverSamples<D>::ImageSum
SelfSimilarity<D>::sumOfSquares(Context& context, const TransformChain<D>& chain,
                                const ListSamples<D>& samples, std::span<double> gradient) const
{
  constexpr float perNumber = 1.0f / 255;
  thread_local PointBatch<D> points, mapped, atLast, covectors;
  mapped.count = samples.count;
  mapChain<D>(context, chain, samples, mapped.out());
  Cell<D> cell;
  double sum = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.count; ++i) {
    if (!cell.setTo(fixed_.size, fixedIndexFromPoint_(samples.point(i))))
      continue;
    const Channels<D> fixed = interpolated<D>(fixed_, cell);
    if (!cell.setTo(moving_.size, movingIndexFromPoint_(mapped.list().point(i))))
      continue;
    Channels<D> difference = interpolated<D>(moving_, cell);
    float squares = 0;
    for (std::size_t k = 0; k < difference.size(); ++k) {
      difference[k] = (difference[k] - fixed[k]) * perNumber;
      squares += difference[k] * difference[k];
    }
    sum += squares;
    if (!gradient.empty()) {
      const Vec<D> byIndex = slopeOf<D>(moving_, cell, difference);
      for (int d = 0; d < D; ++d) {
        points.mm[d][kept] = samples.pointMm[d][i];
        covectors.mm[d][kept] = 0;
        for (int e = 0; e < D; ++e)
          covectors.mm[d][kept] +=
              2 * perNumber / Descriptor::channels * byIndex[e] * movingIndexFromPoint_.matrix[e][d];
      }
    }
    ++kept;
  }
  if (!gradient.empty() && kept > 0) {
    points.count = atLast.count = covectors.count = kept;
    mapInitial<D>(context, chain, points.list(), atLast.out());
    optimizable(*chain.transform)
        .pullBack(context, atLast.list(), chain.parameters, covectors.list().pointMm, gradient);
  }
  return {sum / Descriptor::channels, kept};
}

template <int D>
TermValue SelfSimilarity<D>::evaluateHere(Context& context, const SampleSet<D>& samples,
                                          std::span<const double> parameters, std::span<double> gradient)
{
  const typename MeanOverSamples<D>::ImageBatchSum batchSum =
      [&](Context& oneThread, const TransformChain<D>& chain, const ListSamples<D>& points, const float*,
          std::span<double> ofBatch) { return sumOfSquares(oneThread, chain, points, ofBatch); };
  const TermValue result = mean_.evaluate(context, samples, chain_(*level_.chain, parameters),
                                          level_.movingMask.get(), gradient, batchSum);
  validSampleRule_.check(level_.level, result.valid, result.asked);
  return result;
}

template class SelfSimilarity<2>;
template class SelfSimilarity<3>;

}
