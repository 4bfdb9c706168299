#include "Core/Image/Filters/SelfSimilarityDescriptor.h"

#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Filters/RecursiveGaussian.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

constexpr double smallestOfMean = 0.001, largestOfMean = 1000;
constexpr std::size_t voxelsOfChunk = std::size_t(1) << 16;

/// A place between voxels, as the voxels around it that count there.
template <int D>
struct Neighbour {
  struct Part {
    std::array<long, D> step;
    float weight;
  };
  std::array<Part, std::size_t(1) << D> parts;
  std::size_t count = 0;

  Neighbour() = default;
  explicit Neighbour(const Vec<D>& offsetVoxels)
  {
    for (std::size_t corner = 0; corner < parts.size(); ++corner) {
      Part part{{}, 1};
      for (int d = 0; d < D; ++d) {
        const double below = std::floor(offsetVoxels[d] + 1e-9), share = offsetVoxels[d] - below;
        const bool isAbove = (corner >> d & 1) != 0;
        part.step[d] = static_cast<long>(below) + isAbove;
        const double rounded = share < 1e-6 ? 0 : share;
        part.weight *= static_cast<float>(isAbove ? rounded : 1 - rounded);
      }
      if (part.weight > 0)
        parts[count++] = part;
    }
  }

  float in(const Image<D>& image, const std::array<long, D>& voxel) const
  {
    float value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t offset = 0, stride = 1;
      for (int d = 0; d < D; ++d) {
        const long size = static_cast<long>(image.geometry.size[d]);
        offset += stride * static_cast<std::size_t>(std::clamp(voxel[d] + parts[i].step[d], 0L, size - 1));
        stride *= image.geometry.size[d];
      }
      value += parts[i].weight * image.voxels[offset];
    }
    return value;
  }
};

template <int D>
struct NeighbourPair {
  Neighbour<D> a, b;
};

/// The pairs that do not lie opposite, in the order of their axes.
template <int D>
std::array<NeighbourPair<D>, SelfSimilarityDescriptor<D>::channels> neighbourPairs(const Matrix<D>& steps)
{
  std::array<Neighbour<D>, 2 * D> neighbours;
  for (int j = 0; j < 2 * D; ++j) {
    Vec<D> offset;
    for (int d = 0; d < D; ++d)
      offset[d] = (j % 2 == 0 ? 1 : -1) * steps[d][j / 2];
    neighbours[j] = Neighbour<D>(offset);
  }
  std::array<NeighbourPair<D>, SelfSimilarityDescriptor<D>::channels> pairs;
  std::size_t count = 0;
  for (int i = 0; i < 2 * D; ++i)
    for (int j = i + 1; j < 2 * D; ++j)
      if (i / 2 != j / 2)
        pairs[count++] = {neighbours[i], neighbours[j]};
  return pairs;
}

template <int D>
std::vector<float> smoothedSquares(Context& context, const Image<D>& image, const NeighbourPair<D>& pair,
                                   const Vec<D>& sigmaVoxels)
{
  const Size<D>& size = image.geometry.size;
  Image<D> squares{image.geometry, std::vector<float>(image.voxels.size())};
  const std::size_t voxelsOfSlice = image.voxels.size() / size[D - 1];
  forEachChunk(context, size[D - 1], [&](std::size_t slice) {
    std::array<long, D> voxel{};
    voxel[D - 1] = static_cast<long>(slice);
    for (std::size_t v = slice * voxelsOfSlice; v < (slice + 1) * voxelsOfSlice; ++v) {
      const float difference = pair.a.in(image, voxel) - pair.b.in(image, voxel);
      squares.voxels[v] = difference * difference;
      for (int d = 0; d + 1 < D && ++voxel[d] == static_cast<long>(size[d]); ++d)
        voxel[d] = 0;
    }
  });
  return smoothRecursively<D>(context, squares, sigmaVoxels).voxels;
}

}

template <int D>
SelfSimilarityDescriptor<D>::SelfSimilarityDescriptor(Context& context, const Image<D>& image,
                                                      const Matrix<D>& steps)
    : size(image.geometry.size)
{
  requireMemory(static_cast<double>(image.voxels.size())
                    * (channels * (sizeof(float) + 1) + 3 * sizeof(float)),
                "self-similarities of " + extentText(size) + " voxels", "a smaller image");
  values.resize(channels * image.voxels.size());
  Vec<D> sigmaVoxels{};
  for (int d = 0; d < D; ++d) {
    for (int column = 0; column < D; ++column)
      sigmaVoxels[d] += steps[d][column] * steps[d][column];
    sigmaVoxels[d] = std::sqrt(sigmaVoxels[d]);
  }
  std::array<std::vector<float>, channels> differences;
  const auto pairs = neighbourPairs<D>(steps);
  for (std::size_t k = 0; k < channels; ++k)
    differences[k] = smoothedSquares<D>(context, image, pairs[k], sigmaVoxels);

  const std::size_t count = image.voxels.size();
  std::vector<float> mean(count);
  std::vector<double> sums((count + voxelsOfChunk - 1) / voxelsOfChunk, 0.0);
  forEachRange(context, count, voxelsOfChunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      float least = differences[0][v], sum = 0;
      for (const auto& channel : differences)
        least = std::min(least, channel[v]);
      for (auto& channel : differences)
        sum += channel[v] -= least;
      mean[v] = sum / channels;
      sums[first / voxelsOfChunk] += mean[v];
    }
  });
  double total = 0;
  for (const double sum : sums)
    total += sum;
  total = std::max(total / static_cast<double>(count), 1e-30); // a constant image
  const auto low = static_cast<float>(smallestOfMean * total),
             high = static_cast<float>(largestOfMean * total);
  forEachRange(context, count, voxelsOfChunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      const float variance = std::clamp(mean[v], low, high);
      for (std::size_t k = 0; k < channels; ++k)
        values[channels * v + k] =
            static_cast<std::uint8_t>(255 * std::exp(-differences[k][v] / variance) + 0.5f);
    }
  });
}

template struct SelfSimilarityDescriptor<2>;
template struct SelfSimilarityDescriptor<3>;

}
