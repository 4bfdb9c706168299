#pragma once

#include "Components/Transforms/EulerTransform.h"
#include "Components/Transforms/Shared/LinearStackTransform.h"

namespace tessera {

/// An EulerTransform of slices for each time of a series, all about one centre.
template <int D>
class EulerStackTransform final : public LinearStackTransform<D, EulerTransform> {
public:
  explicit EulerStackTransform(const Parameters& parameters)
      : LinearStackTransform<D, EulerTransform>(parameters)
  {
  }
  static const ComponentDescription& description();

  std::string name() const override { return description().name; }
};

}
