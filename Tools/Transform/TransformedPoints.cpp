#include "Tools/Transform/TransformedPoints.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Points/PointsFile.h"
#include "Core/Runs/TransformOutput/InverseRun.h"

#include <cmath>

namespace tessera {
namespace {

template <int D>
std::vector<Vec<D>> mapped(Context& context, const TransformChain<D>& chain,
                           const std::vector<Vec<D>>& pointsMm)
{
  std::vector<Vec<D>> result(pointsMm.size());
  forEachRange(context, pointsMm.size(), batchCapacity, [&](std::size_t first, std::size_t last) {
    PointBatch<D> points;
    points.count = last - first;
    for (std::size_t i = first; i < last; ++i)
      for (int d = 0; d < D; ++d)
        points.mm[d][i - first] = pointsMm[i][d];
    mapChain<D>(context, chain, points.list(), points.out());
    for (std::size_t i = first; i < last; ++i)
      for (int d = 0; d < D; ++d)
        result[i][d] = points.mm[d][i - first];
  });
  return result;
}

template <int D>
std::size_t countFractional(const std::vector<Vec<D>>& indices)
{
  std::size_t count = 0;
  for (const Vec<D>& index : indices)
    for (int d = 0; d < D; ++d)
      if (index[d] != std::floor(index[d])) {
        ++count;
        break;
      }
  return count;
}

/// The counts of roots, and the numbers of the first points without one.
template <int D>
void logRootsOfPoints(const TransformChain<D>& inverse, const std::vector<Vec<D>>& outputMm, Log& log)
{
  logRoots<D>(inverse, outputMm.size(), "points", log);
  constexpr std::size_t most = 20;
  std::string numbers;
  std::size_t count = 0;
  for (std::size_t i = 0; i < outputMm.size(); ++i)
    if (std::isnan(outputMm[i][0]) && ++count <= most)
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(i);
  if (count > 0)
    log.warning("-def: points without a root, counted from 0: " + numbers
                + (count > most ? " and " + std::to_string(count - most) + " more" : "") + ".");
}

bool isVtkFile(const std::string& path)
{
  return path.ends_with(".vtk");
}

}

std::string nameOfOutputPoints(const std::string& path)
{
  return isVtkFile(path) ? "outputpoints.vtk" : "outputpoints.txt";
}

template <int D>
void transformPoints(Context& context, const PointsTransform<D>& by, const std::string& path,
                     const std::string& folder, Log& log)
{
  log.info("Transforming points ...\n  The transform is evaluated on some points, specified in the input "
           "point file.");
  log.info("  Reading input point file: " + path);
  const InputPoints<D> input = withContext("-def", [&] { return readPoints<D>(path); });
  log.info("  Input points are specified "
           + std::string(input.areIndices ? "as image indices." : "in world coordinates."));
  log.info("  Number of specified input points: " + std::to_string(input.values.size()));
  if (const std::size_t rounded = input.areIndices ? countFractional<D>(input.values) : 0; rounded > 0)
    log.warning("-def: " + path + ": " + std::to_string(rounded)
                + " indices are not whole; they are rounded to the nearest voxel, as transformix does. "
                  "Points in mm are not rounded.");
  if (input.areIndices && !by.inputGrid)
    throw Error(ExitCode::usage, "-def: " + path
                                     + ": indices of voxels, but the grid of the moving image is not known. "
                                       "Allowed: --grid IMAGE beside --inverse, or points in mm.");

  if (input.flattened > 0)
    log.warning("-def: " + path + ": " + std::to_string(input.flattened)
                + " points do not lie in the plane of the 2D transform; their third coordinate is not read.");

  const bool isVtk = isVtkFile(path);
  const std::string output = folder + nameOfOutputPoints(path);
  const std::vector<Vec<D>> inputMm = input.areIndices ? pointsInMm<D>(input, *by.inputGrid) : input.values;
  const auto chain =
      by.inverseBy ? withContext(
          "--inverse", [&] { return inverseForPoints<D>(context, by.chain, *by.inverseBy, inputMm); })
                   : by.chain;
  const std::vector<Vec<D>> outputMm = mapped<D>(context, *chain, inputMm);
  log.info("  The input points are transformed.");
  if (by.inverseBy)
    logRootsOfPoints<D>(*chain, outputMm, log);
  writeTextFile(output,
                isVtk ? outputPointsVtk<D>(outputMm, input.cells, input.coordinates)
                      : outputPointsText<D>({inputMm, outputMm, by.inputGrid, by.fixedGrid, by.movingGrid}));
  log.info("  The transformed points are saved in: " + output);
}

template void transformPoints(Context&, const PointsTransform<2>&, const std::string&, const std::string&,
                              Log&);
template void transformPoints(Context&, const PointsTransform<3>&, const std::string&, const std::string&,
                              Log&);

}
