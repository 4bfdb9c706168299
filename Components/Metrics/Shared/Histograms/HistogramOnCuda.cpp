#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"

namespace tessera {

HistogramOnCuda::HistogramOnCuda(const Context& context, const ParzenWindows& windows)
    : lookup_(windows), counts_(context, bins() + 1),
      scratch_(context, bins() + windows.fixed.bins + windows.moving.bins + doublesOfTerms * finishBlocks),
      table_(context, bins())
{
}

HistogramOnCuda::~HistogramOnCuda() = default;

}
