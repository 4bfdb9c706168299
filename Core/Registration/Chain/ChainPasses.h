#pragma once

#include "Core/Registration/Samples/SampleKernels.h"
#include "Core/Registration/Transform.h"

#include <memory>
#include <string>

namespace tessera {

/// A chain of transforms in the memory of a CUDA device, and the passes over samples that go through it.
/// Covectors are arrays of float, one a dimension, of as many values as there are samples; each is multiplied
/// by its sample's factor, the product rounded to float. Null factors: all are 1. All calls only enqueue work
/// on the context's stream. Equal input gives equal bits.
template <int D>
class ChainPasses {
public:
  virtual ~ChainPasses() = default;

  /// Sets the parameters of the last transform for the passes that follow. They lie on the host if it is
  /// linear, else on the device, where they must stay.
  virtual void moveTo(const Context&, std::span<const double> parameters) = 0;

  /// Takes each sample through the chain and the moving image. Bytes a sample: reads 4 (and 24 of a list) and
  /// the moving image's support, writes 8, and 4 D for gradients.
  virtual void gather(Context&, const SamplesOnCuda<D>&, const MovingOnCuda<D>&, const GatherTarget<D>&) = 0;

  /// field += T0(x) - x at the positions of a lattice (mm, D planar arrays), where T0 is the chain without
  /// its last transform: what comes before an added field needs no chain then.
  virtual void addDisplacementsBefore(Context&, const SamplesOnCuda<D>&,
                                      const std::array<float*, D>& field) = 0;

  /// moments += those of the covectors about the centre of the last transform, which is linear, at the points
  /// where it is asked. `moments` lies on the device.
  virtual void addMoments(Context&, const SamplesOnCuda<D>&, const std::array<const float*, D>& covectors,
                          const float* factors, CovectorMoments<D>* moments) = 0;

  /// gradient += J^T v of the last transform, which is not linear; both on the device.
  virtual void pullBack(Context&, const SamplesOnCuda<D>&, const std::array<const float*, D>& covectors,
                        const float* factors, std::span<double> gradient, const GradientUpdate&) = 0;
};

/// Empty if kernels can evaluate the chain; otherwise what they cannot: `a chain of 9 transforms (at most
/// 8)`.
template <int D>
std::string whyNotOnCuda(const TransformChain<D>&);

/// Copies the parameters of the constant transforms. Throws Error(device) with whyNotOnCuda.
template <int D>
std::unique_ptr<ChainPasses<D>> passesOnCuda(const Context&, const TransformChain<D>&);

/// Bytes of device memory that the chain takes.
template <int D>
double chainBytesOnCuda(const TransformChain<D>&);

/// The chain as one linear map if all its transforms are linear, with `parameters` for its last one; a null
/// chain is the identity.
template <int D>
std::optional<AffineMap<D>> asLinearMap(const TransformChain<D>*, std::span<const double> parameters);

/// Where a chain's parameters and their gradients are kept while a level runs on `context`: those few of a
/// linear transform on the host, so that the optimizer's steps cost no launches; all others on the device.
template <int D>
Context vectorContext(const Context& context, const Transform<D>& last);

}
