#include "Tools/Transform/TransformRun.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/Reporter.h"
#include "Core/Runs/Resampling/ImageBatch.h"
#include "Core/Runs/TransformOutput/InverseRun.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Core/Runs/TransformOutput/TransformOutput.h"
#include "Tools/Transform/Determinants.h"
#include "Tools/Transform/NamedImages.h"
#include "Tools/Transform/PreparedTransform.h"
#include "Tools/Transform/TransformDescription.h"
#include "Tools/Transform/TransformInputs.h"
#include "Tools/Transform/TransformedPoints.h"

#include <chrono>
#include <optional>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

template <int D>
void logTime(const PreparedTransform<D>& run)
{
  if (hasImages(run.options) || run.options.field || run.options.determinants || run.options.matrices)
    run.log.detail(
        "Computing took " + decimals(run.computeSeconds, 3) + " s on " + deviceName(run.context.device)
        + (run.predictedSeconds ? ", predicted " + decimals(*run.predictedSeconds, 3) + " s" : "") + ".");
}

/// The method that evaluates a field; the log has its name.
template <int D>
std::optional<FieldMethod<D>> methodOf(const PreparedTransform<D>& run, FieldQuantity quantity)
{
  std::optional<FieldMethod<D>> method = run.methods.choose(run.context.device.kind, quantity);
  run.log.detail("  Field interpolator: " + (method ? method->interpolator->name() : "none; by points")
                 + ".");
  return method;
}

template <int D>
void logRootsOnGrid(const PreparedTransform<D>& run)
{
  logRoots<D>(*run.file.chain, run.lattice.voxelCount(), "voxels", run.log);
}

/// Evaluates a field of TransformFields.h on the output grid and adds the time to computeSeconds.
template <int D, class Evaluate>
auto evaluated(PreparedTransform<D>& run, FieldQuantity quantity, Evaluate&& evaluate)
{
  const std::optional<FieldMethod<D>> method = methodOf(run, quantity);
  const auto start = Clock::now();
  auto field = evaluate(run.context, *run.file.chain, run.lattice, method);
  run.computeSeconds += secondsSince(start);
  logRootsOnGrid(run);
  field.geometry = run.file.output;
  return field;
}

/// The grid of the moving image, for the indices of mapped points; empty unless there is exactly one image.
template <int D>
std::optional<ImageGeometry<D>> movingGrid(PreparedTransform<D>& run)
{
  std::vector<ImageTask>& tasks = run.tasks;
  if (tasks.size() != 1)
    return std::nullopt;
  return withContext(tasks.front().option, [&] {
    return geometryInUse<D>(geometryOf<D>(headerOf(tasks.front())), run.file.useDirectionCosines);
  });
}

template <int D>
void mapPoints(PreparedTransform<D>& run)
{
  const TransformOptions& options = run.options;
  run.record.addOutputs({run.folder + nameOfOutputPoints(options.points)});
  if (!options.inverse) {
    const std::optional<ImageGeometry<D>> moving = movingGrid(run);
    return transformPoints<D>(
        run.context, {run.chainOfFile, nullptr, &run.lattice, &run.lattice, moving ? &*moving : nullptr},
        options.points, run.folder, run.log);
  }
  std::optional<ImageGeometry<D>> fixed = run.file.fixed;
  if (fixed)
    fixed = geometryInUse<D>(*fixed, run.file.useDirectionCosines);
  transformPoints<D>(run.context,
                     {run.chainOfFile, &run.registry, options.grid.empty() ? nullptr : &run.lattice,
                      fixed ? &*fixed : nullptr, nullptr},
                     options.points, run.folder, run.log);
}

template <int D>
ExitCode writeImages(PreparedTransform<D>& run)
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
void writeField(PreparedTransform<D>& run)
{
  run.log.info("Transforming points ...\n  The transform is evaluated on all points. The result is a "
               "deformation field.");
  const auto start = Clock::now();
  const VectorImage<D> field = evaluated(run, FieldQuantity::displacements, displacementField<D>);
  writeVectorImage<D>(run.pathOf("deformationField"), field, run.result().compress, run.context.threads);
  run.log.info("  Transforming points done, it took " + decimals(secondsSince(start), 2) + "s");
}

template <int D>
void writeDeterminants(PreparedTransform<D>& run)
{
  run.log.info("Compute determinant of spatial Jacobian ...");
  const auto start = Clock::now();
  Image<D> image = evaluated(run, FieldQuantity::derivatives, jacobianDeterminants<D>);
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
void writeMatrices(PreparedTransform<D>& run)
{
  run.log.info("Compute spatial Jacobian (full matrix) ...");
  const auto start = Clock::now();
  const VectorImage<D> image = evaluated(run, FieldQuantity::derivatives, jacobianMatrices<D>);
  writeVectorImage<D>(run.pathOf("fullSpatialJacobian"), image, run.result().compress, run.context.threads);
  run.log.info("  Computing spatial Jacobian done, it took " + decimals(secondsSince(start), 2) + "s");
}

/// The transform and the settings that --write needs.
template <int D>
TransformOutput<D> outputOf(const PreparedTransform<D>& run)
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
void writeTransformFile(PreparedTransform<D>& run)
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
void reportDescription(PreparedTransform<D>& run)
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
                 std::vector<ImageTask> images, const InputFiles& inputs, TransformRecord& record,
                 RunLog& log)
{
  PreparedTransform<D> run =
      prepareTransform<D>(registry, options, folder, std::move(images), inputs, record, log);
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
  if (options.maxMemory > 0)
    giveFreedMemoryBack();
  const std::string folder = prepareOutputFolder(options.outputFolder);
  std::vector<ImageTask> images;
  try {
    images = namedImages(options);
  } catch (const Error&) {
    TransformRecord::replace(folder, options.commandLine,
                             failureOf(std::current_exception(), caughtSignal()));
    throw;
  }
  const InputFiles inputs = inputFilesOf(options, images);
  inputs.checkStayBesideLog(folder + "transformix.log");
  TransformRecord::checkStay(inputs, folder);
  log.openFile(folder + "transformix.log",
               writesNamedFilesAlone(options) ? FolderUse::shared : FolderUse::alone);
  logStart(log, command, "transformix");
  log.info("Running transformix with parameter file \"" + joined(options.transformFiles) + "\".");
  log.info("");
  TransformRecord record(options, images, folder);
  return record.recorded(log, [&] {
    const auto transform = dimensionOfTransforms(options) == 2 ? transformAll<2> : transformAll<3>;
    const int code = transform(registry, options, folder, std::move(images), inputs, record, log);
    log.info("");
    log.info("transformix has finished at " + currentTime() + ".");
    log.info("Total time elapsed: " + decimals(secondsSince(start), 1) + "s.");
    log.info("");
    log.finish();
    return code;
  });
}
}
