#include "Core/Runs/StageCheck.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/Filters/FilteredImage.h"
#include "Core/Image/ItkTransformFiles/ItkTransformClass.h"
#include "Core/Image/ShearedGrid.h"
#include "Core/Registration/Fields/FieldMethods.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Registration/TermOfSeries.h"
#include "Core/Runs/OutputNames.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

void checkUnread(const Registry& registry, const StageText& text, bool strict, Log& log)
{
  std::vector<ChosenComponent> chosen = chosenComponents(registry, text.map);
  chosen.push_back({"", &StageSettings::description()});
  std::vector<const ComponentDescription*> known = registry.all();
  known.push_back(&stageDescription());
  known.push_back(&StageSettings::description());

  const CheckReport report = checkParameters(*text.map, chosen, known);
  for (const std::string& note : report.notes)
    log.note(note);
  if (strict && !report.warnings.empty()) {
    for (std::size_t i = 0; i + 1 < report.warnings.size(); ++i)
      log.error("--strict: " + report.warnings[i]);
    throw Error(ExitCode::usage, "--strict: " + report.warnings.back());
  }
  for (const std::string& warning : report.warnings)
    log.warning(warning);
}

/// `-f` or `-m`: one image for all metrics, or one for each. Of a registration with features: one for all
/// pyramids of the side, or one for each.
void checkImageCount(const Parameters& parameters, const std::string& option, std::size_t given,
                     std::size_t wanted, const std::string& pyramids, Log& log)
{
  if (given == 1 || given == wanted)
    return;
  const std::string role = pyramids.empty() ? "Metric" : pyramids,
                    things = pyramids.empty() ? "metrics" : "pyramids",
                    images = option + ": " + std::to_string(given) + " images, but " + parameters.where(role)
                             + " names " + std::to_string(wanted) + " ";
  if (given > wanted && pyramids.empty())
    return log.warning(images
                       + (wanted == 1 ? "metric: the first image is"
                                      : "metrics: the first " + std::to_string(wanted) + " images are")
                       + " used, as elastix does.");
  throw Error(ExitCode::usage,
              images + things + ". Allowed: one image for all " + things + ", or one for each.");
}

/// Metrics of series refuse images that are none.
template <int D>
void checkImages(const StageComponents<D>& components, const Parameters& parameters,
                 const InputHeaders& headers)
{
  const auto imageOf = [&](const std::vector<ImageHeader>& images, std::size_t term) {
    return geometryInUse<D>(geometryOf<D>(images[term < images.size() ? term : 0]), parameters);
  };
  for (std::size_t t = 0; t < components.terms.size(); ++t)
    if (auto* const term = dynamic_cast<TermOfSeries<D>*>(components.terms[t].get())) {
      const ImageGeometry<D> fixed = imageOf(headers.fixed, t), moving = imageOf(headers.moving, t);
      term->checkImages(fixed, moving);
      if (fixed != moving)
        failAs(ExitCode::unreadableInput, "-f",
               headers.fixed[t < headers.fixed.size() ? t : 0].path
                   + " and -m: " + headers.moving[t < headers.moving.size() ? t : 0].path
                   + ": two grids, where the times of one series are registered to each other, and no image "
                     "to another one",
               "the series both as -f and as -m");
    }
}

/// `option` is -fMask or -mMask.
void warnOfOneMask(const std::string& option, std::size_t masks, std::size_t images, Log& log)
{
  if (masks == 1 && images > 1)
    log.warning(option + ": one mask for " + std::to_string(images)
                + " images: it limits the metric of the first image alone, as in elastix. Give the file once "
                  "for each image to limit all metrics: "
                + option + "0 FILE " + option + "1 FILE ...");
}

template <int D>
void checkImageCounts(const StageComponents<D>& components, const Parameters& parameters,
                      const RunRequest& request, Log& log)
{
  const bool features = components.registration->takesFeatures();
  checkImageCount(parameters, "-f", request.fixed.size(), components.fixedImages,
                  features ? "FixedImagePyramid" : "", log);
  checkImageCount(parameters, "-m", request.moving.size(), components.movingImages,
                  features ? "MovingImagePyramid" : "", log);
  if (components.terms.size() == 1)
    return;
  if (components.samplers.size() > 1) // else the samples of the first metric are those of all
    warnOfOneMask("-fMask", request.fixedMasks.size(), request.fixed.size(), log);
  warnOfOneMask("-mMask", request.movingMasks.size(), request.moving.size(), log);
}

/// `inverseLabels`: the labels are carried to the grid of the moving image, in the same format.
template <int D>
void checkResultFormat(const Resampler<D>& resampler, const Parameters& parameters,
                       const InputHeaders& headers, bool inverseLabels, Log& log)
{
  bool writes = resampler.writesFinalResult();
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    writes =
        writes || resampler.writesResultAfterLevel(level) || resampler.writesResultAfterIterations(level);
  if (!writes && !inverseLabels)
    return;
  const ResultImageSettings& result = resampler.resultImage();
  const std::string where = parameters.where("ResultImageFormat");
  const ImageGeometry<D> fixed = geometryOf<D>(headers.fixed.front());
  try {
    if (inverseLabels)
      checkHoldsGrid(result.format, geometryOf<D>(headers.moving.front()));
    if (!writes)
      return;
    resampler.warnOfPixelType();
    checkWritable(result.format, D, result.pixelType);
    checkHoldsGrid(result.format, fixed);
  } catch (const Error& error) {
    throw Error(ExitCode::usage, where + ": " + error.what());
  }
  if (const std::string lost = gridLostBy(result.format, fixed); !lost.empty())
    log.warning(where + ": this format does not keep the " + lost + " of the result image.");
}

/// The last level of an image: how far its content lies beside its place along the image's axes, and its
/// voxels.
template <int D>
struct LastLevel {
  Vec<D> shiftMm, spacingMm;

  LastLevel(const std::vector<std::unique_ptr<ImagePyramid<D>>>& pyramids, std::size_t i,
            const std::vector<ImageHeader>& images, const Parameters& parameters)
  {
    const ImageGeometry<D> geometry =
        geometryInUse<D>(geometryOf<D>(images[i < images.size() ? i : 0]), parameters);
    const auto steps =
        pyramids[i < pyramids.size() ? i : 0]->stepsOfLevel(geometry, parameters.levelCount() - 1);
    shiftMm = contentShiftMm<D>(geometry, steps);
    spacingMm = steps.empty() ? geometry.spacingMm : steps.back().geometry.spacingMm;
  }
};

/// Warns of the first metric whose images, in the last level, which makes the result, lie beside each other.
template <int D>
void checkShifts(const StageComponents<D>& components, const InputHeaders& headers, const StageText& text,
                 const Parameters& parameters, Log& log)
{
  const auto &fixed = components.fixedPyramids, &moving = components.movingPyramids;
  for (std::size_t i = 0; i < std::max(fixed.size(), moving.size()) && !fixed.empty() && !moving.empty();
       ++i) {
    const LastLevel<D> ofFixed(fixed, i, headers.fixed, parameters),
        ofMoving(moving, i, headers.moving, parameters);
    std::string mm;
    bool isShifted = false;
    for (int d = 0; d < D; ++d) {
      constexpr double tolerated = 0.2; // of the level's voxel
      const double besideMm = ofMoving.shiftMm[d] - ofFixed.shiftMm[d];
      mm += (d > 0 ? " " : "") + decimals(besideMm, 3);
      isShifted = isShifted || std::abs(besideMm) > tolerated * ofFixed.spacingMm[d];
    }
    if (isShifted)
      return log.warning(
          text.path + ": the last level is shrunk, and the moving image's content lies " + mm
          + " mm beside that of the fixed image, along the axes of the images, because of sizes that the "
            "factors do not suit, as in elastix. The result is shifted as much. Usual remedies: factors of 1 "
            "for the last level, or (FixedImagePyramid \"Fixed"
          + knowncomponents::genericPyramid + "\") and the same for the moving image.");
  }
}

template <int D>
NeededPoints checkPoints(const StageComponents<D>& components, const Parameters& parameters,
                         const RunRequest& request)
{
  NeededPoints needed;
  needed.pairs = std::any_of(components.terms.begin(), components.terms.end(),
                             [](const auto& term) { return term->needsPoints(); });
  needed.landmarks = optimizable(*components.transform).needsLandmarks();
  if (needed.pairs && (!request.fixedPoints.isGiven() || !request.movingPoints.isGiven()))
    parameters.fail("Metric", "it compares points, and none are given",
                    "Allowed: with -fp FILE and -mp FILE");
  if (needed.landmarks && !request.fixedPoints.isGiven())
    parameters.fail("Transform", "it is made of landmarks, and none are given",
                    "Allowed: with -fp FILE, and -mp FILE if they start elsewhere");
  return needed;
}

/// Why ITK's files cannot hold a transform, whose grid may not be known yet; empty: they can.
template <int D>
std::string whyNotInItkFiles(const Transform<D>& transform, std::span<const double> parameters)
{
  try {
    const std::vector<double> zeros(parameters.empty() ? transform.parameterCount() : 0); // before a run
    const std::string className = transform.itkTransform(parameters.empty() ? zeros : parameters).className;
    return isItkTransformClass(className) ? "" : "ITK's transform files hold no " + className;
  } catch (const Error& error) {
    if (error.code() != ExitCode::unwritableOutput)
      throw;
    const std::string text = error.what();
    return text.substr(0, text.find(". Allowed"));
  }
}

/// A transform in the chain of a run that has stages yet to come.
template <int D>
struct Link {
  const Transform<D>* transform;
  std::span<const double> parameters; // empty: not known yet
  bool adds;                          // to what the transforms before it do
};

}

template <int D>
CheckedStage<D> checkStage(const Registry& registry, const RunRequest& request, const StageText& text,
                           std::size_t number, const InputHeaders& headers, const InputFiles& inputs,
                           Log& log)
{
  const Parameters parameters(text.map, "", D, levelCountOf(text.map),
                              [&](const std::string& line) { log.warning(line); });
  const StageSettings settings(parameters);
  settings.checkDimension(headers.fixed.front().dimension, headers.moving.front().dimension);
  if (!text.isChecked)
    checkUnread(registry, text, request.strict, log);

  CheckedStage<D> stage{text, number, settings, prepareStage<D>(registry, parameters)};
  checkImageCounts(stage.prepared.components, parameters, request, log);
  checkImages<D>(stage.prepared.components, parameters, headers);
  checkShifts<D>(stage.prepared.components, headers, text, parameters, log);
  if (const FieldForm<D>* field = stage.prepared.components.transform->field())
    requireFieldInterpolator(registry, field->fieldInterpolator(), parameters.where("FieldInterpolator"));
  stage.needed = checkPoints<D>(stage.prepared.components, parameters, request);
  stage.resampler =
      registry.create<Resampler<D>>(componentNames(parameters, "Resampler").front(),
                                    parameters.withLabel("Resampler0"), parameters.where("Resampler"));
  stage.resampleInterpolator = std::move(
      registry
          .create<ResampleInterpolator<D>>(componentNames(parameters, "ResampleInterpolator").front(),
                                           parameters.withLabel("ResampleInterpolator0"),
                                           parameters.where("ResampleInterpolator"))
          ->interpolator);
  const bool isLast = number + 1 == request.stages.size();
  checkResultFormat<D>(*stage.resampler, parameters, headers,
                       isLast && request.inverseToo && request.fixedLabels.isGiven(), log);
  if (!request.outputFolder.empty())
    checkInputsStay<D>(inputs, request.outputFolder,
                       {"-p " + text.path, number, parameters.levelCount(), settings, *stage.resampler,
                        isLast ? namesOfInverse(request, stage.resampler->resultImage().format)
                               : std::vector<std::string>{}});
  return stage;
}

template <int D>
std::vector<ResultToWrite> resultsToWrite(std::span<const CheckedStage<D>> stages, const std::string& folder,
                                          const InputHeaders& headers)
{
  const double voxels = extentCount(headers.fixed.front().size);
  std::vector<ResultToWrite> results;
  for (const CheckedStage<D>& stage : stages) {
    const ResultImageSettings& result = stage.resampler->resultImage();
    const auto add = [&](const std::string& suffix) {
      const std::string name =
          folder + "/" + result.name + "." + std::to_string(stage.number) + suffix + "." + result.format;
      results.push_back({filesOfResult(name), voxels * static_cast<double>(pixelTypeSize(result.pixelType)),
                         formatCompresses(result.format, result.compress)});
    };
    for (std::size_t level = 0; level < stage.prepared.parameters.levelCount(); ++level)
      if (stage.resampler->writesResultAfterLevel(level))
        add(levelSuffix(level));
    if (stage.resampler->writesFinalResult())
      add("");
  }
  return results;
}

template <int D>
void checkItkFiles(std::span<const CheckedStage<D>> stages, const TransformChain<D>* initial)
{
  std::vector<Link<D>> chain;
  for (const TransformChain<D>* link = initial; link; link = link->initial.get())
    chain.push_back(
        {link->transform.get(), link->parameters, link->initial && link->combination == Combination::add});
  for (const CheckedStage<D>& stage : stages) {
    const Parameters& parameters = stage.prepared.parameters;
    const Transform<D>& transform = *stage.prepared.components.transform;
    chain.push_back({&transform, {}, !chain.empty() && combinationOf(parameters) == Combination::add});
    const std::string extension = stage.settings.itkExtension;
    if (extension.empty())
      continue;
    if (extension != "txt") // a .txt is the transform parameter file
      if (const std::string why = whyNotInItkFiles<D>(transform, {}); !why.empty())
        parameters.fail("ITKTransformOutputFileNameExtension", why, "Allowed: no such entry");
    if (!stage.settings.writeItkComposite)
      continue;
    if (std::ranges::any_of(chain, &Link<D>::adds))
      parameters.fail("WriteITKCompositeTransform", "an ITK composite transform cannot add transforms",
                      "Allowed: \"false\", or (HowToCombineTransforms \"Compose\")");
    for (const Link<D>& link : chain)
      if (const std::string why = whyNotInItkFiles<D>(*link.transform, link.parameters); !why.empty())
        parameters.fail("WriteITKCompositeTransform", why, "Allowed: \"false\"");
  }
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(resultsToWrite<D>, checkItkFiles<D>, checkStage<D>);

}
