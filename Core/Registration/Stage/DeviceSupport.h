#pragma once

#include "Core/Registration/Stage/PreparedStage.h"

#include <string>

namespace tessera {

/// Empty if a whole stage runs on CUDA; otherwise which of its parts do not: `the metric "..." has no CUDA
/// form`. `initial` is the transform before the stage's own, null for none.
template <int D>
std::string whyStageNotOnCuda(const PreparedStage<D>&, const ChainPointer<D>& initial);

}
