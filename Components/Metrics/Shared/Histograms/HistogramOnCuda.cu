#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"

#include "Components/Metrics/Shared/Histograms/HistogramLaunch.cuh"
#include "Components/Metrics/Shared/Histograms/HistogramSlopes.cuh"

namespace tessera {
namespace {

int attributeOf(const Context& context, cudaDeviceAttr attribute)
{
  int value = 0;
  checkCuda(cudaDeviceGetAttribute(&value, attribute, context.device.ordinal),
            "asking for a device's attribute");
  return value;
}

}

void HistogramOnCuda::begin(Context& context)
{
  if (multiprocessors_ == 0) {
    multiprocessors_ = attributeOf(context, cudaDevAttrMultiProcessorCount);
    sharedBytes_ = attributeOf(context, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  }
  context.stream->fill(counts_.span().data(), 0, counts_.size() * sizeof(unsigned long long));
}

void HistogramOnCuda::slopes(Context& context, const IntensityPairs& pairs, float* slopes) const
{
  if (pairs.count == 0)
    return;
  constexpr int maxThreads = 512, fewThreads = 64, blocksAMultiprocessor = 2;
  constexpr std::size_t maxSharedBytes = 48 << 10, fewestSamplesForShared = 262144;
  const std::size_t tableBytes = bins() * sizeof(float);
  const bool large = pairs.count >= fewestSamplesForShared, shared = large && tableBytes <= maxSharedBytes;
  const int threads = large ? maxThreads : fewThreads;
  const unsigned blocks = blocksFor(ceilDiv<std::size_t>(pairs.count, 4), threads,
                                    multiprocessors_ * blocksAMultiprocessor * (maxThreads / threads));
  const KeptFixedBins kept = keptFor(pairs);
  const cudaStream_t stream = cudaStreamOf(context);
  parzen::withOrders(lookup_.windows, [&]<int Fixed, int Moving>() {
    const auto write = [&]<class Pairs>(const Pairs& fours) {
      const auto kernel = shared ? parzen::tableSlopes<Fixed, Moving, true, Pairs>
                                 : parzen::tableSlopes<Fixed, Moving, false, Pairs>;
      kernel<<<blocks, threads, shared ? tableBytes : 0, stream>>>(lookup_, fours, table_.span().data(),
                                                                   slopes, multipleOf16(slopes));
    };
    if (Fixed > 0 || kept.words == nullptr)
      write(FourPairs(pairs));
    else if constexpr (Fixed == 0)
      kept.wide ? write(KeptPairs<true>(pairs, kept)) : write(KeptPairs<false>(pairs, kept));
    checkLaunch("slopes of a histogram");
  });
}

}
