#include "Core/Runs/Inputs.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Math/SmallMatrix.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Image/Filters/MaskErosion.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Runs/MissingVoxels.h"
#include "Core/Runs/Resampling/MovingImage.h"

#include <algorithm>

namespace tessera {
namespace {

/// The image as a registration takes it. Tells of voxels that are not finite and of a constant filling.
template <int D>
PreparedVoxels<D> preparedAndTold(const Context& context, const std::string& where,
                                  const CheckedImage<D>& read, bool leavesOutFilling, Log& log)
{
  Context host = context.onCpu();
  const std::optional<ConstantFilling> filling = findConstantFilling<D>(context, read);
  const bool leavesOut = filling && filling->isFar && leavesOutFilling;
  const PreparedVoxels<D> prepared = prepareVoxels<D>(host, read, leavesOut ? &*filling : nullptr);
  const std::string background = prepared.background
                                     ? "they surround the others and become background of value "
                                           + realText(*prepared.background) + " for the registration."
                                     : "";
  if (read.nanVoxels > 0)
    log.warning(background.empty() ? nonFiniteText(where, read.nanVoxels)
                                   : where + ": " + std::to_string(read.nanVoxels)
                                         + " voxels are not a finite number; " + background);
  if (!filling)
    return prepared;
  const double percent =
      100 * static_cast<double>(filling->voxels) / static_cast<double>(read.image->voxels.size());
  log.warning(
      where + ": "
      + (percent < 0.1 ? std::to_string(filling->voxels) + " of the voxels"
                       : decimals(percent, 1) + " % of the voxels")
      + " are " + realText(filling->value) + ", far from all others, which are " + realText(filling->least)
      + " to " + realText(filling->greatest) + "; "
      + (!leavesOut           ? "they take part unless a mask leaves them out."
         : background.empty() ? "they count as outside the image for the registration."
                              : background)
      + (filling->isFar && !leavesOut ? " So does (LeaveOutFilling \"true\") in every parameter file." : ""));
  return prepared;
}

template <int D>
void checkVoxels(const Context& context, const std::string& where, const ImagePointer<D>& image,
                 bool refusesConstantImages, Log& log)
{
  const std::optional<float> only = onlyValue<D>(context, image);
  if (!only)
    return;
  const std::string constant = where + ": every voxel is " + realText(*only)
                               + ": an image without contrast cannot guide a registration.";
  if (refusesConstantImages)
    throw Error(ExitCode::unreadableInput, constant + " Allowed: an image with contrast.");
  log.warning(constant);
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

/// An image or a mask where a stage takes it.
template <int D, class OnGrid>
std::shared_ptr<const OnGrid> placed(const std::shared_ptr<const OnGrid>& given, bool usesDirectionCosines)
{
  if (!given || usesDirectionCosines)
    return given;
  if constexpr (std::is_same_v<OnGrid, Image<D>>)
    hostVoxels<D>(given);
  return std::make_shared<OnGrid>(
      OnGrid{geometryInUse<D>(given->geometry, usesDirectionCosines), given->voxels});
}

/// Reads a weight for each pair or, row by row, the upper triangle of the covariance of its error. The weight
/// of a covariance is the inverse of its mean variance. Weights are divided by their mean.
template <int D>
void readWeights(const GivenText& given, std::size_t count, std::vector<double>& weights,
                 std::vector<Matrix<D>>& covariances)
{
  constexpr std::size_t entries = D * (D + 1) / 2;
  const std::string text = given.isFile() ? readPlainText(given.path) : given.text,
                    allowed = "for each of the " + std::to_string(count)
                              + " points of -fp a number above 0, or the entries "
                              + (D == 2   ? "xx xy yy"
                                 : D == 3 ? "xx xy xz yy yz zz"
                                          : "xx xy xz xt yy yz yt zz zt tt")
                              + " of the covariance of its error";
  TextWords all(given.path, text, allowed), words = all;
  std::size_t numbers = 0;
  for (; !all.peek().empty(); ++numbers)
    all.nextNumber("a weight");
  if (numbers != count && numbers != entries * count)
    all.fail(std::to_string(numbers) + " numbers");
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (numbers == count) {
      weights.push_back(words.nextNumber("a weight"));
      if (!(weights.back() > 0))
        words.fail("a weight that is not above 0");
    } else {
      Matrix<D>& covariance = covariances.emplace_back();
      double trace = 0;
      for (std::size_t row = 0; row < D; ++row) {
        for (std::size_t column = row; column < D; ++column)
          covariance[row][column] = covariance[column][row] = words.nextNumber("an entry");
        trace += covariance[row][row];
      }
      if (!choleskyFactor<D>(covariance))
        words.fail("a covariance that is not positive definite");
      weights.push_back(D / trace);
    }
    sum += weights.back();
  }
  for (double& weight : weights)
    weight *= static_cast<double>(count) / sum;
}

template <int D>
InputPoints<D> pointsOf(const std::string& option, const GivenPoints& given)
{
  if (!given.isGiven())
    return {};
  if (const InputPoints<D>* const held = given.held<D>())
    return *held;
  return withContext(option, [&] { return readPoints<D>(given.path); });
}

}

template <int D>
Inputs<D>::Inputs(const RunRequest& request, InputHeaders headers)
    : request_(request), headers_(std::move(headers)), fixedPoints_(pointsOf<D>("-fp", request.fixedPoints)),
      movingPoints_(pointsOf<D>("-mp", request.movingPoints))
{
  const auto withoutVoxels = [](const std::vector<ImageHeader>& images,
                                const std::vector<ImageHeader>& masks) {
    Side side;
    for (const ImageHeader& header : images)
      side.images.push_back(std::make_shared<Image<D>>(Image<D>{geometryOf<D>(header), {}}));
    for (const ImageHeader& header : masks)
      side.masks.push_back(std::make_shared<Mask<D>>(geometryOf<D>(header), std::vector<std::uint8_t>{}));
    side.valid.resize(images.size());
    side.firstAsRead.image = side.images.front();
    return side;
  };
  fixed_ = withoutVoxels(headers_.fixed, headers_.fixedMasks);
  moving_ = withoutVoxels(headers_.moving, headers_.movingMasks);
  if (!request.movingPoints.isGiven())
    return;
  const std::size_t count = fixedPoints_.values.size();
  if (count != movingPoints_.values.size())
    failAs(ExitCode::unreadableInput, "-fp and -mp",
           std::to_string(count) + " fixed and " + std::to_string(movingPoints_.values.size())
               + " moving points: they do not form pairs",
           "as many of one as of the other");
  if (request.pointWeights.isGiven())
    withContext("--point-weights",
                [&] { readWeights<D>(request.pointWeights, count, weights_, covariances_); });
}

template <int D>
void Inputs<D>::checkMasks(bool usesDirectionCosines) const
{
  checkGridsOverlap<D>("-fMask", headers_.fixed, headers_.fixedMasks, usesDirectionCosines);
  checkGridsOverlap<D>("-mMask", headers_.moving, headers_.movingMasks, usesDirectionCosines);
}

template <int D>
SharesOutside Inputs<D>::warnOfPointsOutside(bool usesDirectionCosines, Log& log) const
{
  SharesOutside shares;
  const auto look = [&](const std::string& side, const std::string& option, const GivenPoints& given,
                        const InputPoints<D>& read, const ImageHeader& image) {
    if (!given.isGiven())
      return;
    const ImageGeometry<D> geometry = geometryInUse<D>(geometryOf<D>(image), usesDirectionCosines);
    tellPointsOutside<D>(option + ": " + given.path + ": ", pointsInMm<D>(read, geometry), geometry,
                         read.areIndices, 0, shares[side], log);
  };
  look("fixed", "-fp", request_.fixedPoints, fixedPoints_, headers_.fixed.front());
  look("moving", "-mp", request_.movingPoints, movingPoints_, headers_.moving.front());
  return shares;
}

template <int D>
InputSide<D> Inputs<D>::loaded(const Context& context, const std::string& option,
                               const std::vector<GivenImage>& images, const std::vector<GivenMask>& masks,
                               bool leavesOutFilling, Log& log) const
{
  const int threads = request_.threads;
  Side side;
  std::vector<std::string> notes;
  for (const GivenMask& given : masks)
    side.masks.push_back(withContext(option + "Mask", [&] {
      const MaskPointer<D>* const held = given.held<D>();
      if (!held)
        return MaskPointer<D>(
            std::make_shared<Mask<D>>(readMask<D>(given.path, request_.reading, threads, &notes)));
      checkMask<D>(given.path, **held);
      return *held;
    }));
  for (const std::string& note : notes)
    log.note(option + "Mask: " + note);
  for (const GivenImage& given : images) {
    notes.clear();
    const CheckedImage<D> read = withContext(option, [&] {
      if (const HeldImage<D>* const held = given.held<D>())
        return held->checked(context, given.path);
      LoadedImage<D> file = readImage<D>(given.path, request_.reading, notes, threads);
      return CheckedImage<D>{std::make_shared<Image<D>>(std::move(file.image)), file.nanVoxels,
                             file.finiteVoxels};
    });
    for (const std::string& note : notes)
      log.note(option + ": " + note);
    const std::string where = option + ": " + given.path;
    const PreparedVoxels<D> prepared = preparedAndTold<D>(context, where, read, leavesOutFilling, log);
    checkVoxels<D>(context, where, prepared.image, request_.refusesConstantImages, log);
    side.images.push_back(prepared.image);
    side.valid.push_back(prepared.valid);
    if (!side.firstAsRead.image)
      side.firstAsRead = read;
  }
  return side;
}

template <int D>
void Inputs<D>::load(const Context& context, bool leavesOutFilling, Log& log, std::optional<Side>* shared)
{
  fixed_ = shared && *shared
               ? **shared
               : loaded(context, "-f", request_.fixed, request_.fixedMasks, leavesOutFilling, log);
  if (shared)
    *shared = fixed_;
  moving_ = loaded(context, "-m", request_.moving, request_.movingMasks, leavesOutFilling, log);
  for (const ImageHeader& header : headers_.moving)
    for (int d = 0; d < D; ++d)
      if (header.size[d] == 1)
        log.warning("-m: " + header.path + ": one voxel on axis " + std::to_string(d)
                    + ": most steps lead out of such an image. Two slices are registered in 2D with "
                      "(FixedImageDimension 2) and (MovingImageDimension 2) in the parameter file.");
}

template <int D>
void Inputs<D>::checkMaskedVoxels(bool usesDirectionCosines) const
{
  const auto check = [&](const std::string& option, const std::vector<GivenMask>& masks, const Side& side) {
    for (std::size_t i = 0; i < side.masks.size(); ++i)
      checkOverlap<D>(option + ": " + masks[i].path,
                      geometryInUse<D>(side.images[i]->geometry, usesDirectionCosines),
                      *placed<D>(side.masks[i], usesDirectionCosines));
  };
  check("-fMask", request_.fixedMasks, fixed_);
  check("-mMask", request_.movingMasks, moving_);
}

/// The images and masks of a side where a stage takes them.
template <int D>
void Inputs<D>::place(const Side& side, bool usesDirectionCosines, std::vector<ImagePointer<D>>& images,
                      std::vector<MaskPointer<D>>& masks, std::vector<MaskPointer<D>>& erodedParts) const
{
  for (const ImagePointer<D>& image : side.images)
    images.push_back(placed<D>(image, usesDirectionCosines));
  for (const MaskPointer<D>& mask : side.masks)
    masks.push_back(placed<D>(mask, usesDirectionCosines));
  if (std::ranges::none_of(side.valid, [](const MaskPointer<D>& valid) { return valid != nullptr; }))
    return;
  masks.resize(images.size());
  erodedParts = masks;
  for (std::size_t i = 0; i < images.size(); ++i)
    masks[i] = intersectionOf<D>(placed<D>(side.valid[i], usesDirectionCosines), masks[i]);
}

template <int D>
StageInput<D> Inputs<D>::ofStage(std::size_t stage, bool usesDirectionCosines, ChainPointer<D> initial) const
{
  StageInput<D> input;
  input.stage = stage;
  input.initial = std::move(initial);
  input.reading = request_.reading;
  place(fixed_, usesDirectionCosines, input.fixed, input.fixedMasks, input.erodedOfFixed);
  place(moving_, usesDirectionCosines, input.moving, input.movingMasks, input.erodedOfMoving);
  input.points = {pointsInMm<D>(fixedPoints_, input.fixed.front()->geometry),
                  pointsInMm<D>(movingPoints_, input.moving.front()->geometry), weights_, covariances_};
  input.hasPoints = request_.fixedPoints.isGiven();
  return input;
}

template <int D>
CheckedImage<D> Inputs<D>::movingAsRead(bool usesDirectionCosines) const
{
  CheckedImage<D> read = moving_.firstAsRead;
  read.image = placed<D>(read.image, usesDirectionCosines);
  read.finiteVoxels = placed<D>(read.finiteVoxels, usesDirectionCosines);
  return read;
}

TESSERA_INSTANTIATE_CLASS_TO_4(Inputs);

}
