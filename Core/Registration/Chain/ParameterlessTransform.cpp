#include "Core/Registration/Chain/ParameterlessTransform.h"

#include "Core/Compute/Error.h"

namespace tessera {
namespace {

template <int D>
[[noreturn]] void fail(const Transform<D>& transform)
{
  throw Error(ExitCode::usage, "the transform \"" + transform.name()
                                   + "\": it has no parameters of its own, and no file can name it. Allowed: "
                                     "images, points, fields and their derivatives.");
}

}

template <int D>
void ParameterlessTransform<D>::pullBackSpatialDerivatives(Context&, const Samples<D>&,
                                                           std::span<const double>, const double*,
                                                           const double*, std::span<double>) const
{
  fail<D>(*this);
}

template <int D>
std::vector<FileEntry> ParameterlessTransform<D>::fileEntries() const
{
  fail<D>(*this);
}

template <int D>
std::vector<double> ParameterlessTransform<D>::restore(const Context&, const Parameters&)
{
  fail<D>(*this);
}

TESSERA_INSTANTIATE_CLASS(ParameterlessTransform);

}
