#include "Tools/Transform/TransformRun.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/Resampler.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Tools/Batch/ImageBatch.h"
#include "Tools/Common/Process.h"
#include "Tools/Transform/NamedImages.h"
#include "Tools/Transform/TransformDevice.h"
#include "Tools/Transform/TransformedPoints.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

/// The inputs of a run.
struct Inputs {
  std::vector<ImageTask> images;
  InputFiles files;
};

/// Everything that the actions of a run have in common.
template <int D>
struct Run {
  const TransformOptions& options;
  std::string folder;
  RunLog& log;
  TransformFileContent<D> file;
  ImageGeometry<D> lattice; // points at which T is evaluated; without direction if the file says so
  Parameters parameters;    // those of the transform file
  std::unique_ptr<Resampler<D>> resampler;
  std::function<std::unique_ptr<Interpolator<D>>(bool forLabels)> makeInterpolator;
  FieldMethods<D> methods;
  std::vector<ImageTask> tasks;
  Context context;
  std::optional<double> predictedSeconds;
  double computeSeconds = 0; // to start the device, and to compute images and fields there

  const ResultImageSettings& result() const { return resampler->resultImage(); }
  std::string pathOf(const std::string& stem) const { return folder + stem + "." + result().format; }
};

template <int D>
FieldMethods<D> methodsFor(const Registry& registry, const TransformOptions& options,
                           const TransformFileContent<D>& file, const ImageGeometry<D>& lattice,
                           const Parameters& parameters)
{
  const std::string& asked = options.fieldInterpolator;
  const FieldForm<D>* field = file.chain->transform->field();
  return asked.empty()
             ? FieldMethods<D>(registry, *file.chain, lattice, field ? field->fieldInterpolator() : "auto",
                               parameters.where("FieldInterpolator"))
             : FieldMethods<D>(registry, *file.chain, lattice, asked,
                               "--field-interpolator: \"" + asked + "\"");
}

/// The reason why CUDA cannot do the work that the options ask for; empty if it can.
template <int D>
std::string withoutCuda(const TransformOptions& options, const TransformChain<D>& chain,
                        const Interpolator<D>& ofImages, const std::string& interpolatorName,
                        const FieldMethods<D>& methods)
{
  std::string whyNotImages = hasImages(options) ? whyNotOnCuda<D>(chain) : "";
  if (whyNotImages.empty() && !options.images.empty() && !ofImages.onCuda())
    whyNotImages = "the interpolator \"" + interpolatorName + "\"";
  if (!whyNotImages.empty())
    return "resampling an image (-in) has no CUDA form here: " + whyNotImages;
  if (!options.points.empty())
    return "mapping a file of points (-def) has no CUDA form";
  const auto whyNot = [&](bool asked, const char* option, FieldQuantity quantity) {
    const std::string why = asked ? methods.whyNotOnCuda(quantity) : "";
    return why.empty() ? why : option + std::string(" has no CUDA form here: ") + why;
  };
  const std::string field = whyNot(options.field, "-def all", FieldQuantity::displacements);
  if (!field.empty())
    return field;
  return whyNot(options.determinants || options.matrices, options.determinants ? "-jac all" : "-jacmat all",
                FieldQuantity::derivatives);
}

template <int D>
Run<D> prepare(const Registry& registry, const TransformOptions& options, const std::string& folder,
               Inputs inputs, RunLog& log)
{
  const auto warn = [&log](const std::string& line) { log.warning(line); };
  TransformFileContent<D> file =
      withContext("-tp", [&] { return readTransformFile<D>(options.transformFile, registry, warn); });
  ImageGeometry<D> lattice = file.useDirectionCosines ? file.output : withIdentityDirection<D>(file.output);
  const Parameters parameters(file.map, "", D, 1, warn);
  auto resampler =
      registry.create<Resampler<D>>(componentNames(parameters, "Resampler").front(),
                                    parameters.withLabel("Resampler0"), parameters.where("Resampler"));
  const std::string imageInterpolator = componentNames(parameters, "ResampleInterpolator").front();
  const auto makeInterpolator = [&registry, &options, parameters, imageInterpolator](bool forLabels) {
    const bool majority = options.labelInterpolation == "majority";
    const std::string name = !forLabels ? imageInterpolator
                             : majority ? "LabelMajorityInterpolator"
                                        : "FinalNearestNeighborInterpolator",
                      where = forLabels ? "--label-interpolation" : parameters.where("ResampleInterpolator");
    return std::move(
        registry.create<ResampleInterpolator<D>>(name, parameters.withLabel("ResampleInterpolator0"), where)
            ->interpolator);
  };
  const auto ofImages = makeInterpolator(false); // throws now, before any work, if the name is not known
  FieldMethods<D> methods = methodsFor<D>(registry, options, file, lattice, parameters);
  std::vector<ImageTask> tasks = std::move(inputs.images);
  nameResults(options, {folder, resampler->resultImage().name, resampler->resultImage().format}, inputs.files,
              tasks);
  const auto start = Clock::now();
  const TransformDevice device =
      chooseTransformDevice<D>({options, registry, *file.chain, lattice, parameters, *resampler, tasks,
                                withoutCuda(options, *file.chain, *ofImages, imageInterpolator, methods)});
  Context context = makeContext(device.choice.device, options.threads);
  const double startSeconds = context.onCuda() ? secondsSince(start) : 0;
  log.info("Device: " + device.choice.reason + ", " + std::to_string(options.threads) + " threads.");
  return {options,
          folder,
          log,
          std::move(file),
          lattice,
          parameters,
          std::move(resampler),
          makeInterpolator,
          std::move(methods),
          std::move(tasks),
          std::move(context),
          device.predictedSeconds,
          startSeconds};
}

template <int D>
void logTime(const Run<D>& run)
{
  if (hasImages(run.options) || run.options.field || run.options.determinants || run.options.matrices)
    run.log.detail(
        "Computing took " + decimals(run.computeSeconds, 3) + " s on " + deviceName(run.context.device)
        + (run.predictedSeconds ? ", predicted " + decimals(*run.predictedSeconds, 3) + " s" : "") + ".");
}

/// The method that evaluates a field; the log has its name.
template <int D>
std::optional<FieldMethod<D>> methodOf(const Run<D>& run, FieldQuantity quantity)
{
  std::optional<FieldMethod<D>> method = run.methods.choose(run.context.device.kind, quantity);
  run.log.detail("  Field interpolator: " + (method ? method->interpolator->name() : "none; by points")
                 + ".");
  return method;
}

/// Evaluates a field of TransformFields.h on the output grid and adds the time to computeSeconds.
template <int D, class Evaluate>
auto evaluated(Run<D>& run, FieldQuantity quantity, Evaluate&& evaluate)
{
  const std::optional<FieldMethod<D>> method = methodOf(run, quantity);
  const auto start = Clock::now();
  auto field = evaluate(run.context, *run.file.chain, run.lattice, method);
  run.computeSeconds += secondsSince(start);
  field.geometry = run.file.output;
  return field;
}

/// Checks before any work that the field methods can do what the options ask for, and warns if a method that
/// the user named is not used.
template <int D>
void checkMethods(const Run<D>& run)
{
  const TransformOptions& options = run.options;
  if (options.field)
    run.methods.choose(run.context.device.kind, FieldQuantity::displacements);
  if (options.determinants || options.matrices)
    run.methods.choose(run.context.device.kind, FieldQuantity::derivatives);
  if ((options.field || options.determinants || options.matrices) && run.methods.isNamed()
      && !run.methods.whyByPoints().empty())
    run.log.warning(run.methods.given()
                    + ": not used, fields are evaluated by points: " + run.methods.whyByPoints() + ".");
}

/// Checks before any work that the format of the results can hold them.
template <int D>
void checkFormats(const Run<D>& run)
{
  const std::string format = run.result().format;
  if (!run.options.images.empty())
    run.resampler->warnOfPixelType();
  try {
    if (!run.options.images.empty())
      checkWritable(format, D, run.result().pixelType);
    if (run.options.field)
      checkWritable(format, D, PixelType::float32, D);
    if (run.options.determinants)
      checkWritable(format, D, PixelType::float32);
    if (run.options.matrices)
      checkWritable(format, D, PixelType::float32, D * D);
  } catch (const Error& error) {
    throw Error(ExitCode::usage, run.parameters.where("ResultImageFormat") + ": " + error.what());
  }
  if (const std::string lost = geometryLostBy(format); !lost.empty())
    run.log.warning(run.parameters.where("ResultImageFormat") + ": this format does not keep the " + lost
                    + " of an image.");
}

/// The grid of the moving image, for the indices of mapped points; empty unless there is exactly one image.
template <int D>
std::optional<ImageGeometry<D>> movingGrid(Run<D>& run)
{
  std::vector<ImageTask>& tasks = run.tasks;
  if (tasks.size() != 1)
    return std::nullopt;
  return withContext(tasks.front().option, [&] {
    const ImageGeometry<D> grid = geometryOf<D>(headerOf(tasks.front()));
    return run.file.useDirectionCosines ? grid : withIdentityDirection<D>(grid);
  });
}

template <int D>
ExitCode writeImages(Run<D>& run)
{
  std::vector<ImageTask>& tasks = run.tasks;
  run.log.info(tasks.size() == 1
                   ? "Resampling image and writing to disk ..."
                   : "Resampling " + std::to_string(tasks.size()) + " images and writing to disk ...");
  const auto start = Clock::now();
  const PixelType type = run.result().pixelType;
  const BatchResult result = resampleImages<D>(
      {run.context, *run.file.chain, *run.resampler, run.makeInterpolator, run.lattice, run.file.output,
       run.file.useDirectionCosines, type, run.folder, run.options.maxMemory, run.log},
      tasks);
  run.computeSeconds += result.resampleSeconds;
  run.log.info("  Resampling took " + decimals(secondsSince(start), 2) + "s");
  return result.code;
}

template <int D>
void writeField(Run<D>& run)
{
  run.log.info("Transforming points ...\n  The transform is evaluated on all points. The result is a "
               "deformation field.");
  const auto start = Clock::now();
  const VectorImage<D> field = evaluated(run, FieldQuantity::displacements, displacementField<D>);
  writeVectorImage<D>(run.pathOf("deformationField"), field, run.result().compress, run.context.threads);
  run.log.info("  Transforming points done, it took " + decimals(secondsSince(start), 2) + "s");
}

template <int D>
void writeDeterminants(Run<D>& run)
{
  run.log.info("Compute determinant of spatial Jacobian ...");
  const auto start = Clock::now();
  const Image<D> image = evaluated(run, FieldQuantity::derivatives, jacobianDeterminants<D>);
  const auto [least, greatest] = std::minmax_element(image.voxels.begin(), image.voxels.end());
  const auto folded =
      std::count_if(image.voxels.begin(), image.voxels.end(), [](float value) { return !(value > 0); });
  run.log.info("  Determinants from " + decimals(*least, 6) + " to " + decimals(*greatest, 6) + "; "
               + std::to_string(folded) + " of " + std::to_string(image.voxels.size())
               + " voxels fold (not above 0).");
  writeImage<D>(run.pathOf("spatialJacobian"), image, PixelType::float32, run.result().compress,
                run.context.threads);
  run.log.info("  Computing determinant of spatial Jacobian done, it took " + decimals(secondsSince(start), 2)
               + "s");
}

template <int D>
void writeMatrices(Run<D>& run)
{
  run.log.info("Compute spatial Jacobian (full matrix) ...");
  const auto start = Clock::now();
  const VectorImage<D> image = evaluated(run, FieldQuantity::derivatives, jacobianMatrices<D>);
  writeVectorImage<D>(run.pathOf("fullSpatialJacobian"), image, run.result().compress, run.context.threads);
  run.log.info("  Computing spatial Jacobian done, it took " + decimals(secondsSince(start), 2) + "s");
}

template <int D>
int transformAll(const Registry& registry, const TransformOptions& options, const std::string& folder,
                 Inputs inputs, RunLog& log)
{
  Run<D> run = prepare<D>(registry, options, folder, std::move(inputs), log);
  checkMethods(run);
  checkFormats(run);
  if (!options.points.empty())
    transformPoints<D>(run.context, *run.file.chain, options.points, run.lattice, movingGrid(run), folder,
                       log);
  if (options.field)
    writeField(run);
  if (options.determinants)
    writeDeterminants(run);
  if (options.matrices)
    writeMatrices(run);
  const ExitCode code = run.tasks.empty() ? ExitCode::done : writeImages(run);
  logTime(run);
  return static_cast<int>(code);
}

}

int runTransform(const Registry& registry, const TransformOptions& options, const std::string& command,
                 RunLog& log)
{
  const auto start = Clock::now();
  limitDeviceMemory(options.maxDeviceMemory);
  if (options.maxMemory > 0)
    giveFreedMemoryBack();
  const std::string folder = prepareOutputFolder(options.outputFolder);
  Inputs inputs{namedImages(options), {}};
  inputs.files = inputFilesOf(options, inputs.images);
  inputs.files.checkStayBesideLog(folder + "transformix.log");
  log.openFile(folder + "transformix.log");
  logStart(log, command, "transformix");
  log.info("Running transformix with parameter file \"" + options.transformFile + "\".\n");

  const std::size_t dimension =
      withContext("-tp", [&] { return readTransformDimension(options.transformFile); });
  if (dimension != 2 && dimension != 3)
    throw Error(ExitCode::usage, "-tp: " + options.transformFile + ": (FixedImageDimension "
                                     + std::to_string(dimension)
                                     + "): transforms of this dimension are not built. Allowed: 2 or 3.");
  const int code = dimension == 2 ? transformAll<2>(registry, options, folder, std::move(inputs), log)
                                  : transformAll<3>(registry, options, folder, std::move(inputs), log);
  log.info("\ntransformix has finished at " + currentTime() + ".");
  log.info("Total time elapsed: " + decimals(secondsSince(start), 1) + "s.\n");
  log.finish();
  return code;
}

}
