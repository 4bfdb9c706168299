#pragma once

#include "Core/Registration/Transform.h"

namespace tessera {

/// A chain for 3D images at every time of a series of them: (x, t) goes to (T(x), t). It is made of a file of
/// three dimensions, and never registered or written.
class EachTimeTransform final : public Transform<4> {
public:
  explicit EachTimeTransform(ChainPointer<3> chain) : chain_(std::move(chain)) {}

  std::string name() const override { return "EachTimeTransform"; }
  std::size_t parameterCount() const override { return 0; }
  void map(Context&, const Samples<4>&, std::span<const double>, const PointsOut<4>&) const override;
  /// Throws Error(unwritableOutput).
  std::vector<FileEntry> fileEntries() const override;
  /// Throws std::logic_error.
  std::vector<double> restore(const Context&, const Parameters&) override;

private:
  ChainPointer<3> chain_;
};

}
