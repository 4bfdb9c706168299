#pragma once

#include "Components/Metrics/Shared/Histograms/EntropyKernels.cuh"
#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"

namespace tessera {

template <class Terms>
void EntropyOnCuda<Terms>::finish(Context& context, MetricResult* result)
{
  static_assert(parzen::finishBlocks == finishBlocks);
  const ParzenAxis& fixed = lookup_.windows.fixed;
  const ParzenAxis& moving = lookup_.windows.moving;
  double* const scratch = scratch_.span().data();
  double* const marginalsOfMoving = scratch + bins() + fixed.bins;
  const parzen::EntropyArrays<Terms> arrays{counts_.span().data(),
                                            counts_.span().data() + bins(),
                                            fixed.bins,
                                            moving.bins,
                                            moving.binSize,
                                            moving.order > 0,
                                            scratch + bins(),
                                            marginalsOfMoving,
                                            scratch,
                                            reinterpret_cast<Terms*>(marginalsOfMoving + moving.bins),
                                            table_.span().data(),
                                            result};
  const cudaStream_t stream = cudaStreamOf(context);
  if (bins() <= parzen::maxBinsOfOneBlock) {
    parzen::allOfFinish<<<1, parzen::finishThreads, 0, stream>>>(arrays);
  } else {
    parzen::marginals<<<parzen::finishBlocks, parzen::finishThreads, 0, stream>>>(arrays);
    parzen::weights<<<parzen::finishBlocks, parzen::finishThreads, 0, stream>>>(arrays);
    parzen::table<<<parzen::finishBlocks, parzen::finishThreads, 0, stream>>>(arrays);
  }
  checkLaunch("entropies of a histogram");
}

}
