#include "Core/Image/Scores/LabelScores.h"

#include "Core/Compute/Math/ErrorStatistics.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera {
namespace {

/// The smallest box of voxels that holds a label in both images.
template <int D>
struct Box {
  Size<D> first, last; // inclusive

  Box() { first.fill(~std::size_t(0)), last.fill(0); }
  void add(const Size<D>& index)
  {
    for (int d = 0; d < D; ++d) {
      first[d] = std::min(first[d], index[d]);
      last[d] = std::max(last[d], index[d]);
    }
  }
  Size<D> size() const
  {
    Size<D> size;
    for (int d = 0; d < D; ++d)
      size[d] = last[d] - first[d] + 1;
    return size;
  }
};

template <int D>
void advance(Size<D>& index, const Size<D>& size)
{
  for (int d = 0; d < D; ++d) {
    if (++index[d] < size[d])
      return;
    index[d] = 0;
  }
}

/// Where a box has the surface of a label: voxels beside another value or the image's end.
template <int D>
std::vector<std::uint8_t> surfaceOf(const Image<D>& image, int label, const Box<D>& box)
{
  const Size<D> size = box.size();
  Size<D> stride, index{};
  std::size_t count = 1;
  for (int d = 0; d < D; ++d) {
    stride[d] = d == 0 ? 1 : stride[d - 1] * image.geometry.size[d - 1];
    count *= size[d];
  }
  std::vector<std::uint8_t> surface(count);
  const auto wanted = static_cast<float>(label);
  for (std::size_t i = 0; i < count; ++i, advance<D>(index, size)) {
    std::size_t voxel = 0;
    for (int d = 0; d < D; ++d)
      voxel += stride[d] * (box.first[d] + index[d]);
    bool isOnSurface = false;
    for (int d = 0; d < D; ++d) {
      const std::size_t place = box.first[d] + index[d];
      isOnSurface = isOnSurface || place == 0 || place + 1 == image.geometry.size[d]
                    || image.voxels[voxel - stride[d]] != wanted || image.voxels[voxel + stride[d]] != wanted;
    }
    surface[i] = image.voxels[voxel] == wanted && isOnSurface;
  }
  return surface;
}

/// The distances of the voxels of `from` to the nearest voxel of `to`, exact: the least sum of squares is
/// found axis by axis (C. R. Maurer et al., IEEE Trans. PAMI 25:265).
template <int D>
std::vector<double> distancesMm(const Context& context, const std::vector<std::uint8_t>& from,
                                const std::vector<std::uint8_t>& to, const Size<D>& size,
                                const Vec<D>& spacingMm)
{
  constexpr double far = std::numeric_limits<double>::infinity(), roundings = 1e-12;
  constexpr std::size_t linesAtOnce = 64;
  std::vector<double> squared(to.size());
  std::ranges::transform(to, squared.begin(), [](std::uint8_t isSet) { return isSet ? 0 : far; });
  std::size_t stride = 1;
  for (int d = 0; d < D; stride *= size[d], ++d)
    forEachRange(context, to.size() / size[d], linesAtOnce, [&](std::size_t firstLine, std::size_t endLine) {
      std::vector<double> before(size[d]);
      for (std::size_t line = firstLine; line < endLine; ++line) {
        double* const values = &squared[line / stride * stride * size[d] + line % stride];
        for (std::size_t i = 0; i < size[d]; ++i)
          before[i] = values[i * stride];
        if (std::ranges::all_of(before, [](double value) { return value == far; }))
          continue;
        for (std::size_t i = 0; i < size[d]; ++i) {
          double& best = values[i * stride];
          const auto placeMm = [&](std::size_t j) { return static_cast<double>(j) * spacingMm[d]; };
          const auto consider = [&](std::size_t j) {
            const double mm = placeMm(j) - placeMm(i);
            best = std::min(best, before[j] + mm * mm);
          };
          for (std::size_t k = 1; k < size[d] && placeMm(k) * placeMm(k) * (1 - roundings) < best; ++k) {
            if (k <= i)
              consider(i - k);
            if (i + k < size[d])
              consider(i + k);
          }
        }
      }
    });
  std::vector<double> distances;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i])
      distances.push_back(std::sqrt(squared[i]));
  return distances;
}

double sumOf(const std::vector<double>& values)
{
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}

template <int D>
std::map<int, LabelScore> labelScores(const Context& context, const Image<D>& a, const Image<D>& b)
{
  std::map<int, LabelScore> scores;
  std::map<int, Box<D>> boxes;
  Size<D> index{};
  for (std::size_t i = 0; i < a.voxels.size(); ++i, advance<D>(index, a.geometry.size)) {
    const int labelA = static_cast<int>(a.voxels[i]), labelB = static_cast<int>(b.voxels[i]);
    if (labelA != 0) {
      ++scores[labelA].voxelsA;
      boxes[labelA].add(index);
    }
    if (labelB != 0) {
      LabelScore& score = scores[labelB];
      ++score.voxelsB;
      score.voxelsOfBoth += labelA == labelB;
      boxes[labelB].add(index);
    }
  }
  for (auto& [label, score] : scores) {
    score.dice =
        2.0 * static_cast<double>(score.voxelsOfBoth) / static_cast<double>(score.voxelsA + score.voxelsB);
    if (score.voxelsA == 0 || score.voxelsB == 0)
      continue;
    const Box<D>& box = boxes[label];
    const auto surfaceA = surfaceOf<D>(a, label, box), surfaceB = surfaceOf<D>(b, label, box);
    const auto distances = [&](const std::vector<std::uint8_t>& from, const std::vector<std::uint8_t>& to) {
      return distancesMm<D>(context, from, to, box.size(), a.geometry.spacingMm);
    };
    std::vector<double> toB = distances(surfaceA, surfaceB), toA = distances(surfaceB, surfaceA);
    score.meanSurfaceDistanceMm = (sumOf(toA) + sumOf(toB)) / static_cast<double>(toA.size() + toB.size());
    score.hausdorff95Mm = std::max(percentile(toA, 0.95), percentile(toB, 0.95)); // changes their order
  }
  return scores;
}

TESSERA_INSTANTIATE_FUNCTIONS(labelScores<D>);

}
