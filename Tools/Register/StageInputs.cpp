#include "Tools/Register/StageInputs.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Math/CholeskyFactor.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Image/Points/PointsFile.h"
#include "Core/Image/Points/PointsOutside.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/GeometryInUse.h"
#include "Tools/Batch/MovingImage.h"
#include "Tools/Common/HeaderNotes.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

std::vector<ImageHeader> headersOf(const std::string& option, const std::vector<std::string>& paths,
                                   RunLog& log)
{
  std::vector<ImageHeader> headers;
  for (const std::string& path : paths)
    headers.push_back(readHeaderAndTell(option, path, log));
  return headers;
}

void checkDimension(const std::string& option, const std::vector<ImageHeader>& headers,
                    const ImageHeader& first)
{
  for (const ImageHeader& header : headers)
    if (header.dimension != first.dimension)
      throw Error(ExitCode::usage, option + ": " + header.path + ": an image of dimension "
                                       + std::to_string(header.dimension) + ", but -f " + first.path
                                       + " has dimension " + std::to_string(first.dimension)
                                       + ". Allowed: images and masks of one dimension.");
}

/// The mask of an image without the voxels that are not a number, on the image's grid if there are such
/// voxels.
template <int D>
MaskPointer<D> withoutVoxels(const MaskPointer<D>& mask, const MaskPointer<D>& finite)
{
  if (!finite || !mask)
    return finite ? finite : mask;
  std::vector<std::uint8_t> voxels = finite->voxels;
  const AffineMap<D> pointFromIndex = finite->geometry.pointFromIndex();
  for (std::size_t v = 0; v < voxels.size(); ++v) {
    if (!voxels[v])
      continue;
    Vec<D> index;
    std::size_t rest = v;
    for (int d = 0; d < D; ++d) {
      index[d] = static_cast<double>(rest % finite->geometry.size[d]);
      rest /= finite->geometry.size[d];
    }
    voxels[v] = mask->contains(pointFromIndex(index));
  }
  return std::make_shared<Mask<D>>(finite->geometry, std::move(voxels));
}

template <int D>
void checkVoxels(const std::string& where, const LoadedImage<D>& loaded, bool refusesConstantImages,
                 RunLog& log)
{
  const std::vector<float>& voxels = loaded.image.voxels;
  if (loaded.nanVoxels > 0)
    log.warning(nonFiniteText(where, loaded.nanVoxels));
  const auto [least, greatest] = std::minmax_element(voxels.begin(), voxels.end());
  const std::string constant = where + ": every voxel is " + realText(*least)
                               + ": an image without contrast cannot guide a registration.";
  if (*least == *greatest && refusesConstantImages)
    throw Error(ExitCode::unreadableInput, constant + " Allowed: an image with contrast.");
  if (*least == *greatest)
    log.warning(constant);
  for (int d = 0; d < D; ++d)
    if (loaded.image.geometry.size[d] == 1)
      log.warning(where + ": one voxel on axis " + std::to_string(d)
                  + ": most steps lead out of such an image. A slice should be a 2D image.");
}

template <int D>
void checkOverlap(const std::string& where, const ImageGeometry<D>& image, const Mask<D>& mask)
{
  withContext(where, [&] { return boxInMask<D>(image, &mask); });
}

/// Checks that the grids overlap. The voxels are not read.
template <int D>
void checkGridsOverlap(const std::string& option, const std::vector<ImageHeader>& images,
                       const std::vector<ImageHeader>& masks, bool usesDirectionCosines)
{
  const auto grid = [usesDirectionCosines](const ImageHeader& header) {
    return geometryInUse<D>(geometryOf<D>(header), usesDirectionCosines);
  };
  for (std::size_t i = 0; i < masks.size(); ++i)
    checkOverlap<D>(option + ": " + masks[i].path, grid(images[i]), Mask<D>(grid(masks[i]), {}));
}

template <int D>
MaskPointer<D> placed(const MaskPointer<D>& mask, bool usesDirectionCosines)
{
  if (!mask || usesDirectionCosines)
    return mask;
  return std::make_shared<Mask<D>>(geometryInUse<D>(mask->geometry, usesDirectionCosines), mask->voxels);
}

/// The images and masks of a side where a stage takes them.
template <int D>
void placeSide(const ReadSide<D>& side, bool usesDirectionCosines, std::vector<ImagePointer<D>>& images,
               std::vector<MaskPointer<D>>& masks)
{
  images = side.images;
  for (ImagePointer<D>& image : images)
    if (!usesDirectionCosines)
      image = std::make_shared<Image<D>>(
          Image<D>{geometryInUse<D>(image->geometry, usesDirectionCosines), image->voxels});
  for (const MaskPointer<D>& mask : side.masks)
    masks.push_back(placed<D>(mask, usesDirectionCosines));
  if (std::ranges::none_of(side.finite, [](const MaskPointer<D>& finite) { return finite != nullptr; }))
    return;
  std::vector<MaskPointer<D>> combined;
  for (std::size_t i = 0; i < images.size(); ++i)
    combined.push_back(withoutVoxels<D>(i < masks.size() ? masks[i] : nullptr,
                                        placed<D>(side.finite[i], usesDirectionCosines)));
  masks = std::move(combined);
}

template <int D>
ReadSide<D> loadSide(const std::string& option, const std::vector<std::string>& paths,
                     const std::vector<std::string>& maskPaths, const RegisterOptions& options, RunLog& log)
{
  const int threads = options.threads;
  ReadSide<D> side;
  for (const std::string& path : maskPaths)
    side.masks.push_back(
        withContext(option + "Mask", [&] { return std::make_shared<Mask<D>>(readMask<D>(path, threads)); }));
  for (const std::string& path : paths) {
    std::vector<std::string> notes;
    LoadedImage<D> loaded = withContext(option, [&] { return readImage<D>(path, notes, threads); });
    for (const std::string& note : notes)
      log.note(option + ": " + note);
    checkVoxels<D>(option + ": " + path, loaded, options.refusesConstantImages, log);
    side.images.push_back(std::make_shared<Image<D>>(std::move(loaded.image)));
    side.finite.push_back(loaded.finiteVoxels);
  }
  return side;
}

template <int D>
void checkSide(const std::string& option, const std::vector<std::string>& maskPaths, const ReadSide<D>& side,
               bool usesDirectionCosines)
{
  for (std::size_t i = 0; i < side.masks.size(); ++i)
    checkOverlap<D>(option + "Mask: " + maskPaths[i],
                    geometryInUse<D>(side.images[i]->geometry, usesDirectionCosines),
                    *placed<D>(side.masks[i], usesDirectionCosines));
}

}

InputHeaders readHeaders(const RegisterOptions& options, RunLog& log)
{
  InputHeaders headers{headersOf("-f", options.fixed, log),
                       headersOf("-m", options.moving, log),
                       headersOf("-fMask", options.fixedMasks, log),
                       headersOf("-mMask", options.movingMasks, log),
                       {}};
  if (!options.fixedLabels.empty()) {
    headers.labels = headersOf("--fLabels", {options.fixedLabels}, log);
    if (!options.movingLabels.empty())
      headers.labels.push_back(readHeaderAndTell("--mLabels", options.movingLabels, log));
  }
  const ImageHeader& first = headers.fixed.front();
  if (first.dimension != 2 && first.dimension != 3)
    throw Error(ExitCode::usage, "-f: " + first.path + ": an image of dimension "
                                     + std::to_string(first.dimension) + ": registration in "
                                     + std::to_string(first.dimension)
                                     + "D is not built. Allowed: 2D and 3D images.");
  checkDimension("-f", headers.fixed, first);
  checkDimension("-m", headers.moving, first);
  checkDimension("-fMask", headers.fixedMasks, first);
  checkDimension("-mMask", headers.movingMasks, first);
  checkDimension("--fLabels and --mLabels", headers.labels, first);
  return headers;
}

template <int D>
void checkMasks(const InputHeaders& headers, bool usesDirectionCosines)
{
  checkGridsOverlap<D>("-fMask", headers.fixed, headers.fixedMasks, usesDirectionCosines);
  checkGridsOverlap<D>("-mMask", headers.moving, headers.movingMasks, usesDirectionCosines);
}

/// Reads a weight for each pair or, row by row, the upper triangle of the covariance of its error. The weight
/// of a covariance is the inverse of its mean variance. Weights are divided by their mean.
template <int D>
void readWeights(const std::string& path, ReadPoints<D>& pairs)
{
  constexpr std::size_t entries = D * (D + 1) / 2;
  const std::size_t count = pairs.fixed.values.size();
  const std::string text = readPlainText(path), allowed = "for each of the " + std::to_string(count)
                                                          + " points of -fp a number above 0, or the entries "
                                                          + (D == 2 ? "xx xy yy" : "xx xy xz yy yz zz")
                                                          + " of the covariance of its error";
  TextWords all(path, text, allowed), words = all;
  std::size_t numbers = 0;
  for (; !all.peek().empty(); ++numbers)
    all.nextNumber("a weight");
  if (numbers != count && numbers != entries * count)
    all.fail(std::to_string(numbers) + " numbers");
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (numbers == count) {
      pairs.weights.push_back(words.nextNumber("a weight"));
      if (!(pairs.weights.back() > 0))
        words.fail("a weight that is not above 0");
    } else {
      Matrix<D>& covariance = pairs.covariances.emplace_back();
      double trace = 0;
      for (std::size_t row = 0; row < D; ++row) {
        for (std::size_t column = row; column < D; ++column)
          covariance[row][column] = covariance[column][row] = words.nextNumber("an entry");
        trace += covariance[row][row];
      }
      if (!choleskyFactor<D>(covariance))
        words.fail("a covariance that is not positive definite");
      pairs.weights.push_back(D / trace);
    }
    sum += pairs.weights.back();
  }
  for (double& weight : pairs.weights)
    weight *= static_cast<double>(count) / sum;
}

template <int D>
ReadPoints<D> loadPoints(const RegisterOptions& options)
{
  ReadPoints<D> pairs;
  if (options.fixedPoints.empty())
    return pairs;
  pairs.fixed = withContext("-fp", [&] { return readPoints<D>(options.fixedPoints); });
  if (options.movingPoints.empty())
    return pairs;
  pairs.moving = withContext("-mp", [&] { return readPoints<D>(options.movingPoints); });
  if (pairs.fixed.values.size() != pairs.moving.values.size())
    throw Error(ExitCode::unreadableInput,
                "-fp and -mp: " + std::to_string(pairs.fixed.values.size()) + " fixed and "
                    + std::to_string(pairs.moving.values.size())
                    + " moving points: they do not form pairs. Allowed: as many of one as of the other.");
  if (!options.pointWeights.empty())
    withContext("--point-weights", [&] { readWeights<D>(options.pointWeights, pairs); });
  return pairs;
}

template <int D>
void warnOfPointsOutside(const RegisterOptions& options, const InputHeaders& headers,
                         const ReadPoints<D>& points, bool usesDirectionCosines, RunLog& log)
{
  const auto look = [&](const std::string& option, const std::string& path, const InputPoints<D>& read,
                        const ImageHeader& image) {
    const ImageGeometry<D> geometry = geometryInUse<D>(geometryOf<D>(image), usesDirectionCosines);
    const std::string outside = pointsOutside<D>(pointsInMm<D>(read, geometry), geometry);
    if (!outside.empty())
      log.warning(option + ": " + path + ": " + outside + ".");
  };
  look("-fp", options.fixedPoints, points.fixed, headers.fixed.front());
  look("-mp", options.movingPoints, points.moving, headers.moving.front());
}

template <int D>
ReadInputs<D> loadInputs(const RegisterOptions& options, ReadPoints<D> points, RunLog& log)
{
  ReadInputs<D> inputs;
  inputs.fixed = loadSide<D>("-f", options.fixed, options.fixedMasks, options, log);
  inputs.moving = loadSide<D>("-m", options.moving, options.movingMasks, options, log);
  inputs.hasPoints = !options.fixedPoints.empty();
  inputs.points = std::move(points);
  return inputs;
}

template <int D>
StageInput<D> inputWithoutVoxels(const InputHeaders& headers, bool usesDirectionCosines,
                                 std::size_t pointPairs)
{
  const auto geometry = [usesDirectionCosines](const ImageHeader& header) {
    return geometryInUse<D>(geometryOf<D>(header), usesDirectionCosines);
  };
  StageInput<D> input;
  for (const auto& [from, to] :
       {std::pair{&headers.fixed, &input.fixed}, std::pair{&headers.moving, &input.moving}})
    for (const ImageHeader& header : *from)
      to->push_back(std::make_shared<Image<D>>(Image<D>{geometry(header), {}}));
  for (const auto& [from, to] : {std::pair{&headers.fixedMasks, &input.fixedMasks},
                                 std::pair{&headers.movingMasks, &input.movingMasks}})
    for (const ImageHeader& header : *from)
      to->push_back(std::make_shared<Mask<D>>(geometry(header), std::vector<std::uint8_t>{}));
  input.points.fixedMm.resize(pointPairs);
  input.points.movingMm.resize(pointPairs);
  input.hasPoints = pointPairs > 0;
  return input;
}

template <int D>
void checkMaskedVoxels(const RegisterOptions& options, const ReadInputs<D>& inputs, bool usesDirectionCosines)
{
  checkSide<D>("-f", options.fixedMasks, inputs.fixed, usesDirectionCosines);
  checkSide<D>("-m", options.movingMasks, inputs.moving, usesDirectionCosines);
}

template <int D>
LoadedInputs<D> inputsOfStage(const ReadInputs<D>& read, bool usesDirectionCosines)
{
  LoadedInputs<D> inputs;
  placeSide<D>(read.fixed, usesDirectionCosines, inputs.fixed, inputs.fixedMasks);
  placeSide<D>(read.moving, usesDirectionCosines, inputs.moving, inputs.movingMasks);
  inputs.validMoving = placed<D>(read.moving.finite.front(), usesDirectionCosines);
  inputs.points = {pointsInMm<D>(read.points.fixed, inputs.fixed.front()->geometry),
                   pointsInMm<D>(read.points.moving, inputs.moving.front()->geometry), read.points.weights,
                   read.points.covariances};
  inputs.hasPoints = read.hasPoints;
  return inputs;
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template StageInput<D> inputWithoutVoxels<D>(const InputHeaders&, bool, std::size_t);                      \
  template void checkMasks<D>(const InputHeaders&, bool);                                                    \
  template ReadPoints<D> loadPoints<D>(const RegisterOptions&);                                              \
  template void warnOfPointsOutside<D>(const RegisterOptions&, const InputHeaders&, const ReadPoints<D>&,    \
                                       bool, RunLog&);                                                       \
  template ReadInputs<D> loadInputs<D>(const RegisterOptions&, ReadPoints<D>, RunLog&);                      \
  template void checkMaskedVoxels<D>(const RegisterOptions&, const ReadInputs<D>&, bool);                    \
  template LoadedInputs<D> inputsOfStage<D>(const ReadInputs<D>&, bool);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
