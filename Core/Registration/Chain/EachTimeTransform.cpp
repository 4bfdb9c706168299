#include "Core/Registration/Chain/EachTimeTransform.h"

#include "Core/Registration/Samples/TimeSlices.h"

namespace tessera {

void EachTimeTransform::map(Context& context, const ListSamples<4>& points, std::span<const double>,
                            const PointsOut<4>& out) const
{
  const auto& [x, y, z, t] = points.pointMm;
  if (out[3] != t)
    std::copy_n(t, points.count, out[3]);
  mapChain<3>(context, *chain_, {{x, y, z}, points.count}, {out[0], out[1], out[2]});
}

void EachTimeTransform::spatialDerivatives(Context& context, const ListSamples<4>& points,
                                           std::span<const double>, double* jacobian, double* hessian) const
{
  const auto& [x, y, z, t] = points.pointMm;
  const std::size_t n = points.count;
  std::vector<double> first(9 * n), second(hessian ? 3 * symmetricCount(3) * n : 0);
  chainSpatialDerivatives<3>(context, *chain_, {{x, y, z}, n}, first.data(),
                             hessian ? second.data() : nullptr);
  std::fill_n(jacobian, 16 * n, 0.0);
  std::fill_n(jacobian + 15 * n, n, 1.0);
  forEachJacobianEntry<4>(
      [&](std::size_t e, std::size_t s) { std::copy_n(first.data() + s * n, n, jacobian + e * n); });
  if (!hessian)
    return;
  std::fill_n(hessian, 4 * symmetricCount(4) * n, 0.0);
  forEachHessianEntry<4>(
      [&](std::size_t e, std::size_t s) { std::copy_n(second.data() + s * n, n, hessian + e * n); });
}

}
