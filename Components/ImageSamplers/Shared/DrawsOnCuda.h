#pragma once

#include "Components/ImageSamplers/Shared/RandomDraws.h"
#include "Components/ImageSamplers/Shared/RandomPlaces.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.h"

#include <memory>
#include <string>
#include <utility>

namespace tessera {

/// The arrays of a random sampler on a CUDA device for a level: the fixed image, its mask and the samples.
/// The samples are those of the CPU. Points have equal bits, and so have intensities if the CPU computes them
/// in double precision or by the operations of InterpolateAtPoint.
///
/// A draw is one kernel, which replaces the samples in place. The host waits for it only if there is a mask,
/// because the number of tries must then be checked. Throws the errors of AttemptLimit::placeAll.
template <int D>
class DrawsOnCuda {
public:
  /// `mask` is null if there is none, and for samplers that keep a list of its voxels.
  DrawsOnCuda(const Context& context, const ImagePointer<D>& fixed, const MaskPointer<D>& mask,
              std::size_t samples, std::string sampler)
      : fixed_(voxelsOnCuda<D>(context, fixed)), size_(fixed->geometry.size),
        pointFromIndex_(fixed->geometry.pointFromIndex()), samples_(std::make_shared<PointsOnCuda<D>>()),
        sampler_(std::move(sampler))
  {
    if (mask) {
      maskVoxels_ = voxelsOnCuda<D>(context, mask);
      mask_ = MaskOnCuda<D>(*mask, *maskVoxels_);
      tries_ = Buffer<unsigned long long>(context, 1);
    }
    for (auto& axis : samples_->mm)
      axis = Buffer<double>(context, samples);
    samples_->fixed = Buffer<float>(context, samples);
  }

  PointList<D> samples() const
  {
    PointList<D> list;
    list.onCuda = samples_;
    return list;
  }
  /// The fixed image's voxels as an interpolator of order 0 or 1; see drawPoints.
  const float* fixedVoxels() const { return fixed_->span().data(); }

  /// Draws voxels of a box that lies in the image.
  TESSERA_CUDA_ONLY void drawVoxels(Context&, const Draw&, const VoxelBox<D>&);
  /// Draws voxels from a list of offsets on the device, or from the whole image if the list is empty.
  TESSERA_CUDA_ONLY void drawVoxels(Context&, const Draw&, std::span<const std::size_t> offsets);
  /// Draws points of a box in [0, size - 1]. Their intensities are computed in double from the image for
  /// order 0 or 1, and from a spline's coefficients for higher orders.
  TESSERA_CUDA_ONLY void drawPoints(Context&, const Draw&, const IndexBox<D>&,
                                    const InterpolatorOnCuda<D>& fixed);

private:
  template <class Place>
  void draw(Context&, const Draw&, const Place&);

  std::shared_ptr<const Buffer<float>> fixed_;
  Size<D> size_;
  AffineMap<D> pointFromIndex_;
  std::shared_ptr<const Buffer<std::uint8_t>> maskVoxels_;
  MaskOnCuda<D> mask_;
  std::shared_ptr<PointsOnCuda<D>> samples_;
  Buffer<unsigned long long> tries_; // tries of all samples of a draw together
  std::string sampler_;
};

}
