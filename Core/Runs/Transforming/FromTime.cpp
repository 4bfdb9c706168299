#include "Core/Runs/Transforming/FromTime.h"

#include "Core/Compute/Math/WithConstant.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Slices/VolumeReader.h"
#include "Core/Registration/Chain/EachTimeTransform.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/Samples/TimeSlices.h"
#include "Core/Runs/Resampling/HostInterpolator.h"
#include "Core/Runs/TransformOutput/InverseRun.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tessera {
namespace {

template <int D>
const ImageGeometry<D>& seriesOf(const TransformFileContent<D>& file)
{
  return file.fixed ? *file.fixed : file.output;
}

bool isWhole(const ImageHeader& header, int dimension)
{
  return header.dimension == dimension && header.size.back() > 1;
}

/// The grid of one time in a file, which must be of that time or of the series, and lie where the series is.
template <int D>
ImageGeometry<D - 1> sliceOf(const ImageHeader& header, const ImageGeometry<D>& series,
                             bool usesDirectionCosines)
{
  if (isWhole(header, D) && header.size.back() != series.size[D - 1])
    failAs(ExitCode::unreadableInput, header.path,
           "its last axis has a size of " + std::to_string(header.size.back()) + ", and the series "
               + std::to_string(series.size[D - 1]) + " times",
           "a file of one time, or of all times");
  const ImageGeometry<D - 1> slice =
      isWhole(header, D) ? sliceGeometry<D>(geometryOf<D>(header)) : geometryOf<D - 1>(header);
  const Mask<D - 1> box(geometryInUse<D - 1>(slice, usesDirectionCosines), {});
  try {
    boxInMask<D - 1>(geometryInUse<D - 1>(sliceGeometry<D>(series), usesDirectionCosines), &box);
  } catch (const Error&) {
    failAs(ExitCode::unreadableInput, header.path, "it lies wholly beside the series",
           "an image of one of its times, at its place in mm");
  }
  return slice;
}

template <class T>
std::vector<T> twice(std::vector<T> voxels)
{
  voxels.reserve(2 * voxels.size());
  std::copy_n(voxels.begin(), voxels.size(), std::back_inserter(voxels));
  return voxels;
}

/// The voxels of one time. Of a file of the series it counts by its number: formats keep the times of a
/// series in other ways.
template <int D>
HeldImage<D> imageAtTime(const ImageTask& task, const ImageGeometry<D>& placed, std::size_t number,
                         bool isSeries, std::vector<std::string>& notes, int threads)
{
  using Slice = HeldImage<D - 1>;
  const PixelType type = task.header->componentType;
  const std::string& path = task.input.path;
  Slice slice = !task.input.isFile() ? *task.input.held<D - 1>()
                : isSeries ? Slice(VolumeReader<D - 1>(path, task.reading, threads).read(number, threads))
                           : Slice(readImage<D - 1>(path, task.reading, notes, threads), type);
  HeldImage<D> image(std::make_shared<Image<D>>(Image<D>{placed, twice(slice.image->voxels)}));
  image.nanVoxels = slice.nanVoxels;
  if (slice.finiteVoxels)
    image.finiteVoxels = std::make_shared<Mask<D>>(placed, twice(slice.finiteVoxels->voxels));
  return image;
}

}

template <int D>
bool keepsTimes(const TransformChain<D>& chain, const ImageGeometry<D>& grid)
{
  const AffineMap<D> pointFromIndex = grid.pointFromIndex();
  PointBatch<D> points;
  points.count = std::min(batchCapacity, grid.voxelCount());
  for (std::size_t i = 0; i < points.count; ++i)
    points.set(i, pointFromIndex(indexOfVoxel<D>(grid.size, i * grid.voxelCount() / points.count)));
  const std::vector<double>&before = points.mm[D - 1], after = mappedPoints<D>(&chain, points).mm[D - 1];
  const double most = 1e-9 * grid.spacingMm[D - 1]; // rounding; the motion of a pair leaves more
  return std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(points.count), after.begin(),
                    [most](double a, double b) { return std::abs(a - b) <= most; });
}

void requireTime(std::size_t number, std::span<const std::size_t> size)
{
  if (size.size() < 3)
    failAs(ExitCode::usage, "--from-time", "in 2D", "a series, which has time as its third or fourth axis");
  if (const std::size_t times = size.back(); number >= times)
    failAs(ExitCode::usage, "--from-time " + std::to_string(number),
           "the series has " + std::to_string(times) + " times", "0 to " + std::to_string(times - 1));
}

template <int D>
ChainPointer<D> chainFromTime(const TransformFileContent<D>& file, const Registry& registry,
                              const ImageGeometry<D>& grid, std::size_t number, double toleranceMm)
{
  const ImageGeometry<D>& series = seriesOf(file);
  requireTime(number, series.size);
  if (const bool isAlike = isLinearChain<D>(file.chain.get()); isAlike || !keepsTimes<D>(*file.chain, grid))
    throw Error(ExitCode::usage, std::string("--from-time: the transform moves ")
                                     + (isAlike ? "all places along the last axis alike"
                                                : "points along the last axis, which is not time")
                                     + ". Allowed: the transform of a groupwise registration of a series.");
  const double spacing = series.spacingMm[D - 1];
  TransformChain<D> fromTime;
  fromTime.transform = std::make_shared<FromTimeTransform<D>>(
      inverseOnGrid<D>(nullptr, file.chain, registry, grid, toleranceMm), file.chain,
      series.originMm[D - 1] + spacing * static_cast<double>(number), spacing);
  return std::make_shared<TransformChain<D>>(std::move(fromTime));
}

void requireAtTime(const ImageHeader& image, const ImageHeader& series, bool usesDirectionCosines)
{
  withConstant<3, 4>(series.dimension,
                     [&]<int D>() { sliceOf<D>(image, geometryOf<D>(series), usesDirectionCosines); });
}

template <int D>
void placeAtTime(std::vector<ImageTask>& tasks, const TransformFileContent<D>& file, std::size_t number)
{
  if constexpr (D > 2)
    for (ImageTask& task : tasks)
      try {
        const ImageHeader header = headerOf(task);
        if (!task.input.isFile() && isWhole(header, D))
          failAs(ExitCode::usage, task.input.path, "a whole series in memory", "one of its times");
        const ImageGeometry<D> placed = geometryAtTime<D>(
            sliceOf<D>(header, seriesOf(file), file.useDirectionCosines), seriesOf(file), number);
        task.header = headerOf<D>(header.path, placed, header.componentType);
        task.header->notes = header.notes;
        task.load = [number, placed, isSeries = isWhole(header, D)](
                        const ImageTask& of, std::vector<std::string>& notes, int threads) {
          return GivenImage{of.input.path, imageAtTime<D>(of, placed, number, isSeries, notes, threads)};
        };
      } catch (...) {
        task.failure = std::current_exception();
      }
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(keepsTimes<D>, chainFromTime<D>, placeAtTime<D>);

}
