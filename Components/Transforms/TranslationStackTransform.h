#pragma once

#include "Components/Transforms/Shared/LinearStackTransform.h"
#include "Components/Transforms/TranslationTransform.h"

namespace tessera {

/// A TranslationTransform of slices for each time of a series.
template <int D>
class TranslationStackTransform final : public LinearStackTransform<D, TranslationTransform> {
public:
  explicit TranslationStackTransform(const Parameters& parameters)
      : LinearStackTransform<D, TranslationTransform>(parameters)
  {
  }
  static const ComponentDescription& description();

  std::string name() const override { return description().name; }
};

}
