#include "Core/Compute/Error.h"
#include "Core/Registration/OptimizableTransform.h"

namespace tessera {

template <int D>
ItkTransform Transform<D>::itkTransform(std::span<const double>) const
{
  failAs(ExitCode::unwritableOutput, name(), "ITK's transform files: it is not written to them",
         "a text file of parameters");
}

template <int D>
std::vector<double> OptimizableTransform<D>::takeOver(Context&, const TransformStart<D>&, std::size_t,
                                                      const Transform<D>&, std::span<const double>)
{
  failAs(ExitCode::usage, this->name(), "it cannot go on from parameters of an earlier run",
         "a B-spline, or a linear transform");
}

template <int D>
const OptimizableTransform<D>& optimizable(const Transform<D>& transform)
{
  if (const auto* found = dynamic_cast<const OptimizableTransform<D>*>(&transform))
    return *found;
  failAs(ExitCode::usage, transform.name(), "asked for derivatives by its parameters: it has none",
         "to use it as an initial transform, or in a transform parameter file");
}

template <int D>
OptimizableTransform<D>& optimizable(Transform<D>& transform)
{
  return const_cast<OptimizableTransform<D>&>(optimizable(std::as_const(transform)));
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template ItkTransform Transform<D>::itkTransform(std::span<const double>) const;                           \
  template class OptimizableTransform<D>;                                                                    \
  template OptimizableTransform<D>& optimizable(Transform<D>&);                                              \
  template const OptimizableTransform<D>& optimizable(const Transform<D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
TESSERA_INSTANTIATE(4)
#undef TESSERA_INSTANTIATE

}
