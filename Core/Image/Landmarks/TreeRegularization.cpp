#include "Core/Image/Landmarks/TreeRegularization.h"

#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Landmarks/DisplacementSearchOnCuda.h"
#include "Core/Image/Landmarks/TreeRegularizationOnCuda.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <limits>
#include <numeric>

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
  for (std::size_t stride = 1; stride < values.size(); stride *= n) {
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

/// An edge between two points. Shorter ones come first, and of equal ones those of the smaller numbers, so
/// that all edges have one order.
struct Edge {
  double length = std::numeric_limits<double>::infinity();
  std::size_t from = 0, to = 0; // from < to

  Edge() = default;
  Edge(double edgeLength, std::size_t a, std::size_t b)
      : length(edgeLength), from(std::min(a, b)), to(std::max(a, b))
  {
  }
  auto operator<=>(const Edge&) const = default;
};

/// The lengths of the edges from a point to `count` points; places and values of points lie one behind the
/// other.
TESSERA_MULTIVERSION void measureEdges(const std::array<std::vector<double>, 4>& points, std::size_t count,
                                       const std::array<double, 4>& from, double* lengths)
{
  const double *x = points[0].data(), *y = points[1].data(), *z = points[2].data(), *value = points[3].data();
  for (std::size_t i = 0; i < count; ++i) {
    const double dx = x[i] - from[0], dy = y[i] - from[1], dz = z[i] - from[2];
    const double length = std::sqrt(dx * dx + dy * dy + dz * dz) + std::abs(value[i] - from[3]);
    lengths[i] = length > 0.1 ? length : 0.1;
  }
}

/// The edges of the minimum spanning tree by Prim's algorithm: the shortest edge between the tree so far,
/// which begins with the last point, and another point is the next one.
std::vector<Edge> spanningEdges(std::span<const Vec<3>> points, std::span<const double> values)
{
  std::array<std::vector<double>, 4> others; // places and values of points that are not in the tree
  for (std::size_t d = 0; d < 3; ++d)
    for (const Vec<3>& point : points)
      others[d].push_back(point[d]);
  others[3].assign(values.begin(), values.end());
  std::vector<std::size_t> numbers(points.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::vector<Edge> toTree(points.size()), tree; // the shortest edge of each of them to the tree
  std::vector<double> lengths(points.size());
  for (std::size_t next = points.size() - 1, left = next; left > 0; --left) {
    const std::size_t added = numbers[next];
    std::array<double, 4> from;
    for (std::size_t d = 0; d < 4; ++d) {
      from[d] = others[d][next];
      others[d][next] = others[d][left];
    }
    numbers[next] = numbers[left];
    toTree[next] = toTree[left];
    measureEdges(others, left, from, lengths.data());
    next = 0;
    for (std::size_t i = 0; i < left; ++i) {
      if (lengths[i] <= toTree[i].length)
        toTree[i] = std::min(toTree[i], Edge(lengths[i], added, numbers[i]));
      if (toTree[i] < toTree[next])
        next = i;
    }
    tree.push_back(toTree[next]);
  }
  return tree;
}

}

Tree minimumSpanningTree(std::span<const Vec<3>> points, std::span<const double> values)
{
  const std::size_t n = points.size();
  Tree tree{
      std::vector<std::size_t>(n, n), std::vector<double>(n, std::numeric_limits<double>::infinity()), {}};
  if (n == 0)
    return tree;
  std::vector<std::vector<Edge>> edgesOf(n);
  for (const Edge& edge : spanningEdges(points, values)) {
    edgesOf[edge.from].push_back(edge);
    edgesOf[edge.to].push_back(edge);
  }
  tree.parent[0] = 0;
  tree.order.push_back(0);
  for (std::size_t place = 0; place < tree.order.size(); ++place) {
    const std::size_t node = tree.order[place];
    std::ranges::sort(edgesOf[node]);
    for (const Edge& edge : edgesOf[node]) {
      const std::size_t other = edge.from + edge.to - node;
      if (tree.parent[other] != n)
        continue;
      tree.parent[other] = node;
      tree.length[other] = edge.length;
      tree.order.push_back(other);
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

namespace {

LeastCost refined(const LeastOfGrid& least, const DisplacementGrid& grid)
{
  const int n = grid.perAxis();
  LeastCost result{{}, {}, least.cost};
  int rest = least.number;
  for (int d = 0; d < 3; ++d) {
    const int place = rest % n;
    rest /= n;
    result.displacement[static_cast<std::size_t>(d)] = place * grid.step - grid.reach;
    if (place > 0 && place + 1 < n)
      refine(result, d, grid.step, least.before[d], least.after[d]);
  }
  return result;
}

}

template <int D>
std::vector<LeastCost> searchOnTree(const Context& context, const DescribedImage<D>& here,
                                    const DescribedImage<D>& there, std::span<const Voxel> keypoints,
                                    std::span<const Voxel> startsThere, const Tree& tree,
                                    const DisplacementGrid& grid, int patchRadius, float costWeight)
{
  const std::size_t count = grid.count(), all = keypoints.size() * count;
  std::vector<LeastCost> found;
  if (D == 3 && context.onCuda()
      && 2.0 * sizeof(float) * static_cast<double>(all) <= usableDeviceMemory(context)) {
    Buffer<float> costs(context, all), messages(context, all);
    Buffer<LeastOfGrid> least(context, keypoints.size());
    searchCostsOnCuda(context, here.onCuda(), there.onCuda(), keypoints, startsThere, grid, patchRadius,
                      costs.span().data());
    regularizeOnTreeByCuda(context, tree, grid, costWeight, costs.span().data(), messages.span().data());
    leastCostsOnCuda(context, costs.span().data(), keypoints.size(), grid, least.span().data());
    for (const LeastOfGrid& place : least.toHost(context))
      found.push_back(refined(place, grid));
    return found;
  }
  std::vector<float> costs = searchCosts(context, here, there, keypoints, startsThere, grid, patchRadius);
  for (float& cost : costs)
    cost *= costWeight;
  regularizeOnTree(context, tree, grid, costs);
  for (std::size_t i = 0; i < keypoints.size(); ++i)
    found.push_back(leastCost(std::span(costs).subspan(i * count, count), grid));
  return found;
}

TESSERA_INSTANTIATE_FUNCTIONS(searchOnTree<D>);

}
