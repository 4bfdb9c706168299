#include "Core/Runs/Transforming/Determinants.h"

#include "Core/Compute/Error.h"
#include "Core/Registration/Chain/AddedTransforms.h"
#include "Core/Registration/Inverse/InverseTransform.h"

#include <cmath>
#include <limits>

namespace tessera {

template <int D>
double linearDeterminant(const TransformChain<D>& chain)
{
  double product = 1;
  for (const TransformChain<D>* part = &chain; part; part = part->initial.get()) {
    if ((part->initial && part->combination == Combination::add)
        || dynamic_cast<const AddedTransforms<D>*>(part->transform.get()))
      failAs(
          ExitCode::usage, "-jac nonlinear",
          "(HowToCombineTransforms \"Add\"): the determinants of transforms that are added do not multiply",
          "Compose, or -jac all");
    if (const LinearForm<D>* linear = part->transform->linear())
      product *= determinant(linear->pointMap(part->parameters).matrix);
    else if (const auto* inverse = dynamic_cast<const InverseTransform<D>*>(part->transform.get()))
      product /= linearDeterminant<D>(inverse->inverted());
  }
  return product;
}

DeterminantFigures figuresOf(const std::vector<float>& determinants)
{
  DeterminantFigures figures;
  std::vector<float> values;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t v = 0; v < determinants.size(); ++v) {
    const float value = determinants[v];
    if (std::isnan(value))
      continue;
    values.push_back(value);
    figures.folded += value <= 0;
    if (value < least) {
      least = value;
      figures.leastAt = v;
    }
  }
  figures.voxels = values.size();
  static_cast<OrderStatistics&>(figures) = orderStatistics(values);
  return figures;
}

TESSERA_INSTANTIATE_FUNCTIONS(linearDeterminant<D>);

}
