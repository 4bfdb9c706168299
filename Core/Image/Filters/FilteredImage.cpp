#include "Core/Image/Filters/FilteredImage.h"

#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Image/Voxels/VolumeOnCuda.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include <algorithm>

namespace tessera {
namespace {

template <int D>
bool smooths(const FilterStep<D>& step)
{
  return std::any_of(step.sigmaVoxels.begin(), step.sigmaVoxels.end(),
                     [](double sigma) { return sigma > 0; });
}

template <int D>
bool taps(const FilterStep<D>& step, const Size<D>& size)
{
  for (int d = 0; d < D; ++d)
    if (!step.taps[d].isIdentity() || step.taps[d].count != size[d])
      return true;
  return false;
}

template <int D>
ImagePointer<D> filteredOnCpu(Context& context, const ImagePointer<D>& original,
                              const std::vector<FilterStep<D>>& steps)
{
  ImagePointer<D> image = original;
  for (const FilterStep<D>& step : steps) {
    if (smooths<D>(step))
      image = std::make_shared<Image<D>>(smoothRecursively<D>(context, *image, step.sigmaVoxels, step.order));
    if (taps<D>(step, image->geometry.size) || image->geometry != step.geometry)
      image = std::make_shared<Image<D>>(applyTaps<D>(context, *image, step.taps, step.geometry));
  }
  return image;
}

}

template <int D>
FilterStep<D> FilterStep<D>::smoothing(const ImageGeometry<D>& geometry, const Vec<D>& sigmaVoxels,
                                       AxisOrder order)
{
  FilterStep step{sigmaVoxels, order, {}, geometry};
  for (int d = 0; d < D; ++d)
    step.taps[d] = {{1.0}, 0, 1, geometry.size[d]};
  return step;
}

template <int D>
ImagePointer<D> filteredImage(Context& context, const ImagePointer<D>& original,
                              const std::vector<FilterStep<D>>& steps, HeldOnCuda* held,
                              HeldOnCuda* originals)
{
  if (steps.empty())
    return original;
  if (!context.onCuda()) {
    hostVoxels<D>(original);
    return filteredOnCpu<D>(context, original, steps);
  }
  const bool counts = onlyCountsMemory(context);
  if (!counts) {
    const double usable = usableDeviceMemory(context);
    const bool isThere = areVoxelsOnCuda<D>(context, original);
    const auto thereBytes =
        isThere ? static_cast<double>(original->geometry.voxelCount() * sizeof(float)) : 0;
    if (filteredImageDeviceBytes<D>(original->geometry.size, steps, originals || isThere) - thereBytes
        > usable) {
      hostVoxels<D>(original);
      return filteredInSlabs<D>(context, *original, steps, usable);
    }
  }
  const MemoryPart part(context, "images");
  auto there = voxelsOnCuda<D>(context, original);
  if (originals && std::find(originals->begin(), originals->end(), there) == originals->end())
    originals->push_back(there);
  VolumeOnCuda<D> volume(context, original->geometry.size, std::move(there));
  for (const FilterStep<D>& step : steps)
    for (int axis = D - 1; axis >= 0; --axis)
      volume.filter(axis, step.sigmaVoxels[axis], step.taps[axis]);
  Buffer<float> voxels = volume.releaseVoxels();
  if (!counts && ownVoxelsOnCuda<D>(context.device, original)
      && isSmallOnDevice(context, static_cast<double>(voxels.span().size_bytes()))) {
    ImagePointer<D> own = imageOnCuda<D>(context, steps.back().geometry,
                                         std::make_shared<const Buffer<float>>(std::move(voxels)));
    if (held)
      held->push_back(voxelsOnCuda<D>(context, own));
    return own;
  }
  const auto image = std::make_shared<Image<D>>(Image<D>{steps.back().geometry, {}});
  if (!counts) {
    image->voxels = largeVector<float>(context, voxels.size());
    copyLargeToHost(context, image->voxels.data(), voxels.span().data(), voxels.span().size_bytes());
  }
  const auto shared = shareVoxelsOnCuda<D>(context, image, std::move(voxels));
  if (held)
    held->push_back(shared);
  return image;
}

template <int D>
double filteredImageDeviceBytes(const Size<D>& size, const std::vector<FilterStep<D>>& steps,
                                bool keepsOriginal)
{
  MemoryCount count;
  ImageGeometry<D> geometry;
  geometry.size = size;
  HeldOnCuda originals;
  filteredImage<D>(count.context(), std::make_shared<Image<D>>(Image<D>{geometry, {}}), steps, nullptr,
                   keepsOriginal ? &originals : nullptr);
  return takePeakDeviceMemory(count.context());
}

TESSERA_INSTANTIATE_CLASS_TO_4(FilterStep);
TESSERA_INSTANTIATE_FUNCTIONS_TO_4(filteredImage<D>, filteredImageDeviceBytes<D>);

namespace {

/// The mean place of the first voxel's taps, in voxels of the axis before the step.
double placeOfFirst(const AxisTaps& taps)
{
  double sum = 0, moment = 0;
  for (std::size_t i = 0; i < taps.weights.size(); ++i) {
    sum += taps.weights[i];
    moment += taps.weights[i] * static_cast<double>(i);
  }
  return static_cast<double>(taps.first) + (sum == 0 ? 0 : moment / sum);
}

}

template <int D>
Vec<D> contentShiftMm(const ImageGeometry<D>& original, const std::vector<FilterStep<D>>& steps)
{
  Vec<D> shiftMm{};
  if (steps.empty())
    return shiftMm;
  const Vec<D> origin = original.indexFromPoint()(steps.back().geometry.originMm);
  for (int d = 0; d < D; ++d) {
    double voxel = 0;
    for (std::size_t step = steps.size(); step-- > 0;)
      voxel = placeOfFirst(steps[step].taps[d]) + static_cast<double>(steps[step].taps[d].step) * voxel;
    shiftMm[d] = (origin[d] - voxel) * original.spacingMm[d];
  }
  return shiftMm;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(contentShiftMm<D>);

}
