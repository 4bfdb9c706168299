#include "Core/Image/Filters/SelfSimilarityOnCuda.h"

#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Filters/LineFilterOnCuda.h"
#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Core/Image/Filters/SelfSimilarityKernels.h"

#include <algorithm>

namespace tessera {

using namespace selfsimilarity;

template <int D>
Buffer<std::uint8_t> selfSimilaritiesOnCuda(Context& context, const float* voxels, const Size<D>& size,
                                            const Matrix<D>& steps)
{
  constexpr std::size_t channels = SelfSimilarityDescriptor<D>::channels;
  const std::size_t count = productOf(size);
  Buffer<std::uint8_t> numbers(context, channels * count);
  Buffer<float> differences(context, channels * count);
  if (onlyCountsMemory(context))
    return numbers;
  std::array<int, D> sizes;
  std::ranges::copy(size, sizes.begin());
  const auto pairs = neighbourPairs<D>(steps);
  const Vec<D> sigmaVoxels = sigmaOf<D>(steps);
  for (std::size_t k = 0; k < channels; ++k) {
    float* const differencesOfPair = differences.span().data() + k * count;
    squaredDifferences<D>(context, voxels, sizes, pairs[k], differencesOfPair);
    for (int d = 0; d < D; ++d)
      if (sigmaVoxels[d] > 0)
        filterLinesOnCuda(context, gaussianFilter(sigmaVoxels[d]), LineEnds::constant,
                          LinesOnCuda::along(size, d), differencesOfPair, differencesOfPair);
  }
  Buffer<double> scratch(context, meanScratch);
  Buffer<MeanVariance> mean(context, 1);
  context.stream->fill(mean.span().data(), 0, sizeof(MeanVariance));
  sumVariances<D>(context, differences.span().data(), count, scratch.span().data(), mean.span().data());
  writeNumbers<D>(context, differences.span().data(), count, mean.span().data(), numbers.span().data());
  return numbers;
}

TESSERA_INSTANTIATE_FUNCTIONS(selfSimilaritiesOnCuda<D>);

}
