#include "Core/Runs/Transforming/FromTime.h"

#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Chain/EachTimeTransform.h"
#include "Core/Registration/Chain/JoinedChain.h"
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

/// Whether a chain leaves the last coordinate of voxels of a grid, some hundred of which are looked at.
template <int D>
bool keepsTimes(const TransformChain<D>& chain, const ImageGeometry<D>& grid)
{
  const double most = 1e-3 * grid.spacingMm[D - 1];
  const AffineMap<D> pointFromIndex = grid.pointFromIndex();
  PointBatch<D> points;
  points.count = std::min(batchCapacity, grid.voxelCount());
  for (std::size_t i = 0; i < points.count; ++i)
    points.set(i, pointFromIndex(indexOfVoxel<D>(grid.size, i * grid.voxelCount() / points.count)));
  const std::vector<double>&before = points.mm[D - 1], after = mappedPoints<D>(&chain, points).mm[D - 1];
  return std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(points.count), after.begin(),
                    [most](double a, double b) { return std::abs(a - b) <= most; });
}

/// One time of a file of the whole series. It counts by its number: formats keep the times of a series in
/// other ways.
template <int D>
LoadedImage<D - 1> timeOf(const LoadedImage<D>& whole, const ImageGeometry<D>& series, std::size_t number,
                          const std::string& path)
{
  const ImageGeometry<D>& geometry = whole.image.geometry;
  if (geometry.size[D - 1] != series.size[D - 1])
    throw Error(ExitCode::unreadableInput, path + ": its last axis has a size of "
                                               + std::to_string(geometry.size[D - 1]) + ", and the series "
                                               + std::to_string(series.size[D - 1])
                                               + " times. Allowed: a file of one time, or of all times.");
  LoadedImage<D - 1> slice;
  slice.image.geometry = sliceGeometry<D>(geometry);
  const std::size_t count = slice.image.geometry.voxelCount();
  const auto ofTime = [&](const auto& voxels) {
    const auto first = voxels.begin() + static_cast<std::ptrdiff_t>(number * count);
    return std::vector(first, first + static_cast<std::ptrdiff_t>(count));
  };
  slice.image.voxels = ofTime(whole.image.voxels);
  if (whole.finiteVoxels)
    slice.finiteVoxels =
        std::make_shared<Mask<D - 1>>(slice.image.geometry, ofTime(whole.finiteVoxels->voxels));
  return slice;
}

template <class T>
std::vector<T> twice(std::vector<T> voxels)
{
  voxels.reserve(2 * voxels.size());
  std::copy_n(voxels.begin(), voxels.size(), std::back_inserter(voxels));
  return voxels;
}

}

void requireTime(std::size_t number, std::size_t times)
{
  if (number >= times)
    throw Error(ExitCode::usage, "--from-time " + std::to_string(number) + ": the series has "
                                     + std::to_string(times) + " times. Allowed: 0 to "
                                     + std::to_string(times - 1) + ".");
}

template <int D>
ChainPointer<D> chainFromTime(const TransformFileContent<D>& file, const Registry& registry,
                              const ImageGeometry<D>& grid, std::size_t number, double toleranceMm)
{
  if (D == 2)
    throw Error(ExitCode::usage, "--from-time: the transform is in 2D. Allowed: that of a series, which has "
                                 "time as its third or fourth axis.");
  const ImageGeometry<D>& series = seriesOf(file);
  requireTime(number, series.size[D - 1]);
  if (!keepsTimes<D>(*file.chain, grid))
    throw Error(ExitCode::usage,
                "--from-time: the transform moves points along the last axis, which is not time. "
                "Allowed: the transform of a groupwise registration of a series.");
  TransformChain<D> atTime{.initial = inverseOnGrid<D>(nullptr, file.chain, registry, grid, toleranceMm)};
  atTime.transform = std::make_shared<AtOneTime<D>>(series.originMm[D - 1]
                                                    + series.spacingMm[D - 1] * static_cast<double>(number));
  return joinedChain<D>(std::make_shared<TransformChain<D>>(std::move(atTime)), file.chain, registry);
}

template <int D>
void placeAtTime(std::vector<ImageTask>& tasks, const TransformFileContent<D>& file, std::size_t number,
                 int threads, Log& log)
{
  if constexpr (D > 2)
    for (ImageTask& task : tasks)
      try {
        const ImageHeader header = headerOf(task);
        if (!task.input.isFile())
          continue;
        std::vector<std::string> notes;
        LoadedImage<D - 1> slice =
            header.dimension == D && header.size.back() > 1
                ? timeOf<D>(readImage<D>(task.input.path, task.reading, notes, threads), seriesOf(file),
                            number, task.input.path)
                : readImage<D - 1>(task.input.path, task.reading, notes, threads);
        for (const std::string& note : notes)
          log.note(task.option + ": " + note);
        LoadedImage<D> placed{
            {geometryAtTime<D>(slice.image.geometry, seriesOf(file), number), twice(slice.image.voxels)},
            slice.nanVoxels};
        if (slice.finiteVoxels)
          placed.finiteVoxels =
              std::make_shared<Mask<D>>(placed.image.geometry, twice(slice.finiteVoxels->voxels));
        task.header = headerOf<D>(header.path, placed.image.geometry, header.componentType);
        task.input.inMemory = HeldImage<D>(std::move(placed), header.componentType);
      } catch (...) {
        task.failure = std::current_exception();
      }
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(chainFromTime<D>, placeAtTime<D>);

}
