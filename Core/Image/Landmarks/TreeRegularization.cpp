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

/// Points that are not in the tree yet, in ascending order of their numbers, with the shortest edge to it.
struct Outside {
  std::vector<double> place[3], value, length, candidate;
  std::vector<std::size_t> number, parent;

  std::size_t count() const { return number.size(); }
  void keep(std::size_t to, std::size_t from)
  {
    for (std::vector<double>* array : {&place[0], &place[1], &place[2], &value, &length})
      (*array)[to] = (*array)[from];
    number[to] = number[from];
    parent[to] = parent[from];
  }
  void resize(std::size_t count)
  {
    for (std::vector<double>* array : {&place[0], &place[1], &place[2], &value, &length, &candidate})
      array->resize(count);
    number.resize(count);
    parent.resize(count);
  }
};

/// The lengths of the edges from a point to all that are outside.
TESSERA_MULTIVERSION void measureEdges(const Vec<3>& from, double value, Outside& outside)
{
  const double *const x = outside.place[0].data(), *const y = outside.place[1].data(),
                      *const z = outside.place[2].data(), *const values = outside.value.data();
  double* const lengths = outside.candidate.data();
  for (std::size_t i = 0; i < outside.count(); ++i) {
    const double dx = x[i] - from[0], dy = y[i] - from[1], dz = z[i] - from[2];
    const double length = std::sqrt(dx * dx + dy * dy + dz * dz) + std::abs(values[i] - value);
    lengths[i] = length > 0.1 ? length : 0.1;
  }
}

}

Tree minimumSpanningTree(std::span<const Vec<3>> points, std::span<const double> values)
{
  constexpr double taken = -1; // the length of an edge to a point that is in the tree now
  const std::size_t n = points.size();
  Tree tree{
      std::vector<std::size_t>(n, 0), std::vector<double>(n, std::numeric_limits<double>::infinity()), {}};
  if (n == 0)
    return tree;
  Outside outside;
  outside.resize(n - 1);
  for (std::size_t i = 1; i < n; ++i) {
    for (std::size_t d = 0; d < 3; ++d)
      outside.place[d][i - 1] = points[i][d];
    outside.value[i - 1] = values[i];
    outside.length[i - 1] = tree.length[i];
    outside.number[i - 1] = i;
    outside.parent[i - 1] = 0;
  }
  tree.order.push_back(0);
  std::size_t left = n - 1;
  for (std::size_t node = 0; left > 0; --left) {
    measureEdges(points[node], values[node], outside);
    std::size_t next = outside.count();
    for (std::size_t i = 0; i < outside.count(); ++i) {
      if (outside.length[i] == taken)
        continue;
      if (outside.candidate[i] < outside.length[i]) {
        outside.length[i] = outside.candidate[i];
        outside.parent[i] = node;
      }
      if (next == outside.count() || outside.length[i] < outside.length[next])
        next = i;
    }
    node = outside.number[next];
    tree.length[node] = outside.length[next];
    tree.parent[node] = outside.parent[next];
    tree.order.push_back(node);
    outside.length[next] = taken;
    if (2 * left < outside.count()) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < outside.count(); ++i)
        if (outside.length[i] != taken)
          outside.keep(kept++, i);
      outside.resize(kept);
    }
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
