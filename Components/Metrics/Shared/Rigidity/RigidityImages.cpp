#include "Components/Metrics/Shared/Rigidity/RigidityImages.h"

#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/Samples/Samples.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace tessera {
namespace {

const Parameter<std::string>& imageName(const std::string& side)
{
  const auto row = [](const std::string& name, const std::string& space) {
    return textParameter(
        name, "", Arity::single,
        "image of the rigidity of tissue, from 0 (any deformation) to 1, in the space of the " + space
            + " image; without any image everything is rigid");
  };
  static const auto fixed = row("FixedRigidityImageName", "fixed"),
                    moving = row("MovingRigidityImageName", "moving");
  return side == "fixed" ? fixed : moving;
}

const Parameter<bool> dilateRigidityImages = booleanParameter(
    "DilateRigidityImages", true, Arity::perLevel, "whether rigid regions grow by the spacing of the grid");

const Parameter<double> dilationRadiusMultiplier =
    realParameter("DilationRadiusMultiplier", 1, Arity::perLevel, "",
                  "they grow along each axis by this many times the number of mm between control points, as "
                  "a number of voxels")
        .atLeast(0);

/// The path of a side's image, empty if it has none.
std::string pathOf(const Parameters& parameters, const std::string& side, bool isUsed)
{
  const std::string path = isUsed ? parameters.get(imageName(side)) : "";
  if (!path.empty() && !std::filesystem::exists(path))
    parameters.warn(parameters.where(imageName(side).name) + ": no such file. The registration needs it.");
  return path;
}

template <int D>
ImagePointer<D> read(const Parameters& parameters, const std::string& side, const std::string& path,
                     const ReadingOptions& reading)
{
  std::vector<std::string> notes;
  LoadedImage<D> loaded = readImage<D>(path, reading, notes);
  auto image = std::make_shared<Image<D>>(std::move(loaded.image));
  image->geometry = geometryInUse<D>(image->geometry, parameters);
  for (const auto& lines : {loaded.headerNotes, notes})
    for (const std::string& note : lines)
      parameters.warn(note);
  if (std::ranges::min(image->voxels) < 0)
    parameters.fail(imageName(side).name, "the image has voxels below 0", "Allowed: values from 0 to 1");
  return image;
}

/// The greatest value within `radius` positions in a line of `count` values, `stride` apart. `copy` and
/// `falling` are kept only to avoid new allocations.
void dilateLine(float* line, std::size_t count, std::size_t stride, std::size_t radius,
                std::vector<float>& copy, std::vector<std::size_t>& falling)
{
  copy.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    copy[i] = line[i * stride];
  // Positions in the window that no later and larger value hides, from `head` on; their values fall.
  falling.clear();
  std::size_t head = 0, next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (; next < std::min(count, i + radius + 1); ++next) {
      while (falling.size() > head && copy[falling.back()] <= copy[next])
        falling.pop_back();
      falling.push_back(next);
    }
    while (falling[head] + radius < i)
      ++head;
    line[i * stride] = copy[falling[head]];
  }
}

template <int D>
double valueAt(const Image<D>& image, const PointToIndex<D>& pointToIndex, const Vec<D>& pointMm)
{
  std::size_t voxel;
  return findNearestVoxel<D>(image.geometry.size, pointToIndex(pointMm), voxel) ? image.voxels[voxel] : 0;
}

}

template <int D>
std::vector<ParameterInfo> RigidityImages<D>::parameters()
{
  return {imageName("fixed"), imageName("moving"), dilateRigidityImages, dilationRadiusMultiplier};
}

template <int D>
RigidityImages<D>::RigidityImages(const Parameters& parameters, RigidityImagesUsed used)
    : parameters_(parameters)
{
  fixed_.path = pathOf(parameters, "fixed", used.fixed);
  moving_.path = pathOf(parameters, "moving", used.moving);
}

template <int D>
Image<D> RigidityImages<D>::Side::dilated(const std::array<std::size_t, D>& radius) const
{
  Image<D> image = *original;
  const Size<D>& size = image.geometry.size;
  std::vector<float> copy;
  std::vector<std::size_t> falling;
  std::size_t stride = 1;
  for (int d = 0; d < D; stride *= size[d++])
    for (std::size_t i = 0; i < image.voxels.size(); ++i)
      if (i / stride % size[d] == 0)
        dilateLine(image.voxels.data() + i, size[d], stride, radius[d], copy, falling);
  return image;
}

template <int D>
void RigidityImages<D>::prepareForLevel(const Context& context, std::size_t level, const BSplineGrid<D>& grid,
                                        const ReadingOptions& reading)
{
  for (auto [side, name] : {std::pair{&fixed_, "fixed"}, std::pair{&moving_, "moving"}}) {
    const bool isNeeded = !onlyCountsMemory(context) || std::filesystem::exists(side->path);
    if (!side->path.empty() && !side->original && isNeeded)
      side->original = read<D>(parameters_, name, side->path, reading);
  }
  const double multiplier = parameters_.get(dilationRadiusMultiplier, level);
  std::array<std::size_t, D> radius;
  for (int d = 0; d < D; ++d)
    radius[d] = static_cast<std::size_t>(multiplier * grid.points.spacingMm[d]);
  for (Side* side : {&fixed_, &moving_})
    if (side->original)
      side->ofLevel = parameters_.get(dilateRigidityImages, level)
                          ? std::make_shared<const Image<D>>(side->dilated(radius))
                          : side->original;

  const AffineMap<D> toPoint = grid.points.pointFromIndex();
  fixedValues_.assign(grid.pointCount(), fixed_.original || moving_.original ? 0 : 1);
  for (auto& axis : pointsMm_)
    axis.assign(moving_.original ? grid.pointCount() : 0, 0);
  PointToIndex<D> pointToIndex;
  if (fixed_.original)
    pointToIndex = fixed_.ofLevel->geometry.pointToIndex();
  for (std::size_t p = 0; p < grid.pointCount(); ++p) {
    const Vec<D> pointMm = toPoint(indexOfVoxel<D>(grid.points.size, p));
    if (fixed_.original)
      fixedValues_[p] = valueAt<D>(*fixed_.ofLevel, pointToIndex, pointMm);
    for (int d = 0; d < D && moving_.original; ++d)
      pointsMm_[d][p] = pointMm[d];
  }
}

template <int D>
void RigidityImages<D>::atControlPoints(Context& context, const OptimizableTransform<D>& transform,
                                        std::span<const double> parameters, std::span<double> values) const
{
  std::ranges::copy(fixedValues_, values.begin());
  if (!hasMoving())
    return;
  const PointToIndex<D> pointToIndex = moving_.ofLevel->geometry.pointToIndex();
  forEachRange(context, values.size(), batchCapacity, [&](std::size_t first, std::size_t last) {
    PointBatch<D> mapped;
    ListSamples<D> points;
    points.count = last - first;
    for (int d = 0; d < D; ++d)
      points.pointMm[d] = pointsMm_[d].data() + first;
    Context oneThread;
    transform.map(oneThread, points, parameters, mapped.out());
    for (std::size_t i = first; i < last; ++i) {
      Vec<D> mappedMm;
      for (int d = 0; d < D; ++d)
        mappedMm[d] = mapped.mm[d][i - first];
      values[i] = std::max(values[i], valueAt<D>(*moving_.ofLevel, pointToIndex, mappedMm));
    }
  });
}

TESSERA_INSTANTIATE_CLASS(RigidityImages);

}
