#pragma once

#include "Core/Registration/Samples/SampleKernels.h"
#include "Core/Registration/Transform.h"

#include <memory>
#include <stdexcept>
#include <string>

namespace tessera {

/// A chain of transforms in the memory of a CUDA device, and the passes of all samples through it. Covectors
/// are D arrays of float, one value a sample. Each is multiplied by its sample's factor and the product is
/// rounded to float; null factors stand for 1. All calls only enqueue work on the context's stream. Equal
/// input gives equal bits.
template <int D>
class ChainPasses {
public:
  virtual ~ChainPasses() = default;

  /// Sets the parameters of the last transform for the passes that follow. They lie on the host if that
  /// transform is linear. Otherwise they lie on the device and must stay valid there.
  virtual void moveTo(const Context&, std::span<const double> parameters) = 0;

  /// Takes the memory that the passes need for so many samples; with a gradient also that of addMoments or
  /// pullBack. They take it if nobody did.
  virtual void reserve(const Context&, std::size_t samples, bool withGradient) = 0;

  /// Takes each sample through the chain and the moving image. For each sample it reads 4 bytes (28 for a
  /// list of points) and the moving image's support, and writes 8 bytes, and 4 D more for gradients.
  virtual void gather(Context&, const SamplesOnCuda<D>&, const MovingOnCuda<D>&, const GatherTarget<D>&) = 0;

  /// Writes T(x) of each sample in mm, D planar arrays.
  virtual void map(Context&, const SamplesOnCuda<D>&, double* mappedMm) = 0;

  /// field += T0(x) - x at the positions of a lattice (mm, D planar arrays), where T0 is the chain without
  /// its last transform. A B-spline that is added to T0 can then be evaluated as a field alone.
  virtual void addDisplacementsBefore(Context&, const SamplesOnCuda<D>&,
                                      const std::array<float*, D>& /*field*/)
  {
    throw std::logic_error("displacements before a transform that is no B-spline");
  }

  /// field += T(x) - x at the samples of a lattice or a list, where T is the whole chain.
  virtual void addDisplacements(Context&, const SamplesOnCuda<D>&, const std::array<float*, D>& field) = 0;

  /// Adds the moments of the covectors about the centre of the last transform, which is linear. Each covector
  /// stands at the point where the last transform is evaluated. `moments` lies on the device.
  virtual void addMoments(Context&, const SamplesOnCuda<D>&, const std::array<const float*, D>& /*covectors*/,
                          const float* /*factors*/, CovectorMoments<D>* /*moments*/)
  {
    throw std::logic_error("moments of a transform that is not linear");
  }

  /// gradient += J^T v for the last transform, which is not linear; gradient and covectors v are on the
  /// device.
  virtual void pullBack(Context&, const SamplesOnCuda<D>&, const std::array<const float*, D>& covectors,
                        const float* factors, std::span<double> gradient, const GradientUpdate&) = 0;
};

/// Empty if kernels can evaluate the chain; otherwise the reason, such as `a chain of 9 transforms (at most
/// 8)`.
template <int D>
std::string whyNotOnCuda(const TransformChain<D>&);

/// Empty if kernels that resample images can evaluate the chain; otherwise the reason.
template <int D>
std::string whyNotResampledOnCuda(const TransformChain<D>&);

/// The same for kernels outside of ChainPasses.
template <int D>
std::string whyNotInOtherKernels(const TransformChain<D>&);

/// Copies the parameters of the constant transforms to the device. Throws Error(device) with whyNotOnCuda.
template <int D>
std::unique_ptr<ChainPasses<D>> passesOnCuda(const Context&, const TransformChain<D>&);

/// The chain as one linear map if all its transforms are linear, with `parameters` for its last one; a null
/// chain is the identity.
template <int D>
std::optional<AffineMap<D>> asLinearMap(const TransformChain<D>*, std::span<const double> parameters);

/// The context of a chain's parameters and their gradient while a level runs on `context`. The few parameters
/// of a linear transform stay on the host, so that the optimizer's steps need no launches of kernels; all
/// others are on the device.
template <int D>
Context vectorContext(const Context& context, const Transform<D>& last);

}
