#include "Components/Transforms/BSplineStackTransform.h"

#include "Components/Transforms/Shared/BSplineGridFile.h"

namespace tessera {
namespace {

/// The rows of BSplineTransform but those that a grid in slices cannot use.
template <int D>
std::vector<ParameterInfo> rowsOfSlices()
{
  std::vector<ParameterInfo> rows = BSplineTransform<D - 1>::description().parameters;
  std::erase_if(rows, [](const ParameterInfo& row) { return row.name == "FieldInterpolator"; });
  for (ParameterInfo& row : rows)
    if (row.name == bsplineparameters::useCyclicTransform().name)
      row.meaning = "only \"false\": no axis of a slice is time";
  return rows;
}

}

template <int D>
const ComponentDescription& BSplineStackTransform<D>::description()
{
  static const ComponentDescription description{
      "Transform", "BSplineStackTransform",
      "a BSplineTransform in space for each time of a series (the last axis is time)", rowsOfSlices<D>()};
  return description;
}

template <int D>
BSplineStackTransform<D>::BSplineStackTransform(const Parameters& parameters)
    : StackTransform<D, BSplineTransform>(parameters)
{
  if (parameters.get(bsplineparameters::useCyclicTransform()))
    parameters.fail(bsplineparameters::useCyclicTransform().name,
                    "the grids of (Transform \"BSplineStackTransform\") have no axis of time",
                    "Allowed: \"false\", or (Transform \"BSplineTransform\")");
}

template <int D>
std::vector<FileEntry> BSplineStackTransform<D>::modelEntries() const
{
  std::vector<FileEntry> entries = gridEntries(this->sub_.grid());
  entries.pop_back(); // UseCyclicTransform
  return entries;
}

// Series are images of two or three dimensions over time.
template class BSplineStackTransform<3>;
template class BSplineStackTransform<4>;

}
