#include "Core/Runs/Following/FollowLook.h"

#include "Core/Compute/Math/IntensityMoments.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Registration/Samples/VoxelBatches.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Registration/TransformParts.h"
#include "Core/Runs/Resampling/HostInterpolator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace tessera {
namespace {

constexpr std::size_t wantedPoints = 50'000, stepOfFolds = 4; // a derivative takes three times a point's time
constexpr double mostBlocksAnAxis = 6, pointsOfBlock = 50;
constexpr std::size_t fewestPoints = 20; // of a block that has a displacement of its own
constexpr double share = 0.9;            // of the blocks

/// The sums over the pairs of a block, its gradients, and the displacement that follows from them.
template <int D>
struct Block {
  IntensityMoments pairs;
  Vec<D> centreMm{}, right{};
  Matrix<D> structure{}; // of the gradients, as `right` of gradients and differences
  Vec<D> leftMm{};
  bool hasTexture = false;

  /// The fixed intensity that goes with a moving one, by least squares.
  double fixedOf(double value) const
  {
    const double slope = pairs.varianceOfMoving() > 0 ? pairs.covariance() / pairs.varianceOfMoving() : 0;
    return pairs.fixed / pairs.count + slope * (value - pairs.moving / pairs.count);
  }
};

template <int D>
double traceOf(const Matrix<D>& matrix)
{
  double trace = 0;
  for (int d = 0; d < D; ++d)
    trace += matrix[d][d];
  return trace;
}

/// The affine motion of the blocks' centres that goes with their displacements, as a root mean square.
/// Blocks fill a box, so their coordinates are taken as uncorrelated.
template <int D>
double affineMm(const std::vector<Block<D>>& blocks)
{
  double weights = 0;
  Vec<D> middleMm{}, meanMm{};
  const auto forEach = [&](const auto& visit) {
    for (const Block<D>& block : blocks)
      if (block.hasTexture)
        visit(block, block.pairs.count);
  };
  forEach([&](const Block<D>& block, double weight) {
    weights += weight;
    for (int d = 0; d < D; ++d) {
      middleMm[d] += weight * block.centreMm[d];
      meanMm[d] += weight * block.leftMm[d];
    }
  });
  if (weights == 0)
    return 0;
  Vec<D> spread{};
  Matrix<D> products{};
  forEach([&](const Block<D>& block, double weight) {
    for (int e = 0; e < D; ++e) {
      const double fromMiddleMm = block.centreMm[e] - middleMm[e] / weights;
      spread[e] += weight * fromMiddleMm * fromMiddleMm;
      for (int d = 0; d < D; ++d)
        products[d][e] += weight * fromMiddleMm * block.leftMm[d];
    }
  });
  double squares = 0;
  for (int d = 0; d < D; ++d) {
    squares += meanMm[d] * meanMm[d] / (weights * weights);
    for (int e = 0; e < D; ++e)
      squares += spread[e] > 0 ? products[d][e] * products[d][e] / (spread[e] * weights) : 0;
  }
  return std::sqrt(squares);
}

}

template <int D>
FixedLook<D>::FixedLook(const Registry& registry, const ImagePointer<D>& fixed, const MaskPointer<D>& mask)
    : registry_(registry)
{
  hostVoxels<D>(fixed);
  const PointList<D> points = allSamples<D>(gridOfAbout<D>(wantedPoints, fixed, mask));
  samples_.resize(points.positions());
  const ImageGeometry<D>& geometry = fixed->geometry;
  const AffineMap<D> indexFromPoint = geometry.indexFromPoint();
  const double blocksAnAxis =
      std::clamp(std::floor(std::pow(static_cast<double>(samples_.size()) / pointsOfBlock, 1.0 / D)), 1.0,
                 mostBlocksAnAxis);
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    Sample& sample = samples_[i];
    sample.fixed = points.fixed[i];
    for (int d = 0; d < D; ++d)
      sample.pointMm[d] = points.mm[d][i];
    const Vec<D> index = indexFromPoint(sample.pointMm);
    std::size_t stride = geometry.voxelCount(), voxel = 0;
    for (int d = D - 1; d >= 0; --d) {
      stride /= geometry.size[d];
      voxel += stride * static_cast<std::size_t>(std::lround(index[d]));
      const double part = (index[d] + 0.5) / static_cast<double>(geometry.size[d]);
      sample.block = sample.block * static_cast<std::size_t>(blocksAnAxis)
                     + static_cast<std::size_t>(std::clamp(part, 0.0, 0.999) * blocksAnAxis);
    }
    for (int d = 0; d < D; stride *= geometry.size[d++]) { // central differences
      const long at = std::lround(index[d]);
      if (at == 0 || at + 1 == static_cast<long>(geometry.size[d]))
        continue;
      const double slope =
          (fixed->voxels[voxel + stride] - fixed->voxels[voxel - stride]) / (2 * geometry.spacingMm[d]);
      for (int row = 0; row < D; ++row)
        sample.gradient[row] += geometry.direction[row][d] * slope;
    }
  }
  std::ranges::stable_sort(samples_, {}, &Sample::block);
  firstOfBlock_ = {0};
  for (std::size_t i = 0; i < samples_.size(); ++i)
    while (firstOfBlock_.size() <= samples_[i].block)
      firstOfBlock_.push_back(i);
  firstOfBlock_.push_back(samples_.size());
}

template <int D>
auto FixedLook<D>::mappedBy(const ChainPointer<D>& chain, const Context& context)
    -> std::shared_ptr<const Mapped>
{
  if (const auto known = std::ranges::find(mapped_, chain, [](const auto& of) { return of->chain; });
      known != mapped_.end()) {
    std::rotate(mapped_.begin(), known, known + 1); // so that the one that is not used goes
    return mapped_.front();
  }
  constexpr std::size_t chainsInUse =
      4; // the new one, the last one, that of the linear stages, the initial one
  const auto made = mapped_.size() < chainsInUse ? std::make_shared<Mapped>() : mapped_.back();
  if (mapped_.size() == chainsInUse)
    mapped_.pop_back();
  made->chain = chain;
  for (std::vector<double>& axis : made->mm)
    axis.resize(samples_.size());
  std::vector<double> folds((samples_.size() + batchCapacity - 1) / batchCapacity); // by the batch
  forEachRange(context, samples_.size(), batchCapacity, [&](std::size_t first, std::size_t last) {
    PointBatch<D> points;
    points.count = last - first;
    for (std::size_t i = first; i < last; ++i)
      points.set(i - first, samples_[i].pointMm);
    Context host{Device{}, 1};
    const PointBatch<D> mapped = mappedPoints<D>(chain.get(), points);
    for (int d = 0; d < D; ++d)
      std::copy_n(mapped.mm[d].begin(), points.count, made->mm[d].begin() + first);
    if (!chain)
      return;
    PointBatch<D> few;
    for (std::size_t i = first; i < last; i += stepOfFolds)
      few.set(few.count++, samples_[i].pointMm);
    std::vector<double> jacobian(D * D * few.count);
    chainSpatialDerivatives<D>(host, *chain, few.list(), jacobian.data(), nullptr);
    for (std::size_t i = 0; i < few.count; ++i)
      folds[first / batchCapacity] += !(determinant(jacobianAt<D>(jacobian.data(), few.count, i)) > 0);
  });
  const std::size_t looked = (samples_.size() + stepOfFolds - 1) / stepOfFolds;
  made->folded = std::accumulate(folds.begin(), folds.end(), 0.0)
                 / static_cast<double>(std::max(looked, std::size_t(1)));
  mapped_.push_front(made);
  return made;
}

template <int D>
FitOfImages FixedLook<D>::at(const ChainPointer<D>& chain, const ImagePointer<D>& moving,
                             const Context& context)
{
  const auto interpolator =
      hostInterpolator<D>(registry_, knowncomponents::linearInterpolator, moving, context.threads);
  const auto mapped = mappedBy(chain, context);
  values_.resize(samples_.size());
  inside_.resize(samples_.size());
  std::vector<FitOfImages> ofBatches((samples_.size() + batchCapacity - 1) / batchCapacity);
  forEachRange(context, samples_.size(), batchCapacity, [&](std::size_t first, std::size_t last) {
    const ListSamples<D> points{pointersTo<D>(mapped->mm, first), last - first};
    Context host{Device{}, 1};
    interpolator->evaluate(host, points, values_.data() + first, nullptr, inside_.data() + first);
    FitOfImages& sums = ofBatches[first / batchCapacity];
    for (std::size_t i = first; i < last; ++i) {
      const double movedMm = distanceBetween<D>(samples_[i].pointMm, points.point(i - first));
      sums.overlap += inside_[i];
      sums.meanDisplacementMm += movedMm;
      sums.largestDisplacementMm = std::max(sums.largestDisplacementMm, movedMm);
    }
  });
  FitOfImages fit;
  const auto all = static_cast<double>(std::max<std::size_t>(samples_.size(), 1));
  for (const FitOfImages& sums : ofBatches) {
    fit.overlap += sums.overlap;
    fit.meanDisplacementMm += sums.meanDisplacementMm;
    fit.largestDisplacementMm = std::max(fit.largestDisplacementMm, sums.largestDisplacementMm);
  }
  for (double* sum : {&fit.overlap, &fit.meanDisplacementMm})
    *sum /= all;
  fit.folded = mapped->folded;
  findWhatIsLeft(context, fit);
  return fit;
}

template <int D>
double FixedLook<D>::affineBetweenMm(const ChainPointer<D>& from, const ChainPointer<D>& to,
                                     const Context& context)
{
  const auto before = mappedBy(from, context), after = mappedBy(to, context);
  std::vector<Block<D>> blocks(firstOfBlock_.size() - 1);
  forEachRange(context, blocks.size(), 1, [&](std::size_t number, std::size_t) {
    Block<D>& block = blocks[number];
    const std::size_t first = firstOfBlock_[number], last = firstOfBlock_[number + 1];
    block.pairs.count = static_cast<double>(last - first);
    block.hasTexture = block.pairs.count > 0;
    for (std::size_t i = first; i < last; ++i)
      for (int d = 0; d < D; ++d) {
        block.centreMm[d] += samples_[i].pointMm[d] / block.pairs.count;
        block.leftMm[d] += (after->mm[d][i] - before->mm[d][i]) / block.pairs.count;
      }
  });
  return affineMm<D>(blocks);
}

template <int D>
void FixedLook<D>::findWhatIsLeft(const Context& context, FitOfImages& fit)
{
  std::vector<Block<D>> blocks(firstOfBlock_.size() - 1);
  forEachRange(context, blocks.size(), 1, [&](std::size_t number, std::size_t) {
    Block<D>& block = blocks[number];
    const auto forEach = [&](const auto& visit) {
      for (std::size_t i = firstOfBlock_[number]; i < firstOfBlock_[number + 1]; ++i)
        if (inside_[i])
          visit(samples_[i], static_cast<double>(values_[i]));
    };
    forEach([&](const Sample& sample, double value) { block.pairs.add(sample.fixed, value); });
    forEach([&](const Sample& sample, double value) {
      const double difference = sample.fixed - block.fixedOf(value);
      for (int d = 0; d < D; ++d) {
        block.centreMm[d] += sample.pointMm[d] / block.pairs.count;
        block.right[d] += sample.gradient[d] * difference;
        for (int e = 0; e < D; ++e)
          block.structure[d][e] += sample.gradient[d] * sample.gradient[e];
      }
    });
  });
  IntensityMoments whole;
  double texture = 0; // of all blocks
  for (const Block<D>& block : blocks) {
    whole.add(block.pairs);
    texture += traceOf<D>(block.structure);
  }
  texture /= std::max(1.0, whole.count);
  fit.correlation = whole.correlation().value_or(0);
  std::vector<double> leftMm;
  left_.assign(blocks.size(), {});
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Block<D>& block = blocks[i];
    const double trace = traceOf<D>(block.structure);
    block.hasTexture = block.pairs.count >= fewestPoints && trace > texture * block.pairs.count / 10;
    if (!block.hasTexture)
      continue;
    for (int d = 0; d < D; ++d) // an axis without gradients gets no displacement
      block.structure[d][d] += trace / 50;
    left_[i] = apply<D>(inverse(block.structure), block.right);
    for (int d = 0; d < D; ++d)
      block.leftMm[d] = left_[i][d] - (rest_.empty() ? 0 : rest_[i][d]);
    leftMm.push_back(lengthOf<D>(block.leftMm));
  }
  fit.leftAffineMm = affineMm<D>(blocks);
  if (leftMm.empty())
    return;
  const auto nth =
      leftMm.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(leftMm.size() - 1));
  std::nth_element(leftMm.begin(), nth, leftMm.end());
  fit.leftMm = *nth;
}

TESSERA_INSTANTIATE_CLASS(FixedLook);

}
