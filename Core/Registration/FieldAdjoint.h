#pragma once
#include "Core/Registration/FieldInterpolator.h"
namespace tessera {
enum class GradientSummation { fusedMultiplyAdd, kahan, pichat, doublePrecision };
template <int D>
void pullBackAlignedField(Context&, const AlignedField<D>&, const std::array<const float*, D>&, GradientSummation, double*) { throw 1; }
}
