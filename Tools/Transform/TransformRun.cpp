#include "Tools/Transform/TransformRun.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Resampler.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Tools/Batch/ImageBatch.h"
#include "Tools/Common/GpuRatesFile.h"
#include "Tools/Common/InverseRun.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/TransformOutput.h"
#include "Tools/Transform/Determinants.h"
#include "Tools/Transform/NamedImages.h"
#include "Tools/Transform/OutputFields.h"
#include "Tools/Transform/ResultCheck.h"
#include "Tools/Transform/TransformDescription.h"
#include "Tools/Transform/TransformDevice.h"
#include "Tools/Transform/TransformInputs.h"
#include "Tools/Transform/TransformRecord.h"
#include "Tools/Transform/TransformedPoints.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
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
  TransformRecord& record;
  TransformFileContent<D> file; // its chain maps the output grid: with --inverse it is the inverse
  std::shared_ptr<const TransformChain<D>> chainOfFile;
  const Registry& registry;
  std::optional<ImageGeometry<D>> moving;
  ImageGeometry<D> lattice; // points at which T is evaluated; without direction if the file says so
  Parameters parameters;    // those of the transform file
  std::unique_ptr<Resampler<D>> resampler;
  MakeInterpolator<D> makeInterpolator;
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

/// By how much roots on the grid may be off, mm, if that is less than usual. A label map takes another voxel
/// where a root is off by more than its distance from the border of a voxel.
template <int D>
double toleranceOf(const TransformOptions& options, const ImageGeometry<D>& grid)
{
  constexpr double ofLabelsInVoxels = 1e-4;
  return !options.write.empty()    ? toleranceInFilesMm
         : !options.labels.empty() ? ofLabelsInVoxels * *std::ranges::min_element(grid.spacingMm)
                                   : std::numeric_limits<double>::infinity();
}

template <int D>
Run<D> prepare(const Registry& registry, const TransformOptions& options, const std::string& folder,
               Inputs inputs, TransformRecord& record, RunLog& log)
{
  const auto warn = [&log](const std::string& line) { log.warning(line); };
  Context cpu{Device{}, options.threads};
  auto [file, moving] = readTransforms<D>(cpu, registry, options, log);
  ImageGeometry<D> lattice = file.useDirectionCosines ? file.output : withIdentityDirection<D>(file.output);
  const auto chainOfFile = file.chain;
  if (options.inverse && needsGrid(options))
    file.chain = withContext("--inverse", [&] {
      return inverseOnGrid<D>(chainOfFile, registry, lattice, toleranceOf<D>(options, lattice));
    });
  const Parameters parameters(file.map, "", D, 1, warn);
  auto resampler =
      registry.create<Resampler<D>>(componentNames(parameters, "Resampler").front(),
                                    parameters.withLabel("Resampler0"), parameters.where("Resampler"));
  const std::string imageInterpolator = componentNames(parameters, "ResampleInterpolator").front();
  const MakeInterpolator<D> makeInterpolator = [&registry, &options, parameters,
                                                imageInterpolator](bool forLabels) {
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
  const TransformDevice device = chooseTransformDevice<D>(
      {options, registry, *file.chain, lattice, parameters, *resampler, makeInterpolator, tasks,
       withoutCuda(options, *file.chain, *ofImages, imageInterpolator, methods)});
  Context context = makeContext(device.choice.device, options.threads);
  record.setDevice(deviceName(device.choice.device), device.choice.reason);
  record.addOutputs(resultPaths(options, tasks, folder, resampler->resultImage().format));
  const double startSeconds = context.onCuda() ? secondsSince(start) : 0;
  if (!context.onCuda() || !options.write.empty() || options.description) // these two are done on the CPU
    prepareSearch<D>(cpu, *file.chain);
  log.info("Device: " + device.choice.reason + ", " + threadsText(options.threads) + ".");
  knowGpu(context, log);
  return {options,
          folder,
          log,
          record,
          std::move(file),
          chainOfFile,
          registry,
          moving,
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
  logRootsOnGrid(run);
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

template <int D>
void logRootsOnGrid(const Run<D>& run)
{
  logRoots<D>(*run.file.chain, run.lattice.voxelCount(), "voxels", run.log);
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
void mapPoints(Run<D>& run)
{
  const TransformOptions& options = run.options;
  run.record.addOutputs({run.folder + nameOfOutputPoints(options.points)});
  if (!options.inverse) {
    const std::optional<ImageGeometry<D>> moving = movingGrid(run);
    return transformPoints<D>(
        run.context, {run.chainOfFile, nullptr, &run.lattice, &run.lattice, moving ? &*moving : nullptr},
        options.points, run.folder, run.log);
  }
  const std::optional<ImageGeometry<D>> fixed = run.file.fixed && !run.file.useDirectionCosines
                                                    ? withIdentityDirection<D>(*run.file.fixed)
                                                    : run.file.fixed;
  transformPoints<D>(run.context,
                     {run.chainOfFile, &run.registry, options.grid.empty() ? nullptr : &run.lattice,
                      fixed ? &*fixed : nullptr, nullptr},
                     options.points, run.folder, run.log);
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
  logRootsOnGrid(run);
  run.log.info("  Resampling took " + decimals(secondsSince(start), 2) + "s");
  return result.code;
}

template <int D>
void writeField(Run<D>& run)
{
  run.log.info("Transforming points ...\n  The transform is evaluated on all points. The result is a "
               "deformation field.");
  const auto start = Clock::now();
  const VectorImage<D> field =
      evaluated(run, FieldQuantity::displacements, outputFieldOf<D, RootQuantity::displacements>);
  writeVectorImage<D>(run.pathOf("deformationField"), field, run.result().compress, run.context.threads);
  run.log.info("  Transforming points done, it took " + decimals(secondsSince(start), 2) + "s");
}

template <int D>
void writeDeterminants(Run<D>& run)
{
  run.log.info("Compute determinant of spatial Jacobian ...");
  const auto start = Clock::now();
  Image<D> image = evaluated(run, FieldQuantity::derivatives, outputFieldOf<D, RootQuantity::determinants>);
  if (run.options.nonlinear) {
    const double linear = linearDeterminant<D>(*run.file.chain);
    run.log.info("  Determinant of the linear transforms, by which the others are divided: "
                 + decimals(linear, 6) + ".");
    for (float& value : image.voxels)
      value = static_cast<float>(value / linear);
  }
  const DeterminantFigures figures = figuresOf<D>(image);
  run.log.info("  Determinants from " + decimals(figures.least, 6) + " to " + decimals(figures.largest, 6)
               + "; " + std::to_string(figures.folded) + " of " + std::to_string(image.voxels.size())
               + " voxels fold (not above 0).");
  if (run.options.logarithm) {
    takeLogarithms<D>(image);
    if (figures.folded > 0)
      run.log.warning("--log: " + std::to_string(figures.folded)
                      + " voxels with a determinant not above 0 have no logarithm; they are NaN.");
  }
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
  const VectorImage<D> image =
      evaluated(run, FieldQuantity::derivatives, outputFieldOf<D, RootQuantity::matrices>);
  writeVectorImage<D>(run.pathOf("fullSpatialJacobian"), image, run.result().compress, run.context.threads);
  run.log.info("  Computing spatial Jacobian done, it took " + decimals(secondsSince(start), 2) + "s");
}

/// The transform and the settings that --write needs.
template <int D>
TransformOutput<D> outputOf(const Run<D>& run)
{
  const TransformOptions& options = run.options;
  TransformOutput<D> output{options.write,  transformFormat(options.format, options.write),
                            run.file.chain, options.inverse ? run.chainOfFile : nullptr,
                            run.lattice,    run.file.output,
                            run.moving,     options.grid,
                            options.moving, run.file.map,
                            *run.resampler};
  output.useDirectionCosines = run.file.useDirectionCosines;
  output.asSpline = options.inverseAsSpline;
  return output;
}

template <int D>
void writeTransformFile(Run<D>& run)
{
  const std::string what = run.options.inverse ? "inverse" : "transform";
  run.log.info("Writing the " + what + ", computed on the CPU ...");
  const auto start = Clock::now();
  Context cpu{Device{}, run.options.threads};
  auto files = writeTransform<D>(cpu, run.registry, outputOf(run), run.log);
  if (const auto& name = run.options.bidsName) {
    writeTextFile(name->sidecar, bidsSidecarText(*name, run.options.transformFiles));
    files.push_back(name->sidecar);
  }
  run.record.addOutputs(files);
  run.log.info("  The " + what + " is saved in: " + joined(files) + "; it took "
               + decimals(secondsSince(start), 2) + "s");
}

template <int D>
void reportDescription(Run<D>& run)
{
  Context cpu{Device{}, run.options.threads};
  const TransformDescription description =
      describeTransform<D>(cpu, run.registry, *run.file.chain, run.lattice);
  for (const std::string& line : description.lines)
    run.log.info(line);
  const std::string path = run.folder + descriptionName;
  writeTextFile(path, description.json);
  run.log.info("  The description is saved in: " + path);
  logRootsOnGrid(run);
}

template <int D>
int transformAll(const Registry& registry, const TransformOptions& options, const std::string& folder,
                 Inputs inputs, TransformRecord& record, RunLog& log)
{
  Run<D> run = prepare<D>(registry, options, folder, std::move(inputs), record, log);
  checkMethods(run);
  checkResults<D>({options, *run.resampler, run.parameters, run.file.output, folder, run.tasks}, log);
  if (!options.write.empty())
    checkOutput(outputOf(run));
  if (options.nonlinear)
    linearDeterminant<D>(*run.file.chain); // throws now, before any work, if there is none
  if (options.description)
    reportDescription(run);
  if (!options.points.empty())
    mapPoints(run);
  if (options.field)
    writeField(run);
  if (options.determinants)
    writeDeterminants(run);
  if (options.matrices)
    writeMatrices(run);
  if (!options.write.empty())
    writeTransformFile(run);
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
  Inputs inputs;
  try {
    inputs.images = namedImages(options);
  } catch (const Error&) {
    TransformRecord::replace(folder, options.commandLine, failureOf(std::current_exception()));
    throw;
  }
  inputs.files = inputFilesOf(options, inputs.images);
  inputs.files.checkStayBesideLog(folder + "transformix.log");
  TransformRecord::checkStay(inputs.files, folder);
  log.openFile(folder + "transformix.log");
  logStart(log, command, "transformix");
  log.info("Running transformix with parameter file \"" + joined(options.transformFiles) + "\".\n");
  TransformRecord record(options, inputs.images, folder);
  return record.recorded(log, [&] {
    const auto transform = dimensionOfTransforms(options) == 2 ? transformAll<2> : transformAll<3>;
    const int code = transform(registry, options, folder, std::move(inputs), record, log);
    log.info("\ntransformix has finished at " + currentTime()
             + ".\nTotal time elapsed: " + decimals(secondsSince(start), 1) + "s.\n");
    log.finish();
    return code;
  });
}

}
