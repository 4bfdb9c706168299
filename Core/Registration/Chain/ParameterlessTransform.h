#pragma once

#include "Core/Compute/Error.h"
#include "Core/Registration/Transform.h"

namespace tessera {

/// A transform without parameters of its own, with spatial derivatives. Programs make it; no file can name
/// it.
template <int D>
class ParameterlessTransform : public Transform<D>, public SpatialDerivatives<D> {
public:
  std::size_t parameterCount() const override { return 0; }
  const SpatialDerivatives<D>* differentiable() const override { return this; }

  /// These three throw Error(usage).
  void pullBackSpatialDerivatives(Context&, const ListSamples<D>&, std::span<const double>, const double*,
                                  const double*, std::span<double>) const override
  {
    throw refusal();
  }
  std::vector<FileEntry> fileEntries() const override { throw refusal(); }
  std::vector<double> restore(const Context&, const Parameters&) override { throw refusal(); }

private:
  Error refusal() const
  {
    return Error(ExitCode::usage, "the transform \"" + this->name()
                                      + "\": it has no parameters of its own, and no file can name it. "
                                        "Allowed: images, points, fields and their derivatives.");
  }
};

}
