#include "Tools/Register/StageInputs.h"

#include "Components/Transforms/Shared/LandmarkSplines/SmoothedLandmarks.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Image/Points/PointsFile.h"
#include "Core/Image/Points/PointsOutside.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

std::vector<ImageHeader> headersOf(const std::string& option, const std::vector<std::string>& paths)
{
  std::vector<ImageHeader> headers;
  for (const std::string& path : paths)
    headers.push_back(withContext(option, [&] { return readImageHeader(path); }));
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
    log.warning(where + ": " + std::to_string(loaded.nanVoxels)
                + " voxels are not a finite number; they count as outside the image.");
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
                       const std::vector<ImageHeader>& masks)
{
  for (std::size_t i = 0; i < masks.size(); ++i)
    checkOverlap<D>(option + ": " + masks[i].path, geometryOf<D>(images[i]),
                    Mask<D>(geometryOf<D>(masks[i]), {}));
}

/// Returns where the voxels of the first image are numbers; null: everywhere.
template <int D>
MaskPointer<D> loadSide(const std::string& option, const std::vector<std::string>& paths,
                        const std::vector<std::string>& maskPaths, const RegisterOptions& options,
                        std::vector<ImagePointer<D>>& images, std::vector<MaskPointer<D>>& masks, RunLog& log)
{
  const int threads = options.threads;
  for (const std::string& path : maskPaths)
    masks.push_back(
        withContext(option + "Mask", [&] { return std::make_shared<Mask<D>>(readMask<D>(path, threads)); }));
  std::vector<MaskPointer<D>> finite;
  bool anyNotFinite = false;
  for (const std::string& path : paths) {
    std::vector<std::string> notes;
    LoadedImage<D> loaded = withContext(option, [&] { return readImage<D>(path, notes, threads); });
    for (const std::string& note : notes)
      log.note(option + ": " + note);
    checkVoxels<D>(option + ": " + path, loaded, options.refusesConstantImages, log);
    images.push_back(std::make_shared<Image<D>>(std::move(loaded.image)));
    finite.push_back(loaded.finiteVoxels);
    anyNotFinite = anyNotFinite || loaded.finiteVoxels;
  }
  for (std::size_t i = 0; i < masks.size(); ++i)
    checkOverlap<D>(option + "Mask: " + maskPaths[i], images[i]->geometry, *masks[i]);
  if (!anyNotFinite)
    return nullptr;
  std::vector<MaskPointer<D>> combined;
  for (std::size_t i = 0; i < images.size(); ++i)
    combined.push_back(withoutVoxels<D>(i < masks.size() ? masks[i] : nullptr, finite[i]));
  masks = std::move(combined);
  return finite.front();
}

}

InputHeaders readHeaders(const RegisterOptions& options)
{
  InputHeaders headers{headersOf("-f", options.fixed),
                       headersOf("-m", options.moving),
                       headersOf("-fMask", options.fixedMasks),
                       headersOf("-mMask", options.movingMasks),
                       {}};
  if (!options.fixedLabels.empty()) {
    headers.labels = headersOf("--fLabels", {options.fixedLabels});
    if (!options.movingLabels.empty())
      headers.labels.push_back(headersOf("--mLabels", {options.movingLabels}).front());
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
void checkMasks(const InputHeaders& headers)
{
  checkGridsOverlap<D>("-fMask", headers.fixed, headers.fixedMasks);
  checkGridsOverlap<D>("-mMask", headers.moving, headers.movingMasks);
}

/// Reads a weight for each pair or, row by row, the upper triangle of the covariance of its error. The weight
/// of a covariance is the inverse of its mean variance. Weights are divided by their mean.
template <int D>
void readWeights(const std::string& path, PointPairs<D>& pairs)
{
  constexpr std::size_t entries = D * (D + 1) / 2;
  const std::size_t count = pairs.fixedMm.size();
  const std::string text = readWholeFile(path), allowed = "for each of the " + std::to_string(count)
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
PointPairs<D> loadPoints(const RegisterOptions& options, const InputHeaders& headers, RunLog& log)
{
  if (options.fixedPoints.empty())
    return {};
  const auto read = [&log](const std::string& option, const std::string& path, const ImageHeader& image) {
    return withContext(option, [&] {
      const ImageGeometry<D> geometry = geometryOf<D>(image);
      std::vector<Vec<D>> pointsMm = pointsInMm<D>(readPoints<D>(path), geometry);
      if (const std::string outside = pointsOutside<D>(pointsMm, geometry); !outside.empty())
        log.warning(option + ": " + path + ": " + outside + ".");
      return pointsMm;
    });
  };
  PointPairs<D> pairs{read("-fp", options.fixedPoints, headers.fixed.front()), {}};
  if (options.movingPoints.empty())
    return pairs;
  pairs.movingMm = read("-mp", options.movingPoints, headers.moving.front());
  if (pairs.fixedMm.size() != pairs.movingMm.size())
    throw Error(ExitCode::unreadableInput,
                "-fp and -mp: " + std::to_string(pairs.fixedMm.size()) + " fixed and "
                    + std::to_string(pairs.movingMm.size())
                    + " moving points: they do not form pairs. Allowed: as many of one as of the other.");
  if (!options.pointWeights.empty())
    withContext("--point-weights", [&] { readWeights<D>(options.pointWeights, pairs); });
  return pairs;
}

template <int D>
LoadedInputs<D> loadInputs(const RegisterOptions& options, PointPairs<D> points, RunLog& log)
{
  LoadedInputs<D> inputs;
  loadSide<D>("-f", options.fixed, options.fixedMasks, options, inputs.fixed, inputs.fixedMasks, log);
  inputs.validMoving =
      loadSide<D>("-m", options.moving, options.movingMasks, options, inputs.moving, inputs.movingMasks, log);
  inputs.hasPoints = !options.fixedPoints.empty();
  inputs.points = std::move(points);
  return inputs;
}

template <int D>
StageInput<D> inputWithoutVoxels(const InputHeaders& headers, bool useDirectionCosines,
                                 std::size_t pointPairs)
{
  const auto geometry = [&](const ImageHeader& header) {
    const ImageGeometry<D> asWritten = geometryOf<D>(header);
    return useDirectionCosines ? asWritten : withIdentityDirection<D>(asWritten);
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
LoadedInputs<D> withIdentityDirections(const LoadedInputs<D>& inputs)
{
  const auto turned = [](const MaskPointer<D>& mask) {
    return std::make_shared<Mask<D>>(withIdentityDirection<D>(mask->geometry), mask->voxels);
  };
  LoadedInputs<D> result = inputs;
  for (auto* images : {&result.fixed, &result.moving})
    for (ImagePointer<D>& image : *images)
      image = std::make_shared<Image<D>>(Image<D>{withIdentityDirection<D>(image->geometry), image->voxels});
  for (auto* masks : {&result.fixedMasks, &result.movingMasks})
    for (MaskPointer<D>& mask : *masks)
      if (mask)
        mask = turned(mask);
  if (result.validMoving)
    result.validMoving = turned(result.validMoving);
  return result;
}

template void checkMasks<2>(const InputHeaders&);
template void checkMasks<3>(const InputHeaders&);
template PointPairs<2> loadPoints(const RegisterOptions&, const InputHeaders&, RunLog&);
template PointPairs<3> loadPoints(const RegisterOptions&, const InputHeaders&, RunLog&);
template LoadedInputs<2> loadInputs(const RegisterOptions&, PointPairs<2>, RunLog&);
template LoadedInputs<3> loadInputs(const RegisterOptions&, PointPairs<3>, RunLog&);
template StageInput<2> inputWithoutVoxels(const InputHeaders&, bool, std::size_t);
template StageInput<3> inputWithoutVoxels(const InputHeaders&, bool, std::size_t);
template LoadedInputs<2> withIdentityDirections(const LoadedInputs<2>&);
template LoadedInputs<3> withIdentityDirections(const LoadedInputs<3>&);

}
