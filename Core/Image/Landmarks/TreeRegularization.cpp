#include "Core/Image/Landmarks/TreeRegularization.h"

#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

/// out = min over j of in_j + factor (i - j)^2 along the axis of n numbers with this stride; `lines` numbers
/// side by side.
TESSERA_MULTIVERSION void spreadLine(const float* in, float* out, std::size_t n, std::size_t stride,
                                     float factor)
{
  for (std::size_t i = 0; i < n; ++i) {
    float* const to = out + i * stride;
    for (std::size_t l = 0; l < stride; ++l)
      to[l] = in[i * stride + l];
    for (std::size_t j = 0; j < n; ++j) {
      const auto steps = static_cast<float>(i) - static_cast<float>(j);
      const float penalty = factor * steps * steps;
      for (std::size_t l = 0; l < stride; ++l)
        to[l] = std::min(to[l], in[j * stride + l] + penalty);
    }
  }
}

/// message(d) = min over d' of values(d') + |d - d'|^2 / length, less its minimum.
void spread(std::vector<float>& values, std::vector<float>& scratch, const DisplacementGrid& grid,
            double length)
{
  const auto n = static_cast<std::size_t>(grid.perAxis());
  const auto factor = static_cast<float>(grid.step * grid.step / length);
  scratch.resize(values.size());
  for (std::size_t stride : {std::size_t{1}, n, n * n}) {
    for (std::size_t first = 0; first < values.size(); first += n * stride)
      spreadLine(&values[first], &scratch[first], n, stride, factor);
    values.swap(scratch);
  }
  const float least = *std::ranges::min_element(values);
  for (float& value : values)
    value -= least;
}

/// The keypoints by their distance from the root in edges.
std::vector<std::vector<std::size_t>> levelsOf(const Tree& tree)
{
  std::vector<std::size_t> depth(tree.parent.size(), 0);
  std::vector<std::vector<std::size_t>> levels;
  for (const std::size_t node : tree.order) {
    depth[node] = tree.parent[node] == node ? 0 : depth[tree.parent[node]] + 1;
    levels.resize(std::max(levels.size(), depth[node] + 1));
    levels[depth[node]].push_back(node);
  }
  return levels;
}

}

Tree minimumSpanningTree(std::span<const Vec<3>> points, std::span<const double> values)
{
  const std::size_t n = points.size();
  Tree tree{
      std::vector<std::size_t>(n, 0), std::vector<double>(n, std::numeric_limits<double>::infinity()), {}};
  std::vector<bool> isIn(n, false);
  for (std::size_t step = 0, node = 0; step < n; ++step) {
    isIn[node] = true;
    tree.order.push_back(node);
    std::size_t next = n;
    for (std::size_t i = 0; i < n; ++i) {
      if (isIn[i])
        continue;
      const double distance = std::hypot(points[i][0] - points[node][0], points[i][1] - points[node][1],
                                         points[i][2] - points[node][2]);
      const double length = std::max(0.1, distance + std::abs(values[i] - values[node]));
      if (length < tree.length[i]) {
        tree.length[i] = length;
        tree.parent[i] = node;
      }
      if (next == n || tree.length[i] < tree.length[next])
        next = i;
    }
    node = next;
  }
  return tree;
}

void regularizeOnTree(const Context& context, const Tree& tree, const DisplacementGrid& grid,
                      std::vector<float>& costs)
{
  const std::size_t count = grid.count();
  const auto levels = levelsOf(tree);
  std::vector<float> toParent(costs.size());
  std::vector<std::vector<std::size_t>> children(tree.parent.size());
  for (const std::size_t node : tree.order)
    if (tree.parent[node] != node)
      children[tree.parent[node]].push_back(node);
  // up: costs become those of the keypoint and all below it
  for (std::size_t level = levels.size(); level-- > 0;)
    forEachChunk(context, levels[level].size(), [&](std::size_t i) {
      const std::size_t node = levels[level][i];
      float* const own = &costs[node * count];
      for (const std::size_t child : children[node])
        for (std::size_t d = 0; d < count; ++d)
          own[d] += toParent[child * count + d];
      if (level == 0)
        return;
      thread_local std::vector<float> message, scratch;
      message.assign(own, own + count);
      spread(message, scratch, grid, tree.length[node]);
      std::ranges::copy(message, &toParent[node * count]);
    });
  // down: each receives what the rest of the tree says
  for (std::size_t level = 0; level < levels.size(); ++level)
    forEachChunk(context, levels[level].size(), [&](std::size_t i) {
      const std::size_t node = levels[level][i];
      float* const own = &costs[node * count];
      if (level > 0) {
        thread_local std::vector<float> message, scratch;
        const float* const parent = &costs[tree.parent[node] * count];
        message.resize(count);
        for (std::size_t d = 0; d < count; ++d)
          message[d] = parent[d] - toParent[node * count + d];
        spread(message, scratch, grid, tree.length[node]);
        for (std::size_t d = 0; d < count; ++d)
          own[d] += message[d];
      }
      const float least = *std::min_element(own, own + count);
      for (std::size_t d = 0; d < count; ++d)
        own[d] -= least;
    });
}

}
