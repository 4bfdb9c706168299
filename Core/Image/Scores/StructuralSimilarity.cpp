#include "Core/Image/Scores/ImageScores.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

constexpr std::size_t radius = 5, taps = 2 * radius + 1, rowsAChunk = 32;
constexpr int sums = 5; // of a, b, a a, b b and a b

std::array<double, taps> gaussian()
{
  constexpr double sigmaVoxels = 1.5;
  std::array<double, taps> weights{};
  double sum = 0;
  for (std::size_t t = 0; t < taps; ++t) {
    const double x = (static_cast<double>(t) - static_cast<double>(radius)) / sigmaVoxels;
    sum += weights[t] = std::exp(-x * x / 2);
  }
  for (double& weight : weights)
    weight /= sum;
  return weights;
}

/// Rows of the five sums, each x fastest.
class Rows {
public:
  Rows(std::size_t width, std::size_t count) : width_(width), values_(width * count * sums) {}
  double* at(std::size_t row, int sum)
  {
    return values_.data() + (row * sums + static_cast<std::size_t>(sum)) * width_;
  }

private:
  std::size_t width_;
  std::vector<double> values_;
};

/// Adds weight * (a, b, a a, b b, a b) of a row of the images.
void addProducts(const float* a, const float* b, std::size_t width, double weight, Rows& rows,
                 std::size_t row)
{
  double *sa = rows.at(row, 0), *sb = rows.at(row, 1), *saa = rows.at(row, 2), *sbb = rows.at(row, 3),
         *sab = rows.at(row, 4);
  for (std::size_t x = 0; x < width; ++x) {
    const double va = a[x], vb = b[x], wa = weight * va, wb = weight * vb;
    sa[x] += wa;
    sb[x] += wb;
    saa[x] += wa * va;
    sbb[x] += wb * vb;
    sab[x] += wa * vb;
  }
}

double similarity(const std::array<double, sums>& mean, double c1, double c2)
{
  const double a = mean[0], b = mean[1];
  const double aa = mean[2] - a * a, bb = mean[3] - b * b, ab = mean[4] - a * b;
  return (2 * a * b + c1) * (2 * ab + c2) / ((a * a + b * b + c1) * (aa + bb + c2));
}

struct Sum {
  double value = 0;
  std::size_t count = 0;
};

}

template <int D>
std::optional<double> structuralSimilarity(const Context& context, const Image<D>& imageA,
                                           const Image<D>& imageB, const std::vector<std::uint8_t>& use,
                                           double greyRange)
{
  const Size<D>& size = imageA.geometry.size;
  if (std::ranges::any_of(size, [](std::size_t length) { return length < taps; }) || !(greyRange > 0))
    return {};
  const std::array<double, taps> weights = gaussian();
  const double c1 = 0.01 * greyRange * 0.01 * greyRange, c2 = 0.03 * greyRange * 0.03 * greyRange;
  const std::size_t width = size[0], height = size[1], inner = height - 2 * radius,
                    planes = D == 3 ? size[D - 1] - 2 * radius : 1,
                    blocks = (inner + rowsAChunk - 1) / rowsAChunk;
  std::vector<Sum> chunks(planes * blocks);
  forEachChunkByOpenMP(context, chunks.size(), [&](std::size_t chunk) {
    const std::size_t plane = chunk / blocks,
                      top = chunk % blocks * rowsAChunk, // of the window's first voxel
        rows = std::min(rowsAChunk, inner - top);
    Rows alongZ(width, rows + 2 * radius), alongY(width, 1);
    for (std::size_t y = 0; y < rows + 2 * radius; ++y)
      for (std::size_t t = 0; t < (D == 3 ? taps : 1); ++t) {
        const std::size_t first = ((plane + t) * height + top + y) * width;
        addProducts(imageA.voxels.data() + first, imageB.voxels.data() + first, width,
                    D == 3 ? weights[t] : 1.0, alongZ, y);
      }
    Sum sum;
    for (std::size_t y = 0; y < rows; ++y) {
      for (int s = 0; s < sums; ++s) {
        double* out = alongY.at(0, s);
        std::fill(out, out + width, 0.0);
        for (std::size_t t = 0; t < taps; ++t) {
          const double* in = alongZ.at(y + t, s);
          for (std::size_t x = 0; x < width; ++x)
            out[x] += weights[t] * in[x];
        }
      }
      const std::size_t row = ((D == 3 ? plane + radius : 0) * height + top + y + radius) * width;
      for (std::size_t x = 0; x + 2 * radius < width; ++x) {
        if (!use.empty() && use[row + x + radius] == 0)
          continue;
        std::array<double, sums> mean{};
        for (int s = 0; s < sums; ++s)
          for (std::size_t t = 0; t < taps; ++t)
            mean[static_cast<std::size_t>(s)] += weights[t] * alongY.at(0, s)[x + t];
        sum.value += similarity(mean, c1, c2);
        ++sum.count;
      }
    }
    chunks[chunk] = sum;
  });
  Sum all;
  for (const Sum& sum : chunks) {
    all.value += sum.value;
    all.count += sum.count;
  }
  if (all.count == 0)
    return {};
  return all.value / static_cast<double>(all.count);
}

template std::optional<double> structuralSimilarity<2>(const Context&, const Image<2>&, const Image<2>&,
                                                       const std::vector<std::uint8_t>&, double);
template std::optional<double> structuralSimilarity<3>(const Context&, const Image<3>&, const Image<3>&,
                                                       const std::vector<std::uint8_t>&, double);

}
