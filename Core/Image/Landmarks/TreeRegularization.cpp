#include "Core/Image/Landmarks/TreeRegularization.h"

#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
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

/// The lengths of the edges from a point to `count` points.
TESSERA_MULTIVERSION void measureEdges(const double* x, const double* y, const double* z,
                                       const double* values, std::size_t count, std::size_t from,
                                       double* lengths)
{
  const double fromX = x[from], fromY = y[from], fromZ = z[from], value = values[from];
  for (std::size_t i = 0; i < count; ++i) {
    const double dx = x[i] - fromX, dy = y[i] - fromY, dz = z[i] - fromZ;
    const double length = std::sqrt(dx * dx + dy * dy + dz * dz) + std::abs(values[i] - value);
    lengths[i] = length > 0.1 ? length : 0.1;
  }
}

/// The edges between points, which are measured from one point to all at once.
class Edges {
public:
  Edges(std::span<const Vec<3>> points, std::span<const double> values)
      : values_(values.begin(), values.end())
  {
    for (std::size_t d = 0; d < 3; ++d)
      for (const Vec<3>& point : points)
        place_[d].push_back(point[d]);
  }

  std::size_t points() const { return values_.size(); }
  /// The shortest `count` edges of a point to those that isAsked(point), in their order, or all if there are
  /// fewer.
  template <class IsAsked>
  std::vector<Edge> shortest(std::size_t point, std::size_t count, const IsAsked& isAsked) const
  {
    thread_local std::vector<double> lengths;
    lengths.resize(points());
    measureEdges(place_[0].data(), place_[1].data(), place_[2].data(), values_.data(), points(), point,
                 lengths.data());
    std::vector<Edge> found(count);
    for (std::size_t i = 0; i < points(); ++i) {
      if (lengths[i] > found.back().length || i == point || !isAsked(i))
        continue;
      const Edge edge(lengths[i], point, i);
      if (!(edge < found.back()))
        continue;
      std::size_t place = count - 1;
      for (; place > 0 && edge < found[place - 1]; --place)
        found[place] = found[place - 1];
      found[place] = edge;
    }
    std::erase(found, Edge());
    return found;
  }

private:
  std::vector<double> place_[3], values_;
};

/// Parts of points that edges have joined. A part's number is that of one of its points.
class JoinedParts {
public:
  explicit JoinedParts(std::size_t points) : parts_(points), partOf_(points)
  {
    std::iota(partOf_.begin(), partOf_.end(), std::size_t{0});
  }

  std::size_t parts() const { return parts_; }
  std::size_t partOf(std::size_t point) const { return partOf_[point]; }
  /// Returns false if the edge lies in one part. partOf() knows of it after update().
  bool join(const Edge& edge)
  {
    const std::size_t a = rootOf(edge.from), b = rootOf(edge.to);
    partOf_[std::max(a, b)] = std::min(a, b);
    parts_ -= a != b;
    return a != b;
  }
  void update()
  {
    for (std::size_t point = 0; point < partOf_.size(); ++point)
      partOf_[point] = rootOf(point);
  }

private:
  std::size_t rootOf(std::size_t point) const
  {
    while (partOf_[point] != point)
      point = partOf_[point];
    return point;
  }

  std::size_t parts_;
  std::vector<std::size_t> partOf_;
};

/// The edges of the minimum spanning tree by Boruvka's algorithm: the shortest edge that leaves a part
/// belongs to it, for all parts at once, until there is one part. Each point keeps a list of its shortest
/// edges, and is measured again only where none of them leaves its part and one that is not listed may be the
/// shortest.
std::vector<Edge> spanningEdges(const Context& context, const Edges& edges)
{
  constexpr std::size_t listed = 16;
  const std::size_t n = edges.points();
  std::vector<std::vector<Edge>> lists(n);
  forEachRange(context, n, 64, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      lists[i] = edges.shortest(i, listed, [](std::size_t) { return true; });
  });
  std::vector<double> unlisted(n); // edges that are not listed are at least so long
  for (std::size_t i = 0; i < n; ++i)
    unlisted[i] = lists[i].empty() ? 0 : lists[i].back().length;
  JoinedParts parts(n);
  std::vector<std::size_t> next(n, 0); // in the list
  std::vector<Edge> tree;
  while (parts.parts() > 1) {
    const auto leaves = [&](const Edge& edge) { return parts.partOf(edge.from) != parts.partOf(edge.to); };
    std::vector<Edge> best(n), ofPoint(n);
    const auto take = [&](std::size_t i) {
      Edge& least = best[parts.partOf(i)];
      least = std::min(least, ofPoint[i]);
    };
    std::vector<std::size_t> exhausted;
    for (std::size_t i = 0; i < n; ++i) {
      while (next[i] < lists[i].size() && !leaves(lists[i][next[i]]))
        ++next[i];
      if (next[i] < lists[i].size()) {
        ofPoint[i] = lists[i][next[i]];
        take(i);
      } else
        exhausted.push_back(i);
    }
    std::erase_if(exhausted, [&](std::size_t i) { return unlisted[i] > best[parts.partOf(i)].length; });
    forEachRange(context, exhausted.size(), 64, [&](std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k) {
        const std::size_t i = exhausted[k];
        const std::vector<Edge> out =
            edges.shortest(i, 1, [&](std::size_t j) { return parts.partOf(j) != parts.partOf(i); });
        ofPoint[i] = out.front();
        unlisted[i] = out.front().length;
      }
    });
    for (const std::size_t i : exhausted)
      take(i);
    for (const Edge& edge : best)
      if (edge != Edge() && parts.join(edge))
        tree.push_back(edge);
    parts.update();
  }
  return tree;
}

}

Tree minimumSpanningTree(const Context& context, std::span<const Vec<3>> points,
                         std::span<const double> values)
{
  const std::size_t n = points.size();
  Tree tree{
      std::vector<std::size_t>(n, n), std::vector<double>(n, std::numeric_limits<double>::infinity()), {}};
  if (n == 0)
    return tree;
  std::vector<std::vector<Edge>> edgesOf(n);
  for (const Edge& edge : spanningEdges(context, Edges(points, values))) {
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

}
