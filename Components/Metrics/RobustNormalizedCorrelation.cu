#include "Components/Metrics/Shared/RobustCorrelationOnCuda.h"

#include "Components/Metrics/Shared/SumsOnCuda.cuh"

namespace tessera {
namespace {

using sums::addBlocks, sums::threads;

/// Each block writes the sums over its pairs: every stride-th one. Reads 8 bytes a pair.
template <LineCurvature Kind>
__global__ void __launch_bounds__(threads)
    sumPairs(PairUnits units, const RobustLine* known, IntensityPairs pairs, std::size_t stride,
             RobustLineSums* ofBlocks)
{
  const RobustLine line = *known;
  RobustLineSums own;
  forEachPair(pairs, stride, [&](float fixed, float moving) {
    own.add(robustLineTerms(line, Kind, units.fixed(fixed), units.moving(moving)));
  });
  own = sumOfBlock(own);
  if (threadIdx.x == 0)
    ofBlocks[blockIdx.x] = own;
}

struct BeginNext {
  RobustLineSearch search;
  RobustLine* line;
  int stepDone;

  __device__ void operator()(const RobustLineSums& sums) const { search.beginNext(*line, sums, stepDone); }
};

struct Advance {
  RobustLine* line;

  __device__ void operator()(const RobustLineSums& sums) const { advanceLine(*line, sums); }
};

struct Finish {
  RobustLine* line;
  MetricResult* result;

  __device__ void operator()(const RobustLineSums& sums) const
  {
    *result = {finishLine(*line, sums), static_cast<unsigned long long>(sums.pairs)};
  }
};

/// Reads 8 bytes a pair and writes 4.
__global__ void __launch_bounds__(threads)
    lineSlopes(PairUnits units, const RobustLine* known, FourPairs pairs, float* slopes, bool slopesAligned)
{
  const RobustLine line = *known;
  const auto slopesOfFour = [&](const FourPairs::Four& loaded, float(&found)[4]) {
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      const float fixed = loaded.fixed(s), moving = loaded.moving[s];
      found[s] = counts(fixed, moving) ? static_cast<float>(
                     slopeOfLine(line, units.fixed(fixed), units.moving(moving)) * units.movingScale)
                                       : 0;
    }
  };
  writeSlopes(pairs, slopesOfFour, slopes, slopesAligned);
}

}

unsigned RobustCorrelationOnCuda::sum(Context& context, std::size_t stride, LineCurvature kind)
{
  const unsigned blocks = blocksFor(ceilDiv(pairs_.count, stride), threads, maxBlocks);
  const auto kernel =
      kind == LineCurvature::exact ? sumPairs<LineCurvature::exact> : sumPairs<LineCurvature::reweighted>;
  if (blocks > 0) {
    kernel<<<blocks, threads, 0, cudaStreamOf(context)>>>(units_, line_.span().data(), pairs_, stride,
                                                          ofBlocks_.span().data());
    checkLaunch("sums over pairs for the line between intensities");
  }
  return blocks;
}

void RobustCorrelationOnCuda::accumulate(Context& context, const IntensityPairs& lattice)
{
  pairs_ = lattice;
  RobustLine* const line = line_.span().data();
  std::array<std::size_t, 3> size;
  std::copy(lattice.size.begin(), lattice.size.end(), size.begin());
  const std::size_t stride = RobustLineSearch::strideOfPart(size);
  context.stream->fill(line, 0, sizeof(RobustLine));
  for (int step = 0; step < RobustLineSearch::stepsOfPart; ++step) {
    const unsigned blocks = sum(context, stride, LineCurvature::reweighted);
    addBlocks(context, ofBlocks_.span().data(), blocks, BeginNext{search_, line, step});
  }
}

void RobustCorrelationOnCuda::finish(Context& context, MetricResult* result)
{
  RobustLine* const line = line_.span().data();
  const RobustLineSums* const ofBlocks = ofBlocks_.span().data();
  addBlocks(context, ofBlocks, sum(context, 1, LineCurvature::exact), Advance{line});
  addBlocks(context, ofBlocks, sum(context, 1, LineCurvature::exact), Finish{line, result});
}

void RobustCorrelationOnCuda::slopes(Context& context, const IntensityPairs& lattice, float* slopes) const
{
  if (lattice.count == 0)
    return;
  const unsigned blocks = blocksFor(ceilDiv<std::size_t>(lattice.count, 4), threads, 2 * maxBlocks);
  lineSlopes<<<blocks, threads, 0, cudaStreamOf(context)>>>(units_, line_.span().data(), FourPairs(lattice),
                                                            slopes, multipleOf16(slopes));
  checkLaunch("slopes of the line between intensities");
}

}
