#include "Tools/Register/InverseResults.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"
#include "Tools/Batch/ImageBatch.h"
#include "Tools/Common/ForeignOutput.h"
#include "Tools/Common/InverseRun.h"
#include "Tools/Common/TransformOutput.h"

namespace tessera {
namespace {

std::string stemOf(const RegisterOptions& options)
{
  return inverseStem + ("." + std::to_string(options.parameterFiles.size() - 1));
}

template <int D>
std::string carryLabels(Context& cpu, const Registry& registry, const InverseRequest<D>& request,
                        const TransformChain<D>& inverse, RunLog& log)
{
  const auto makeInterpolator = [&registry](bool) {
    const Parameters none(std::make_shared<ParameterMap>("--inverse-too"), "ResampleInterpolator0", D, 1);
    return std::move(
        registry.create<ResampleInterpolator<D>>(knowncomponents::nearestInterpolator, none, "--inverse-too")
            ->interpolator);
  };
  std::vector<ImageTask> tasks{{"--fLabels", request.options.fixedLabels, true, inverseLabelsStem, {}}};
  const ImageBatch<D> batch{cpu,
                            inverse,
                            request.resampler,
                            makeInterpolator,
                            request.moving,
                            request.movingInFile,
                            request.useDirectionCosines,
                            request.resampler.resultImage().pixelType,
                            request.folder,
                            0,
                            log};
  resampleImages<D>(batch, tasks);
  return batch.pathOf(tasks.front());
}

}

std::vector<std::string> namesOfInverse(const RegisterOptions& options, const std::string& resultFormat)
{
  if (!options.inverseToo)
    return {};
  return {stemOf(options) + ".txt", stemOf(options) + ".nii.gz", stemOf(options) + ".mha",
          inverseLabelsStem + ("." + resultFormat)};
}

template <int D>
std::vector<std::string> writeInverseResults(const Registry& registry, const InverseRequest<D>& request,
                                             RunLog& log)
{
  return withContext("--inverse-too", [&] {
    const auto start = std::chrono::steady_clock::now();
    Context cpu{Device{}, request.threads};
    log.info("");
    log.info("Writing the inverse ...");
    auto inverse = inverseOnGrid<D>(cpu, request.chain, registry, request.moving, toleranceInFilesMm);
    if (isSearched<D>(*inverse)) { // once, for the file and the labels
      VectorImage<D> field = displacementField<D>(cpu, *inverse, request.moving);
      logRoots<D>(*inverse, request.moving.voxelCount(), "voxels", log);
      leadOutside(field);
      inverse = chainFromField<D>(std::move(field), registry, "--inverse-too");
    }
    TransformOutput<D> output{request.folder + stemOf(request.options) + ".txt",
                              TransformFormat::elastix,
                              inverse,
                              request.chain,
                              request.moving,
                              request.movingInFile,
                              {},
                              "",
                              "",
                              request.stage,
                              request.resampler};
    output.useDirectionCosines = request.useDirectionCosines;
    std::vector<std::string> files = writeTransform<D>(cpu, registry, output, log);
    if (!request.options.fixedLabels.empty())
      files.push_back(carryLabels<D>(cpu, registry, request, *inverse, log));
    log.info("  Writing the inverse took " + decimals(secondsSince(start), 2) + " s.");
    return files;
  });
}

template std::vector<std::string> writeInverseResults(const Registry&, const InverseRequest<2>&, RunLog&);
template std::vector<std::string> writeInverseResults(const Registry&, const InverseRequest<3>&, RunLog&);

}
