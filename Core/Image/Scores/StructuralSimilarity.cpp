#include "Core/Image/Scores/ImageScores.h"

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Scores/SimilarityFormula.h"

#include <algorithm>

namespace tessera {
namespace {

using similarity::sums;
constexpr std::size_t radius = similarity::radius, taps = similarity::taps, rowsAChunk = 32;

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
  const similarity::Window window = similarity::Window::gaussian();
  const double(&weights)[taps] = window.weights;
  const double c1 = similarity::c1(greyRange), c2 = similarity::c2(greyRange);
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
        double mean[sums]{};
        for (int s = 0; s < sums; ++s)
          for (std::size_t t = 0; t < taps; ++t)
            mean[s] += weights[t] * alongY.at(0, s)[x + t];
        sum.value += similarity::ofMeans(mean, c1, c2);
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

TESSERA_INSTANTIATE_FUNCTIONS(structuralSimilarity<D>);

}
