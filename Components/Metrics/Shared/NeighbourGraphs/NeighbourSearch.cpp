#include "Components/Metrics/Shared/NeighbourGraphs/NeighbourSearch.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t samplesAtOnce = 16, distancesAtOnce = 2048;

/// distances[j] = the squared distance between samples i and j in some features. It is the same for j and i.
TESSERA_MULTIVERSION_TO_V4
void squaredDistances(const float* features, std::size_t count, int featureCount, std::size_t i,
                      float* __restrict__ distances)
{
  for (std::size_t first = 0; first < count; first += distancesAtOnce) {
    const std::size_t last = std::min(count, first + distancesAtOnce);
    std::fill(distances + first, distances + last, 0.0f);
    for (int f = 0; f < featureCount; ++f) {
      const float* const feature = features + static_cast<std::size_t>(f) * count;
      const float own = feature[i];
      for (std::size_t j = first; j < last; ++j) {
        const float difference = feature[j] - own;
        distances[j] += difference * difference;
      }
    }
  }
}

/// The squared distances of one sample in the three graphs.
struct Distances {
  std::vector<float> fixed, moving, joint;

  void compute(const NeighbourGraphSettings& settings, const SampleFeatures& features, std::size_t i)
  {
    for (auto* distances : {&fixed, &moving, &joint})
      distances->resize(features.count);
    const float* const ofMoving = features.values.data() + settings.fixedFeatures * features.count;
    squaredDistances(features.values.data(), features.count, settings.fixedFeatures, i, fixed.data());
    squaredDistances(ofMoving, features.count, settings.movingFeatures, i, moving.data());
    for (std::size_t j = 0; j < features.count; ++j)
      joint[j] = fixed[j] + moving[j];
  }
};

/// The k nearest others, those with the lower number first where distances are equal, and the sum of the
/// distances to them.
Neighbourhood nearest(const std::vector<float>& squared, int k,
                      std::vector<std::pair<float, std::uint32_t>>& heap, double& length)
{
  heap.clear();
  float farthest = std::numeric_limits<float>::infinity();
  for (std::size_t j = 0; j < squared.size(); ++j) {
    if (!(squared[j] < farthest) || !(squared[j] > 0))
      continue;
    if (heap.size() == static_cast<std::size_t>(k)) {
      std::pop_heap(heap.begin(), heap.end());
      heap.pop_back();
    }
    heap.emplace_back(squared[j], static_cast<std::uint32_t>(j));
    std::push_heap(heap.begin(), heap.end());
    if (heap.size() == static_cast<std::size_t>(k))
      farthest = heap.front().first;
  }
  length = 0;
  const Neighbourhood found{farthest, heap.empty() ? 0 : heap.front().second};
  std::sort_heap(heap.begin(), heap.end());
  for (const auto& [distance, sample] : heap)
    length += std::sqrt(static_cast<double>(distance));
  return found;
}

}

void findNeighbours(const Context& context, const NeighbourGraphSettings& settings,
                    const SampleFeatures& features, std::vector<GraphSample>& samples,
                    std::vector<double>& summands)
{
  samples.assign(features.count, {});
  summands.assign(features.count, std::numeric_limits<double>::quiet_NaN());
  forEachRange(context, features.count, samplesAtOnce, [&](std::size_t first, std::size_t last) {
    thread_local Distances distances;
    thread_local std::vector<std::pair<float, std::uint32_t>> heap;
    for (std::size_t i = first; i < last; ++i) {
      distances.compute(settings, features, i);
      if (distances.joint[i] != 0) // NaN: the sample does not count
        continue;
      double fixed = 0, moving = 0, joint = 0;
      nearest(distances.fixed, settings.neighbours, heap, fixed);
      samples[i].inMoving = nearest(distances.moving, settings.neighbours, heap, moving);
      samples[i].inJoint = nearest(distances.joint, settings.neighbours, heap, joint);
      summands[i] = summandOf(settings, fixed, moving, joint, samples[i]);
    }
  });
}

void pullBackGraphs(const Context& context, const NeighbourGraphSettings& settings,
                    const SampleFeatures& features, const std::vector<GraphSample>& samples,
                    const std::vector<float>& gradients, int dimension, std::vector<float>& covectors)
{
  const std::size_t count = features.count;
  const float* const moving = features.values.data() + settings.fixedFeatures * count;
  covectors.assign(dimension * count, 0);
  forEachRange(context, count, samplesAtOnce, [&](std::size_t first, std::size_t last) {
    thread_local Distances distances;
    for (std::size_t a = first; a < last; ++a) {
      distances.compute(settings, features, a);
      const float inMoving = samples[a].inMoving.farthest, inJoint = samples[a].inJoint.farthest;
      std::array<double, 3> sums{};
      for (std::size_t b = 0; b < count; ++b) {
        const GraphSample& other = samples[b];
        if (!(distances.moving[b] <= std::max(inMoving, other.inMoving.farthest))
            && !(distances.joint[b] <= std::max(inJoint, other.inJoint.farthest)))
          continue;
        const float factor =
            edgeFactor(settings, samples[a], a, other, b, distances.fixed[b], distances.moving[b]);
        if (factor == 0)
          continue;
        for (int m = 0; m < settings.movingFeatures; ++m) {
          const float slope = factor * (moving[m * count + a] - moving[m * count + b]);
          for (int d = 0; d < dimension; ++d)
            sums[d] += static_cast<double>(slope) * gradients[(m * dimension + d) * count + a];
        }
      }
      for (int d = 0; d < dimension; ++d)
        covectors[d * count + a] = static_cast<float>(sums[d]);
    }
  });
}

}
