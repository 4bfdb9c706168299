#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"

namespace tessera {

HistogramOnCuda::HistogramOnCuda(const Context& context, const ParzenWindows& windows,
                                 std::size_t samplesThatStay)
    : lookup_(windows), counts_(context, bins() + 1),
      scratch_(context, bins() + windows.fixed.bins + windows.moving.bins + doublesOfTerms * finishBlocks),
      table_(context, bins())
{
  reserveFixedBins(context, samplesThatStay);
}

HistogramOnCuda::~HistogramOnCuda() = default;

}
