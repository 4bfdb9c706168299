#include "Core/Image/Scores/LabelScores.h"

#include <itkImage.h>
#include <itkSignedMaurerDistanceMapImageFilter.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

template <int D>
using Binary = itk::Image<unsigned char, D>;

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

/// The surface of a label, in the box with a margin of one voxel: ITK's distances are to voxels of the
/// surface that have a neighbour beside it.
template <int D>
typename Binary<D>::Pointer surfaceOf(const Image<D>& image, int label, const Box<D>& box)
{
  const auto surface = Binary<D>::New();
  typename Binary<D>::SizeType paddedSize;
  Size<D> size, stride, paddedStride;
  std::size_t count = 1, first = 0;
  for (int d = 0; d < D; ++d) {
    size[d] = box.last[d] - box.first[d] + 1;
    paddedSize[static_cast<unsigned>(d)] = size[d] + 2;
    stride[d] = d == 0 ? 1 : stride[d - 1] * image.geometry.size[d - 1];
    paddedStride[d] = d == 0 ? 1 : paddedStride[d - 1] * (size[d - 1] + 2);
    count *= size[d];
    first += paddedStride[d];
  }
  surface->SetRegions(paddedSize);
  surface->SetSpacing(image.geometry.spacingMm.data());
  surface->Allocate(true);
  const auto wanted = static_cast<float>(label);
  Size<D> index{};
  unsigned char* out = surface->GetBufferPointer();
  for (std::size_t i = 0; i < count; ++i, advance<D>(index, size)) {
    std::size_t voxel = 0, padded = first;
    for (int d = 0; d < D; ++d) {
      voxel += stride[d] * (box.first[d] + index[d]);
      padded += paddedStride[d] * index[d];
    }
    bool isOnSurface = false;
    for (int d = 0; d < D; ++d) {
      const std::size_t place = box.first[d] + index[d];
      isOnSurface = isOnSurface || place == 0 || place + 1 == image.geometry.size[d]
                    || image.voxels[voxel - stride[d]] != wanted || image.voxels[voxel + stride[d]] != wanted;
    }
    out[padded] = image.voxels[voxel] == wanted && isOnSurface;
  }
  return surface;
}

/// The distances of the voxels of `from` to the nearest voxel of `to`.
template <int D>
std::vector<double> distancesMm(const Binary<D>* from, Binary<D>* to, int threads)
{
  using Filter = itk::SignedMaurerDistanceMapImageFilter<Binary<D>, itk::Image<double, D>>;
  const auto filter = Filter::New();
  filter->SetInput(to);
  filter->SetSquaredDistance(true);
  filter->SetUseImageSpacing(true);
  filter->SetNumberOfWorkUnits(static_cast<unsigned>(threads));
  filter->Update();
  const unsigned char* isFrom = from->GetBufferPointer();
  const double* squared = filter->GetOutput()->GetBufferPointer();
  std::vector<double> distances;
  for (std::size_t i = 0; i < from->GetPixelContainer()->Size(); ++i)
    if (isFrom[i] != 0)
      distances.push_back(std::sqrt(std::abs(squared[i])));
  return distances;
}

double percentile95(std::vector<double> values)
{
  std::ranges::sort(values);
  const double place = 0.95 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double sumOf(const std::vector<double>& values)
{
  double sum = 0;
  for (const double value : values)
    sum += value;
  return sum;
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
    const auto surfaceA = surfaceOf<D>(a, label, boxes[label]),
               surfaceB = surfaceOf<D>(b, label, boxes[label]);
    const std::vector<double> toB = distancesMm<D>(surfaceA, surfaceB, context.threads),
                              toA = distancesMm<D>(surfaceB, surfaceA, context.threads);
    score.hausdorff95Mm = std::max(percentile95(toA), percentile95(toB));
    score.meanSurfaceDistanceMm = (sumOf(toA) + sumOf(toB)) / static_cast<double>(toA.size() + toB.size());
  }
  return scores;
}

template std::map<int, LabelScore> labelScores<2>(const Context&, const Image<2>&, const Image<2>&);
template std::map<int, LabelScore> labelScores<3>(const Context&, const Image<3>&, const Image<3>&);

}
