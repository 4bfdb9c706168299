#pragma once

#include "Components/Transforms/BSplineTransform.h"
#include "Components/Transforms/Shared/StackTransform.h"

namespace tessera {

/// A BSplineTransform of slices for each time of a series, all on one grid (Metz et al., "Nonrigid
/// registration of dynamic medical imaging data using nD+t B-splines and a groupwise optimization approach",
/// 2011).
template <int D>
class BSplineStackTransform final : public StackTransform<D, BSplineTransform> {
public:
  explicit BSplineStackTransform(const Parameters&);
  static const ComponentDescription& description();

  std::string name() const override { return description().name; }

private:
  std::vector<FileEntry> modelEntries() const override;
  void restoreModel(const Parameters& transformFile) override { this->sub_.restoreGrid(transformFile); }
};

}
