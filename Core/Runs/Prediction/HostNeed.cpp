#include "Core/Runs/Prediction/HostNeed.h"

#include "Core/Registration/Inverse/ForwardCells.h"
#include "Core/Registration/Stage/StageMemory.h"
#include "Core/Registration/TermMemory.h"
#include "Core/Runs/HeaderNotes.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/Resampling/MemoryBudget.h"

#include <algorithm>
#include <filesystem>

namespace tessera {
namespace {

/// Arrays of a number for each parameter, in double precision: of the optimizer, of each metric's gradient,
/// of scales and of chains. As many were counted in a run with 1.1 million parameters.
constexpr double vectors = 25;

double voxelsOf(const std::vector<ImageHeader>& images)
{
  double count = 0;
  for (const ImageHeader& header : images)
    count += static_cast<double>(header.voxelCount());
  return count;
}

template <int D>
double voxelsOf(const ImageGeometry<D>& geometry)
{
  return static_cast<double>(geometry.voxelCount());
}

/// The images of a level, and what making one of them takes beside it.
template <int D>
struct ImagesOfLevel {
  double bytes = 0, whileMade = 0;

  void add(const ImagePyramid<D>& pyramid, const ImageGeometry<D>& original, std::size_t level)
  {
    const auto steps = pyramid.stepsOfLevel(original, level);
    if (steps.empty()) // the level has the original itself
      return;
    const double voxels = voxelsOf<D>(steps.back().geometry);
    bytes += sizeof(float) * voxels;
    if (voxels < voxelsOf<D>(original)) // which is smoothed before it shrinks
      whileMade = std::max(whileMade, sizeof(float) * voxelsOf<D>(original));
  }
};

template <int D>
class StageNeed {
public:
  StageNeed(const RunRequest& request, const CheckedStage<D>& stage, const StageInput<D>& input)
      : stage_(stage), input_(input), components_(stage.prepared.components),
        parameters_(stage.prepared.parameters),
        hasInitial_(stage.number > 0 || request.initialTransform.isGiven()),
        counts_(parameterCounts<D>(stage.prepared, input))
  {
  }

  std::size_t levels() const { return parameters_.levelCount(); }

  double ofLevel(std::size_t level) const
  {
    double masks = 0;
    for (const auto* side : {&input_.fixedMasks, &input_.movingMasks})
      for (const MaskPointer<D>& mask : *side)
        masks += 2 * voxelsOf<D>(mask->geometry); // the eroded one, and what the erosion takes
    double held = coefficients(level), prepared = 0;
    for (std::size_t t = 0; t < components_.terms.size(); ++t) {
      const TermExtent extent = extentOf(t, level);
      const CostTerm<D>& term = *components_.terms[t];
      if (const auto* const own = dynamic_cast<const TermTellsMemory*>(&term)) {
        held += own->hostBytes(extent);
        prepared = std::max(prepared, own->hostBytesWhilePrepared(extent));
      } else {
        held += stripeBytes(extent.positions, extent.parameters);
      }
    }
    const ImagesOfLevel<D> images = imagesOf(level);
    const double before = level > 0 ? imagesOf(level - 1).bytes : 0; // samplers hold them meanwhile
    return leftBehind() + images.bytes + masks
           + vectors * sizeof(double) * static_cast<double>(counts_[level])
           + std::max({before + images.whileMade, held, prepared});
  }

  double ofResult() const
  {
    if (!stage_.resampler->writesFinalResult())
      return 0;
    const double coefficients = stage_.resampleInterpolator->order(0) > 1
                                    ? sizeof(double) * voxelsOf<D>(input_.moving.front()->geometry)
                                    : 0;
    return leftBehind() + coefficients
           + voxelsOf<D>(input_.fixed.front()->geometry)
                 * static_cast<double>(sizeof(float)
                                       + pixelTypeSize(stage_.resampler->resultImage().pixelType));
  }

  /// The field of --inverse-too, and the lattice in which the roots are searched. It is held twice while it
  /// is written.
  double ofInverse() const
  {
    constexpr double bytesAPoint = 12;
    const ImageGeometry<D>& grid = input_.moving.front()->geometry;
    const double voxels = voxelsOf<D>(grid);
    return leftBehind() + 2 * D * sizeof(float) * voxels
           + bytesAPoint * std::min(voxels, static_cast<double>(ForwardCells<D>::maxPoints));
  }

  /// The images of --warp, read and resampled together. One time is read as two.
  double ofWarped(const RunRequest& request) const
  {
    constexpr double ofImages = sizeof(float) + sizeof(double), resultCopies = 2;
    const ImageGeometry<D>& grid = input_.fixed.front()->geometry;
    double bytes = leftBehind() + (request.fromTime ? latticeBytes(grid) : 0);
    for (const auto* images : {&request.warped, &request.warpedLabels})
      for (const GivenImage& image : *images) {
        const ImageHeader header = headerOf(image, request.reading);
        const bool areLabels = images == &request.warpedLabels;
        const double times = header.dimension < D ? 1 : static_cast<double>(header.size.back());
        bytes += (request.fromTime || header.dimension < D ? 2 / times : 1)
                     * movingBytes(header, areLabels, areLabels ? sizeof(float) : ofImages)
                 + resultCopies * sizeof(float) * voxelsOf<D>(grid);
      }
    return bytes;
  }

private:
  /// The most that ForwardCells takes in which the roots of --from-time are searched, for motions of a tenth
  /// of the shortest side of a slice or volume: its margin goes by how far the transform moves.
  static double latticeBytes(const ImageGeometry<D>& series)
  {
    Vec<D> lengthMm;
    for (int d = 0; d < D; ++d)
      lengthMm[d] = static_cast<double>(series.size[d]) * series.spacingMm[d];
    const double marginsMm = 0.3 * *std::min_element(lengthMm.begin(), lengthMm.end() - 1),
                 edgeMm = 2 * *std::ranges::min_element(series.spacingMm);
    double points = 1;
    for (const double ofAxisMm : lengthMm)
      points *= (ofAxisMm + marginsMm) / edgeMm + 1;
    return sizeof(Vec<D>) * std::min(points, static_cast<double>(ForwardCells<D>::maxPoints));
  }

  /// Bytes of the heap that small arrays of earlier levels have taken and that stay with the process. The
  /// estimation of step sizes for random samples makes many of them.
  double leftBehind() const
  {
    const auto draws = [](const auto& sampler) { return !sampler->givesLattice(); };
    return components_.transform->linear()                    ? 2e6
           : std::ranges::any_of(components_.samplers, draws) ? 10e6
                                                              : 4e6;
  }

  ImagesOfLevel<D> imagesOf(std::size_t level) const
  {
    ImagesOfLevel<D> images;
    const auto addAll = [&](const auto& pyramids, const std::vector<ImagePointer<D>>& originals) {
      for (std::size_t i = 0; i < pyramids.size(); ++i)
        images.add(*pyramids[i], original(originals, i), level);
    };
    addAll(components_.fixedPyramids, input_.fixed);
    addAll(components_.movingPyramids, input_.moving);
    return images;
  }

  template <class Pointer>
  static const Pointer& of(const std::vector<Pointer>& all, std::size_t i)
  {
    return all[std::min(i, all.size() - 1)];
  }
  static const ImageGeometry<D>& original(const std::vector<ImagePointer<D>>& images, std::size_t i)
  {
    return of(images, i)->geometry;
  }

  double coefficients(std::size_t level) const
  {
    double bytes = 0;
    for (std::size_t i = 0; i < components_.interpolators.size(); ++i)
      if (components_.interpolators[i]->order(level) > 1)
        bytes += sizeof(float) * movingVoxels(i, level);
    return bytes;
  }

  double movingVoxels(std::size_t image, std::size_t level) const
  {
    return voxelsOf<D>(
        of(components_.movingPyramids, image)->geometryOfLevel(original(input_.moving, image), level));
  }

  TermExtent extentOf(std::size_t number, std::size_t level) const
  {
    TermExtent extent{.level = level,
                      .goesByPoints = hasInitial_ && combinationOf(parameters_) == Combination::compose,
                      .hasMasks = !input_.fixedMasks.empty() || !input_.movingMasks.empty(),
                      .movingVoxels = movingVoxels(number, level),
                      .parameters = counts_[level]};
    const ImageGeometry<D> fixed =
        of(components_.fixedPyramids, number)->geometryOfLevel(original(input_.fixed, number), level);
    extent.fixedVoxels = voxelsOf<D>(fixed);
    if (components_.terms[number]->needsSampler() && !components_.samplers.empty()) {
      extent.isLattice = components_.samplers[components_.samplerOf(number)]->givesLattice();
      const auto drawn = integerParameter("NumberOfSpatialSamples", 5000, 1, Arity::perLevel, "", "");
      extent.positions =
          extent.isLattice ? fixed.voxelCount() : static_cast<std::size_t>(parameters_.get(drawn, level));
    }
    return extent;
  }

  const CheckedStage<D>& stage_;
  const StageInput<D>& input_;
  const StageComponents<D>& components_;
  const Parameters& parameters_;
  bool hasInitial_;
  std::vector<std::size_t> counts_; // parameters of the transform, one a level
};

}

template <int D>
HostNeed hostNeed(const RunRequest& request, const std::vector<CheckedStage<D>>& stages,
                  const Inputs<D>& inputs)
{
  const InputHeaders& headers = inputs.headers();
  const bool isLinear = // surely, so that the result has an inverse without a field
      !request.initialTransform.isGiven() && std::ranges::all_of(stages, [](const CheckedStage<D>& stage) {
        return stage.prepared.components.transform->linear();
      });
  HostNeed need;
  need.images = sizeof(float) * (voxelsOf(headers.fixed) + voxelsOf(headers.moving))
                + voxelsOf(headers.fixedMasks) + voxelsOf(headers.movingMasks);
  for (const CheckedStage<D>& stage : stages) {
    const StageInput<D> input = inputs.ofStage(stage.number, stage.settings.useDirectionCosines, nullptr);
    const StageNeed<D> ofStage(request, stage, input);
    const std::string file = std::filesystem::path(stage.text.path).filename();
    const auto take = [&](double bytes, const std::string& part) {
      if (bytes <= need.work && !need.largest.empty())
        return;
      need.work = bytes;
      need.largest = part + " of " + file;
    };
    for (std::size_t level = 0; level < ofStage.levels(); ++level)
      take(ofStage.ofLevel(level), "level " + std::to_string(level));
    take(ofStage.ofResult(), "the result image");
    if (request.inverseToo && stage.number + 1 == stages.size() && !isLinear)
      take(ofStage.ofInverse(), "the inverse");
    if (stage.number + 1 == stages.size() && !(request.warped.empty() && request.warpedLabels.empty()))
      take(ofStage.ofWarped(request), "the images of --warp");
  }
  return need;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(hostNeed<D>);

}
