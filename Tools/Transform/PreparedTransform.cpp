#include "Tools/Transform/PreparedTransform.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Tools/Common/GpuRatesFile.h"
#include "Core/Runs/TransformOutput/InverseRun.h"
#include "Tools/Common/Process.h"
#include "Core/Runs/TransformOutput/TransformOutput.h"
#include "Tools/Transform/NamedImages.h"
#include "Tools/Transform/ResultCheck.h"
#include "Tools/Transform/TransformDevice.h"
#include "Tools/Transform/TransformInputs.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace tessera {
namespace {

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

/// Checks before any work that the field methods can do what the options ask for, and warns if a method that
/// the user named is not used.
template <int D>
void checkMethods(const PreparedTransform<D>& run)
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

}

template <int D>
PreparedTransform<D> prepareTransform(const Registry& registry, const TransformOptions& options,
                                      const std::string& folder, std::vector<ImageTask> images,
                                      const InputFiles& inputs, TransformRecord& record, Log& log)
{
  const auto warn = [&log](const std::string& line) { log.warning(line); };
  Context cpu{Device{}, options.threads};
  auto [file, moving] = readTransforms<D>(cpu, registry, options, log);
  ImageGeometry<D> lattice = geometryInUse<D>(file.output, file.useDirectionCosines);
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
                             : majority ? knowncomponents::majorityInterpolator
                                        : knowncomponents::nearestInterpolator,
                      where = forLabels ? "--label-interpolation" : parameters.where("ResampleInterpolator");
    return std::move(
        registry.create<ResampleInterpolator<D>>(name, parameters.withLabel("ResampleInterpolator0"), where)
            ->interpolator);
  };
  const auto ofImages = makeInterpolator(false); // throws now, before any work, if the name is not known
  FieldMethods<D> methods = methodsFor<D>(registry, options, file, lattice, parameters);
  nameResults(options, {folder, resampler->resultImage().name, resampler->resultImage().format}, inputs,
              images);
  const auto start = std::chrono::steady_clock::now();
  const TransformDevice device =
      chooseTransformDevice<D>({options, *file.chain, lattice, *resampler, makeInterpolator, images,
                                withoutCuda(options, *file.chain, *ofImages, imageInterpolator, methods)});
  Context context = makeContext(device.choice.device, options.threads, options.maxDeviceMemory);
  record.setDevice(deviceName(device.choice.device), device.choice.reason);
  record.addOutputs(resultPaths(options, images, folder, resampler->resultImage().format));
  const double startSeconds = context.onCuda() ? secondsSince(start) : 0;
  if (!context.onCuda() || !options.write.empty() || options.description) // these two are done on the CPU
    prepareSearch<D>(cpu, *file.chain);
  log.info("Device: " + device.choice.reason + ", " + threadsText(options.threads) + ".");
  options.gpus->tell(context, log);
  PreparedTransform<D> run{options,
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
                           std::move(images),
                           std::move(context),
                           device.predictedSeconds,
                           startSeconds};
  checkMethods(run);
  checkResults<D>({options, *run.resampler, run.parameters, run.file.output, folder, run.tasks}, log);
  return run;
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template PreparedTransform<D> prepareTransform<D>(const Registry&, const TransformOptions&,                \
                                                    const std::string&, std::vector<ImageTask>,              \
                                                    const InputFiles&, TransformRecord&, Log&)
TESSERA_INSTANTIATE(2);
TESSERA_INSTANTIATE(3);

}
