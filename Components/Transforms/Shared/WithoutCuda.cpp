#include "Components/Transforms/Shared/ExactBendingEnergy.h"
#include "Core/Compute/Error.h"

// In place of this folder's .cu files in a build without the CUDA toolkit.
namespace tessera {

template <int D>
void ExactBendingEnergy<D>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>, double*)
{
  throw Error(ExitCode::device, "exact bending energy: this build has no CUDA. Allowed: (Device \"cpu\").");
}

template void ExactBendingEnergy<2>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>,
                                                    double*);
template void ExactBendingEnergy<3>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>,
                                                    double*);

}
