#pragma once

#include "Core/Registration/Chain/ParameterlessTransform.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace tessera {

/// A chain for 3D images at every time of a series of them: (x, t) goes to (T(x), t). It is made of a file of
/// three dimensions, and never registered or written.
class EachTimeTransform final : public ParameterlessTransform<4> {
public:
  explicit EachTimeTransform(ChainPointer<3> chain) : chain_(std::move(chain)) {}

  std::string name() const override { return "EachTimeTransform"; }
  void map(Context&, const ListSamples<4>&, std::span<const double>, const PointsOut<4>&) const override;
  void spatialDerivatives(Context&, const ListSamples<4>&, std::span<const double> parameters,
                          double* jacobian, double* hessian) const override;
  bool hasHessian() const override { return chainHasHessian<3>(*chain_); }

private:
  ChainPointer<3> chain_;
};

/// Carries what lies at one time of a series to all times by T of a groupwise result: y of the time t goes
/// to T(x, time), where T(x, t) = y. Points that are at that time already stay, also where the inverse leads
/// beyond the grid of a spline, so that no root is found. Programs make it; no file can name it.
template <int D>
class FromTimeTransform final : public Transform<D> {
public:
  /// Points are at the time if they are nearer to it than half of the spacing; both in mm.
  FromTimeTransform(ChainPointer<D> inverse, ChainPointer<D> chain, double time, double spacing)
      : inverse_(std::move(inverse)), chain_(std::move(chain)), time_(time), spacing_(spacing)
  {
  }

  std::string name() const override { return "FromTimeTransform"; }
  std::size_t parameterCount() const override { return 0; }
  std::vector<FileEntry> fileEntries() const override { return {}; }
  std::vector<double> restore(const Context&, const Parameters&) override { return {}; }
  const TransformChain<D>& inverse() const { return *inverse_; }
  void map(Context& context, const ListSamples<D>& points, std::span<const double>,
           const PointsOut<D>& out) const override
  {
    std::vector<std::pair<std::size_t, Vec<D>>> staying; // `out` may be the same arrays
    for (std::size_t i = 0; i < points.count; ++i)
      if (std::abs(points.pointMm[D - 1][i] - time_) < spacing_ / 2)
        staying.emplace_back(i, points.point(i));
    mapChain<D>(context, *inverse_, points, out);
    std::fill_n(out[D - 1], points.count, time_);
    ListSamples<D> onMean{.count = points.count};
    std::ranges::copy(out, onMean.pointMm.begin());
    mapChain<D>(context, *chain_, onMean, out);
    for (const auto& [i, pointMm] : staying)
      for (int d = 0; d < D; ++d)
        out[d][i] = pointMm[d];
  }

private:
  ChainPointer<D> inverse_, chain_;
  double time_, spacing_;
};

}
