#include "Core/Runs/MissingVoxels.h"

#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Registration/Samples/Samples.h"
#include "Core/Registration/Terms/IntensityRange.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

namespace tessera {
namespace {

constexpr double leastShareOfFilling = 0.001;
constexpr double gapOfFew = 10; // from this many ranges of the others on, single voxels are no intensities
constexpr double leastGapBelow = 0.2;   // of a negative value to the others, as a share of their range
constexpr std::size_t leastValues = 16; // of the others: fewer may be those of a label map
// In the box of a ball or of a cylinder, all of an eighth of its length at a corner lies outside. Of a field
// of view that is turned by 14 degrees three quarters do.
constexpr std::size_t cornersInLength = 8;
constexpr double leastShareOfCorner = 0.75;
constexpr float toleranceOfZero = 0.01f; // of the range: where zeros became NaN, it begins beside 0
constexpr float leastWeight = 0.1f;      // of the neighbours of which a mean is taken

template <int D>
bool hasValue(const CheckedImage<D>& read, std::size_t voxel)
{
  return !read.finiteVoxels || read.finiteVoxels->voxels[voxel] != 0;
}

/// How far a value lies from all others, which go from the least to the greatest one, in ranges of these.
double gapInRanges(float value, float least, float greatest)
{
  const double range = static_cast<double>(greatest) - least,
               gap = std::max(static_cast<double>(least) - value, static_cast<double>(value) - greatest);
  return gap / range;
}

/// Whether such a gap is wide enough.
bool isApart(float value, double gap)
{
  return value != 0 && gap > (value < 0 ? leastGapBelow : 1);
}

/// The image's filling, if that is `candidate`. Ends at the first voxels that show that it is not.
template <int D>
std::optional<ConstantFilling> fillingOf(const CheckedImage<D>& read, float candidate)
{
  constexpr float infinity = std::numeric_limits<float>::infinity();
  ConstantFilling filling{candidate, 0, infinity, -infinity};
  const std::vector<float>& voxels = read.image->voxels;
  std::set<float> others;
  double gap = 0; // from the candidate to the others
  for (std::size_t v = 0; v < voxels.size(); ++v) {
    if (!hasValue(read, v))
      continue;
    if (voxels[v] == candidate) {
      ++filling.voxels;
      continue;
    }
    filling.least = std::min(filling.least, voxels[v]);
    filling.greatest = std::max(filling.greatest, voxels[v]);
    gap = gapInRanges(candidate, filling.least, filling.greatest);
    if (!isApart(candidate, gap))
      return {};
    if (others.size() < leastValues)
      others.insert(voxels[v]);
  }
  filling.isFar = gap > 1;
  const bool isOften =
      static_cast<double>(filling.voxels) >= leastShareOfFilling * static_cast<double>(voxels.size());
  return (isOften || gap > gapOfFew) && others.size() == leastValues ? std::optional(filling) : std::nullopt;
}

/// Whether the voxels outside of the mask surround those inside: whether every corner of their box is
/// outside.
template <int D>
bool surroundAnObject(const Mask<D>& inside)
{
  const VoxelBox<D> box = boundingBox<D>(inside);
  Size<D> length;
  std::size_t count = 1;
  for (int d = 0; d < D; ++d)
    count *= length[d] = std::max<std::size_t>(1, box.size[d] / cornersInLength);
  for (std::size_t corner = 0; corner < std::size_t(1) << D; ++corner) {
    std::size_t outside = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t voxel = 0, stride = 1, rest = i;
      for (int d = 0; d < D; ++d) {
        const std::size_t first = (corner >> d & 1) != 0 ? box.size[d] - length[d] : 0;
        voxel += stride * (box.first[d] + first + rest % length[d]);
        stride *= inside.geometry.size[d];
        rest /= length[d];
      }
      outside += inside.voxels[voxel] == 0;
    }
    if (static_cast<double>(outside) < leastShareOfCorner * static_cast<double>(count))
      return false;
  }
  return true;
}

/// Gives the voxels outside of `valid`, which are 0, means of those inside: of neighbours, or of all where
/// these are far.
template <int D>
void fillFromNeighbours(Context& context, const Mask<D>& valid, Image<D>& image)
{
  const Image<D> known = image, weights{image.geometry, {valid.voxels.begin(), valid.voxels.end()}};
  const double sum = std::accumulate(known.voxels.begin(), known.voxels.end(), 0.0);
  const auto mean = static_cast<float>(sum / static_cast<double>(std::ranges::count(valid.voxels, 1)));
  std::vector<std::uint8_t> isDone = valid.voxels;
  const double widest = static_cast<double>(*std::ranges::max_element(image.geometry.size));
  for (double sigma = 1; std::ranges::count(isDone, 0) > 0; sigma *= 2) {
    Vec<D> sigmaVoxels;
    sigmaVoxels.fill(sigma);
    const Image<D> sums = smoothRecursively<D>(context, known, sigmaVoxels),
                   shares = smoothRecursively<D>(context, weights, sigmaVoxels);
    for (std::size_t v = 0; v < isDone.size(); ++v)
      if (!isDone[v] && (shares.voxels[v] >= leastWeight || sigma > widest)) {
        image.voxels[v] = sigma > widest ? mean : sums.voxels[v] / shares.voxels[v];
        isDone[v] = 1;
      }
  }
}

}

template <int D>
std::optional<ConstantFilling> findConstantFilling(const Context& context, const CheckedImage<D>& read)
{
  if (const auto found = extremesOnCuda<D>(context, read.image);
      found && !read.finiteVoxels
      && !isApart(found->least, gapInRanges(found->least, found->nextLeast, found->greatest))
      && !isApart(found->greatest, gapInRanges(found->greatest, found->least, found->nextGreatest)))
    return {};
  const IntensityRange range = intensityRange<D>(context, read.image, nullptr, "the image");
  hostVoxels<D>(read.image);
  for (const float candidate : {range.lowest, range.highest})
    if (candidate != 0)
      if (const std::optional<ConstantFilling> filling = fillingOf<D>(read, candidate))
        return filling;
  return {};
}

template <int D>
std::optional<float> onlyValue(const Context& context, const ImagePointer<D>& image)
{
  if (const auto found = extremesOnCuda<D>(context, image))
    return found->least == found->greatest ? std::optional(found->least) : std::nullopt;
  const std::vector<float>& voxels = image->voxels;
  return std::ranges::adjacent_find(voxels, std::ranges::not_equal_to()) == voxels.end()
             ? std::optional(voxels.front())
             : std::nullopt;
}

template <int D>
PreparedVoxels<D> prepareVoxels(Context& context, const CheckedImage<D>& read, const ConstantFilling* filling)
{
  if (!read.finiteVoxels && !filling)
    return {read.image, nullptr, {}};
  hostVoxels<D>(read.image);
  auto image = std::make_shared<Image<D>>(*read.image);
  auto valid = std::make_shared<Mask<D>>(image->geometry, std::vector<std::uint8_t>(image->voxels.size(), 1));
  float least = std::numeric_limits<float>::infinity(), greatest = -least;
  for (std::size_t v = 0; v < image->voxels.size(); ++v) {
    float& value = image->voxels[v];
    if (!hasValue(read, v) || (filling && value == filling->value)) {
      valid->voxels[v] = 0;
      value = 0;
      continue;
    }
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  if (!surroundAnObject<D>(*valid)) {
    fillFromNeighbours<D>(context, *valid, *image);
    return {image, valid, {}};
  }
  const float tolerance = toleranceOfZero * (greatest - least);
  const float background = !filling && least <= tolerance && greatest >= -tolerance ? 0 : least;
  for (std::size_t v = 0; v < image->voxels.size(); ++v)
    if (!valid->voxels[v])
      image->voxels[v] = background;
  return {image, nullptr, background};
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(findConstantFilling<D>, onlyValue<D>, prepareVoxels<D>);

}
