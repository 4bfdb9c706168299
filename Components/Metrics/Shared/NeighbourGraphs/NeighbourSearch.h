#pragma once

#include "Components/Metrics/Shared/NeighbourGraphs/NeighbourGraph.h"
#include "Core/Compute/Context.h"

#include <vector>

namespace tessera {

/// The features of samples in the host's memory: feature f of sample i is values[f * count + i], those of the
/// fixed images first. A sample that does not count has NaN as first fixed and as first moving feature.
struct SampleFeatures {
  std::size_t count = 0;
  std::vector<float> values;
};

/// Finds the neighbours of every sample in the three graphs by comparing all pairs, and each sample's summand
/// (NaN if the sample does not count). The result has the same bits for any number of threads.
void findNeighbours(const Context&, const NeighbourGraphSettings&, const SampleFeatures&,
                    std::vector<GraphSample>& samples, std::vector<double>& summands);

/// d (sum of all summands) / d T(x) of every sample: axis d of sample i is covectors[d * count + i]. The
/// gradient of moving feature m of sample i along axis d is gradients[(m * dimension + d) * count + i], in
/// 1/mm.
void pullBackGraphs(const Context&, const NeighbourGraphSettings&, const SampleFeatures&,
                    const std::vector<GraphSample>&, const std::vector<float>& gradients, int dimension,
                    std::vector<float>& covectors);

}
