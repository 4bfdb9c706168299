#include "Core/Registration/Chain/AddedTransforms.h"

#include "Core/Compute/Error.h"

namespace tessera {
namespace {

[[noreturn]] void failWithoutParameters()
{
  throw Error(ExitCode::usage, "transforms that are added after others: they have no parameters as one "
                               "transform. Allowed: images, points, fields and their derivatives.");
}

}

template <int D>
void AddedTransforms<D>::map(Context& context, const Samples<D>& samples, std::span<const double>,
                             const PointsOut<D>& out) const
{
  PointBatch<D> storage;
  mapChain<D>(context, *chain_, asList<D>(samples, storage), out);
}

template <int D>
void AddedTransforms<D>::spatialDerivatives(Context& context, const Samples<D>& samples,
                                            std::span<const double>, double* jacobian, double* hessian) const
{
  PointBatch<D> storage;
  chainSpatialDerivatives<D>(context, *chain_, asList<D>(samples, storage), jacobian, hessian);
}

template <int D>
void AddedTransforms<D>::pullBackSpatialDerivatives(Context&, const Samples<D>&, std::span<const double>,
                                                    const double*, const double*, std::span<double>) const
{
  failWithoutParameters();
}

template <int D>
std::vector<FileEntry> AddedTransforms<D>::fileEntries() const
{
  failWithoutParameters();
}

template <int D>
std::vector<double> AddedTransforms<D>::restore(const Parameters&)
{
  failWithoutParameters();
}

template class AddedTransforms<2>;
template class AddedTransforms<3>;

}
