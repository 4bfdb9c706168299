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

bool HistogramOnCuda::reserveFixedBins(const Context& context, std::size_t samples)
{
  if (lookup_.windows.fixed.order != 0)
    return false;
  grown(context, keptWords_, (isWide() ? 2 : 1) * ((samples + 3) / 4));
  return true;
}

}
