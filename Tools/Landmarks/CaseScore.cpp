#include "Tools/Landmarks/CaseScore.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Compute/Math/WithConstant.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Image/Points/LandmarkFile.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Transform.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Runs/HeaderNotes.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

[[noreturn]] void fail(const std::string& wrong, const std::string& allowed)
{
  throw Error(ExitCode::usage, wrong + ". Allowed: " + allowed + ".");
}

bool isItkTransformFile(const std::string& path)
{
  return path.ends_with(".tfm") || path.ends_with(".h5") || path.ends_with(".hdf5");
}

LandmarkFormat formatOf(const ScoreCase& c)
{
  return c.has("dirlab") && !c.has("format") ? LandmarkFormat::dirlab
                                             : landmarkFormatOf(c.get("format", "automatic"), "--format");
}

int dimensionOf(const ScoreCase& c)
{
  if (c.has("dirlab"))
    return 3;
  for (const char* image : {"f", "m"})
    if (c.has(image))
      return withContext(std::string("-") + image,
                         [&] { return readImageHeader(c.get(image), c.reading).dimension; });
  if (c.has("tp") && !isItkTransformFile(c.get("tp")))
    return static_cast<int>(withContext("-tp", [&] { return readTransformDimension(c.get("tp")); }));
  return withContext("-fp", [&] { return dimensionOfLandmarks(c.get("fp"), formatOf(c)); });
}

/// The grid of -f or -m, or of the case of DIR-Lab; empty: neither is given.
template <int D>
std::optional<ImageGeometry<D>> gridOf(const ScoreCase& c, const std::string& option, Log& log)
{
  std::optional<ImageGeometry<D>> grid;
  if constexpr (D == 3)
    if (c.has("dirlab"))
      grid = dirLabGrid(c.get("dirlab"), "--dirlab");
  if (!c.has(option))
    return grid;
  const ImageHeader header = readHeaderAndTell("-" + option, c.get(option), c.reading, log, &Log::warning);
  return withContext("-" + option, [&] {
    const ImageGeometry<D> gridOfImage = geometryOf<D>(header);
    if (grid && grid->size != gridOfImage.size)
      fail(c.get(option) + ": its size is not that of DIR-Lab's " + c.get("dirlab"),
           "the images of the case, or -f and -m without --dirlab");
    return gridOfImage;
  });
}

/// Reads landmarks in mm, whatever the file has. Voxels are not rounded: they may be fractional.
template <int D>
Landmarks<D> landmarksMm(const ScoreCase& c, const std::string& option, const std::string& imageOption,
                         const std::optional<ImageGeometry<D>>& grid)
{
  const std::string where = (option == "mapped" ? "--" : "-") + option;
  return withContext(where, [&] {
    Landmarks<D> landmarks = readLandmarks<D>(c.get(option), formatOf(c));
    if (!landmarks.areIndices)
      return landmarks;
    if (!grid)
      fail(c.get(option) + ": its points are voxels, but the grid of the image is not known",
           "-" + imageOption + " IMAGE, --dirlab CASE, or points in mm");
    const AffineMap<D> pointFromIndex = grid->pointFromIndex();
    for (Vec<D>& value : landmarks.values)
      value = pointFromIndex(value);
    return landmarks;
  });
}

/// Brings the points to the order of the names. Files without names are in order already.
template <int D>
void matchTo(const std::vector<std::string>& names, const std::string& path, Landmarks<D>& landmarks)
{
  if (names.empty() != landmarks.names.empty())
    failToRead(path, "one of the files numbers its points, the other does not", "the same columns in both");
  std::vector<Vec<D>> ordered;
  for (const std::string& name : names) {
    const auto place = std::ranges::find(landmarks.names, name);
    if (place == landmarks.names.end())
      failToRead(path, "the point \"" + name + "\" is missing", "the same points in both files");
    ordered.push_back(landmarks.values[static_cast<std::size_t>(place - landmarks.names.begin())]);
  }
  if (!names.empty())
    landmarks.values = std::move(ordered);
}

template <int D>
std::vector<Vec<D>> mappedFromFile(const ScoreCase& c, const std::vector<std::string>& names,
                                   const std::optional<ImageGeometry<D>>& movingGrid)
{
  const std::string path = c.get("mapped");
  if (withContext("--mapped", [&] { return readWholeFile(path); }).starts_with("Point\t"))
    return withContext("--mapped", [&] { return readPoints<D>(path).values; });
  Landmarks<D> landmarks = landmarksMm<D>(c, "mapped", "m", movingGrid);
  matchTo<D>(names, "--mapped: " + path, landmarks);
  return landmarks.values;
}

template <int D>
std::vector<Vec<D>> mappedBy(const TransformChain<D>& chain, const std::vector<Vec<D>>& pointsMm)
{
  std::vector<Vec<D>> mapped = pointsMm;
  for (Vec<D>& pointMm : mapped) {
    pointMm = mappedPoint<D>(chain, pointMm);
    if (!std::ranges::all_of(pointMm, [](double coordinate) { return std::isfinite(coordinate); }))
      fail("-tp: the transform maps a landmark to no finite point", "a transform that does");
  }
  return mapped;
}

template <int D>
std::vector<double> listOf(const Vec<D>& point)
{
  return {point.begin(), point.end()};
}

/// Errors by the convention: `grid` is that of the moving image if mapped points are rounded to voxels.
template <int D>
std::vector<Vec<D>> errorsOf(std::vector<Vec<D>> mappedMm, const std::vector<Vec<D>>& movingMm,
                             const std::optional<ImageGeometry<D>>& grid)
{
  for (std::size_t i = 0; i < mappedMm.size(); ++i) {
    if (grid) {
      Vec<D> index = grid->pointToIndex()(mappedMm[i]);
      for (double& coordinate : index)
        coordinate = std::floor(coordinate + 0.5);
      mappedMm[i] = grid->pointFromIndex()(index);
    }
    for (int d = 0; d < D; ++d)
      mappedMm[i][d] -= movingMm[i][d];
  }
  return mappedMm;
}

template <int D>
struct Mapping {
  std::vector<Vec<D>> mappedMm;
  SharesOutside outside; // of the grid of the transform file
  std::optional<VolumeChange> volumes;
  std::optional<double> determinant; // of a linear transform
};

template <int D>
Mapping<D>
mappingOf(const ScoreCase& c, const Landmarks<D>& fixed, const std::optional<ImageGeometry<D>>& fixedGrid,
          const std::optional<ImageGeometry<D>>& movingGrid, int threads, const Registry& registry, Log& log)
{
  if (c.has("mapped"))
    return {mappedFromFile<D>(c, fixed.names, movingGrid), {}, {}, {}};
  const auto warn = [&log](const std::string& line) { log.warning(line); };
  const Context host{Device{}, threads};
  const std::string path = c.get("tp");
  return withContext("-tp", [&]() -> Mapping<D> {
    std::optional<ImageGeometry<D>> grid = fixedGrid;
    ChainPointer<D> chain;
    if (isItkTransformFile(path))
      chain = readTransformChain<D>(host, path, registry, warn);
    else {
      const TransformFileContent<D> file =
          readTransformFile<D>(host, path, registry, warn, grid ? &*grid : nullptr);
      chain = file.chain;
      grid = file.output;
    }
    Mapping<D> mapping{mappedBy<D>(*chain, fixed.values), {}, {}, {}};
    if (grid)
      tellPointsOutside<D>("-fp: " + c.get("fp") + ": ", fixed.values, *grid, fixed.areIndices, 0.5,
                           mapping.outside["fixed"], log);
    if (const auto linear = asLinearMap<D>(chain.get(), chain->parameters)) {
      mapping.determinant = determinant(linear->matrix);
      return mapping;
    }
    if (!grid)
      return mapping;
    MaskPointer<D> mask;
    if (c.has("fMask")) {
      readHeaderAndTell("-fMask", c.get("fMask"), c.reading, log, &Log::warning);
      mask = std::make_shared<Mask<D>>(
          withContext("-fMask", [&] { return readMask<D>(c.get("fMask"), c.reading, threads); }));
    }
    const auto onGrid = std::make_shared<const Image<D>>(Image<D>{*grid, {}});
    mapping.volumes = volumeChange<D>(host, registry, *chain, onGrid, mask);
    return mapping;
  });
}

/// Fails if a landmark lies beyond the outer voxels of its image, for then the file and the image do not
/// belong together.
template <int D>
void requireInside(const ScoreCase& c, const std::string& option, const Landmarks<D>& points,
                   const std::string& imageOption, const std::optional<ImageGeometry<D>>& grid)
{
  const PointsOutside found =
      grid ? pointsOutside<D>(points.values, *grid, points.areIndices) : PointsOutside{};
  if (found.outside > 0)
    failToRead("-" + option + ": " + c.get(option), found.text(),
               "points in the image, in mm to the patient's left, back and head (LPS)"
                   + (c.has(imageOption) ? ", or no -" + imageOption : std::string()));
}

template <int D>
CaseScore scored(const ScoreCase& c, bool isRounded, int threads, const Registry& registry, Log& log)
{
  const std::optional<ImageGeometry<D>> fixedGrid = gridOf<D>(c, "f", log),
                                        movingGrid = gridOf<D>(c, "m", log);
  const std::optional<ImageGeometry<D>> roundingGrid =
      isRounded ? movingGrid : std::optional<ImageGeometry<D>>{};
  if (isRounded && !movingGrid)
    fail("--convention rounded: the grid of the moving image is not known", "-m IMAGE or --dirlab CASE");
  const Landmarks<D> fixed = landmarksMm<D>(c, "fp", "f", fixedGrid);
  Landmarks<D> moving = landmarksMm<D>(c, "mp", "m", movingGrid);
  const auto checkCount = [&](const std::string& option, std::size_t count) {
    if (count != fixed.values.size())
      failToRead("-fp and " + option,
                 std::to_string(fixed.values.size()) + " and " + std::to_string(count)
                     + " points do not correspond",
                 "as many of one as of the other");
  };
  checkCount("-mp", moving.values.size());
  requireInside<D>(c, "fp", fixed, "f", fixedGrid);
  requireInside<D>(c, "mp", moving, "m", movingGrid);
  matchTo<D>(fixed.names, "-mp: " + c.get("mp"), moving);

  CaseScore result;
  result.id = c.id;
  result.dimension = D;
  if (movingGrid)
    result.pointsOutside["moving"] = 0; // or requireInside() has failed
  if (fixedGrid) {
    result.pointsOutside["fixed"] = 0;
    Vec<D> extentMm{};
    for (int d = 0; d < std::min(D, 3); ++d) // a fourth axis is time
      extentMm[d] = fixedGrid->spacingMm[d] * static_cast<double>(fixedGrid->size[d]);
    result.diagonalMm = lengthOf<D>(extentMm);
  }
  const std::vector<Vec<D>> before = errorsOf<D>(fixed.values, moving.values, roundingGrid);
  result.before = errorStatistics<D>(before);
  std::vector<Vec<D>> mappedMm = fixed.values, after = before;
  if (c.has("tp") || c.has("mapped")) {
    Mapping<D> mapping = mappingOf<D>(c, fixed, fixedGrid, movingGrid, threads, registry, log);
    checkCount("--mapped", mapping.mappedMm.size());
    mappedMm = std::move(mapping.mappedMm);
    after = errorsOf<D>(mappedMm, moving.values, roundingGrid);
    result.after = errorStatistics<D>(after);
    result.volumes = mapping.volumes;
    result.determinant = mapping.determinant;
    result.pointsOutside.merge(mapping.outside);
  }
  for (std::size_t i = 0; i < before.size(); ++i)
    result.points.push_back({fixed.names.empty() ? std::to_string(i + 1) : fixed.names[i],
                             listOf<D>(fixed.values[i]), listOf<D>(moving.values[i]), listOf<D>(mappedMm[i]),
                             lengthOf<D>(before[i]), lengthOf<D>(after[i])});
  return result;
}

}

CaseScore scoreCase(const ScoreCase& c, bool isRounded, int threads, const Registry& registry, Log& log)
{
  return withContext(c.where, [&] {
    const int dimension = dimensionOf(c);
    if (dimension < 2 || dimension > 4)
      fail(std::to_string(dimension) + " dimensions", "2, 3, or 4 for a series");
    return withConstant<2, 4>(dimension,
                              [&]<int D>() { return scored<D>(c, isRounded, threads, registry, log); });
  });
}

}
