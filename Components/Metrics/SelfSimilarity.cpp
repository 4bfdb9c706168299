#include "Components/Metrics/SelfSimilarity.h"

#include "Components/Metrics/Shared/Descriptors/SelfSimilarityOnCuda.h"
#include "Components/Metrics/Shared/SumsOnCuda.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Filters/SelfSimilarityDescriptor.h"
#include "Core/Registration/Samples/VoxelBatches.h"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::size_t wantedJacobians = 1000;

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
const ComponentDescription& SelfSimilarity<D>::description()
{
  static const ComponentDescription description{
      "Metric", "SelfSimilarity",
      "mean squared difference of self-similarities, for images of different contrast (MIND-SSC, Heinrich et "
      "al. 2013). They are interpolated linearly, so at a voxel the derivative is that of one side: images "
      "that are stored flipped give results that differ by some hundredths of a voxel",
      ValidSampleRule::parameters()};
  return description;
}

template <int D>
double SelfSimilarity<D>::hostBytesWhilePrepared(const TermExtent& extent) const
{
  constexpr double held = Descriptor::channels, computed = held * (1 + sizeof(float)) + 2 * sizeof(float);
  return std::max(computed * extent.fixedVoxels, held * extent.fixedVoxels + computed * extent.movingVoxels);
}

template <int D>
void SelfSimilarity<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  endLevel();
  level_ = level;
  fixed_.indexFromPoint = level.fixed->geometry.indexFromPoint();
  moving_.indexFromPoint = level.moving->geometry.indexFromPoint();
  Context host = context.onCpu();
  const auto movingSteps = [&] {
    const Matrix<D> fixedVoxelMm = level.fixed->geometry.pointFromIndex().matrix;
    return multiply<D>(moving_.indexFromPoint.matrix,
                       multiply<D>(meanJacobian<D>(host, level), fixedVoxelMm));
  };
  if (context.onCuda())
    return prepareOnCuda(context, onlyCountsMemory(context) ? identityMatrix<D>() : movingSteps());
  fixed_.descriptor = Descriptor(context, *level.fixed);
  moving_.descriptor = Descriptor(context, *level.moving, movingSteps());
}

template <int D>
void SelfSimilarity<D>::prepareOnCuda(Context& context, const Matrix<D>& movingSteps)
{
  const MemoryPart part(context, "metric");
  const auto numbersOfImage = [&](const ImagePointer<D>& image, const Matrix<D>& steps) {
    const auto voxels = voxelsOnCuda<D>(context, image);
    return selfSimilaritiesOnCuda<D>(context, voxels->span().data(), image->geometry.size, steps);
  };
  auto fixedNumbers = numbersOfImage(level_.fixed, identityMatrix<D>()),
       movingNumbers = numbersOfImage(level_.moving, movingSteps);
  auto comparison = std::make_unique<SelfSimilarityOnCuda<D>>(
      level_.fixed->geometry, std::move(fixedNumbers), level_.moving->geometry, std::move(movingNumbers));
  auto mean = std::make_unique<SumsOnCuda<MeanOfSecond>>(context, MeanOfSecond());
  const MemoryPart ofSamples(context, "samples");
  onCuda_ = std::make_unique<ImageTermOnCuda<D>>(context, level_, std::move(comparison), std::move(mean));
}

template <int D>
typename MeanOverSamples<D>::ImageSum
SelfSimilarity<D>::sumOfSquares(Context& context, const TransformChain<D>& chain,
                                const ListSamples<D>& samples, std::span<double> gradient) const
{
  thread_local PointBatch<D> mapped, points, atLast, covectors;
  mapped.count = samples.count;
  mapChain<D>(context, chain, samples, mapped.out());
  constexpr std::size_t capacity = MeanOverSamples<D>::samplesAtOnce;
  std::array<std::size_t, capacity> pair;
  std::array<float, capacity> squares;
  std::array<std::array<float, capacity>, D> slopes;
  DescriptorDifferences<D> differences{pair.data(), squares.data()};
  for (int d = 0; d < D && !gradient.empty(); ++d)
    differences.slopes[d] = slopes[d].data();
  const std::size_t count = compareDescriptors<D>(fixed_, samples, moving_, mapped.list(), differences);
  double sum = 0;
  for (std::size_t j = 0; j < count; ++j)
    sum += squares[j];
  if (!gradient.empty() && count > 0) {
    points.count = atLast.count = covectors.count = count;
    for (int d = 0; d < D; ++d)
      for (std::size_t j = 0; j < count; ++j) {
        points.mm[d][j] = samples.pointMm[d][pair[j]];
        double slopePerMm = 0;
        for (int e = 0; e < D; ++e)
          slopePerMm += slopes[e][j] * moving_.indexFromPoint.matrix[e][d];
        covectors.mm[d][j] = slopePerMm / Descriptor::channels;
      }
    mapInitial<D>(context, chain, points.list(), atLast.out());
    optimizable(*chain.transform)
        .pullBack(context, atLast.list(), chain.parameters, covectors.list().pointMm, gradient);
  }
  return {sum / Descriptor::channels, count};
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
  this->checkValid(result.valid, result.asked);
  return result;
}

TESSERA_INSTANTIATE_CLASS(SelfSimilarity);

}
