#pragma once

#include "Core/Registration/Chain/ParameterlessTransform.h"

#include <algorithm>

namespace tessera {

/// A chain for 3D images at every time of a series of them: (x, t) goes to (T(x), t). It is made of a file of
/// three dimensions, and never registered or written.
class EachTimeTransform final : public ParameterlessTransform<4> {
public:
  explicit EachTimeTransform(ChainPointer<3> chain) : chain_(std::move(chain)) {}

  std::string name() const override { return "EachTimeTransform"; }
  void map(Context&, const Samples<4>&, std::span<const double>, const PointsOut<4>&) const override;
  void spatialDerivatives(Context&, const Samples<4>&, std::span<const double> parameters, double* jacobian,
                          double* hessian) const override;
  bool hasHessian() const override { return chainHasHessian<3>(*chain_); }

private:
  ChainPointer<3> chain_;
};

/// Every point of a series at one time, mm: (x, t) goes to (x, time).
template <int D>
class AtOneTime final : public ParameterlessTransform<D> {
public:
  explicit AtOneTime(double time) : time_(time) {}

  std::string name() const override { return "AtOneTime"; }
  void map(Context&, const Samples<D>& samples, std::span<const double>,
           const PointsOut<D>& out) const override
  {
    PointBatch<D> storage;
    const ListSamples<D> points = asList<D>(samples, storage);
    for (int d = 0; d + 1 < D; ++d)
      if (out[d] != points.pointMm[d])
        std::copy_n(points.pointMm[d], points.count, out[d]);
    std::fill_n(out[D - 1], points.count, time_);
  }
  void spatialDerivatives(Context&, const Samples<D>& samples, std::span<const double>, double* jacobian,
                          double*) const override
  {
    const std::size_t count = asList<D>(samples).count;
    std::fill_n(jacobian, D * D * count, 0.0);
    for (int d = 0; d + 1 < D; ++d)
      std::fill_n(jacobian + (D + 1) * d * count, count, 1.0);
  }
  bool hasHessian() const override { return false; }

private:
  double time_;
};

}
