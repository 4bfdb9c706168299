#include "Tools/Register/InverseResults.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/Resampling/ImageBatch.h"
#include "Core/Runs/Resampling/ResultFiles.h"
#include "Core/Runs/TransformOutput/ForeignOutput.h"
#include "Core/Runs/TransformOutput/InverseRun.h"
#include "Core/Runs/TransformOutput/TransformOutput.h"

namespace tessera {
namespace {

template <int D>
std::string carryLabels(Context& cpu, const Registry& registry, const RunRequest& request,
                        const RunningStage<D>& stage, const std::string& folder,
                        const TransformChain<D>& inverse, Log& log)
{
  const auto makeInterpolator = [&registry](bool) {
    const Parameters none(std::make_shared<ParameterMap>("--inverse-too"), "ResampleInterpolator0", D, 1);
    return std::move(
        registry.create<ResampleInterpolator<D>>(knowncomponents::nearestInterpolator, none, "--inverse-too")
            ->interpolator);
  };
  std::vector<ImageTask> tasks{{"--fLabels", request.fixedLabels, true, inverseLabelsStem, request.reading}};
  ResultFiles<D> files(folder, stage.resampler.resultImage());
  const ImageBatch<D> batch{cpu,
                            inverse,
                            stage.resampler,
                            makeInterpolator,
                            stage.moving,
                            stage.movingInFile,
                            stage.settings.useDirectionCosines,
                            stage.resampler.resultImage().pixelType,
                            files,
                            0,
                            log};
  resampleImages<D>(batch, tasks);
  return files.pathOf(inverseLabelsStem);
}

}

template <int D>
ChainPointer<D> inverseOfResult(const Registry& registry, Context cpu, const ChainPointer<D>& chain,
                                const ImageGeometry<D>& moving, Log& log)
{
  auto inverse = inverseOnGrid<D>(&cpu, chain, registry, moving, toleranceInFilesMm);
  if (!isSearched<D>(*inverse))
    return inverse;
  VectorImage<D> field = displacementField<D>(cpu, *inverse, moving);
  logRoots<D>(*inverse, moving.voxelCount(), "voxels", log);
  leadOutside(field);
  return chainFromField<D>(std::move(field), registry, "--inverse-too");
}

template <int D>
std::vector<std::string> writeInverseResults(const Registry& registry, const RunRequest& request,
                                             const RunningStage<D>& stage, const std::string& folder,
                                             const ChainPointer<D>& chain, Log& log, ChainPointer<D> inverse)
{
  return withContext("--inverse-too", [&] {
    const auto start = std::chrono::steady_clock::now();
    Context cpu = stage.host;
    log.info("");
    log.info("Writing the inverse ...");
    if (!inverse) // once, for the file and the labels
      inverse = inverseOfResult<D>(registry, cpu, chain, stage.moving, log);
    TransformOutput<D> output{folder + stemOfInverse(request) + ".txt",
                              TransformFormat::elastix,
                              inverse,
                              chain,
                              stage.moving,
                              stage.movingInFile,
                              {},
                              "",
                              "",
                              stage.text.map,
                              stage.resampler};
    output.useDirectionCosines = stage.settings.useDirectionCosines;
    std::vector<std::string> files = writeTransform<D>(cpu, registry, output, log);
    if (request.fixedLabels.isGiven())
      files.push_back(carryLabels<D>(cpu, registry, request, stage, folder, *inverse, log));
    log.info("  Writing the inverse took " + decimals(secondsSince(start), 2) + " s.");
    return files;
  });
}

TESSERA_INSTANTIATE_FUNCTIONS(inverseOfResult<D>, writeInverseResults<D>);

}
