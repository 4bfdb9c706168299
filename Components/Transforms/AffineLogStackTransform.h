#pragma once

#include "Components/Transforms/AffineLogTransform.h"
#include "Components/Transforms/Shared/LinearStackTransform.h"

namespace tessera {

/// An AffineLogTransform of slices for each time of a series, all about one centre.
template <int D>
class AffineLogStackTransform final : public LinearStackTransform<D, AffineLogTransform> {
public:
  explicit AffineLogStackTransform(const Parameters& parameters)
      : LinearStackTransform<D, AffineLogTransform>(parameters)
  {
  }
  static const ComponentDescription& description();

  std::string name() const override { return description().name; }
};

}
