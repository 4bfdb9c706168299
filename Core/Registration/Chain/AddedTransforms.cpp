#include "Core/Registration/Chain/AddedTransforms.h"

namespace tessera {

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

template class AddedTransforms<2>;
template class AddedTransforms<3>;

}
