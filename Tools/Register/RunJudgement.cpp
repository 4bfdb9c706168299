#include "Tools/Register/RunJudgement.h"

#include "Core/Registration/GeometryInUse.h"

#include <cmath>

namespace tessera {
namespace {

template <int D>
RunPictures picturesOf(const RunResult<D>& run, const ImagePointer<D>& fixedLabels,
                       const ImagePointer<D>& movingLabels)
{
  const LoadedInputs<D>& inputs = run.inputs;
  const MaskPointer<D> mask = inputs.fixedMasks.empty() ? nullptr : inputs.fixedMasks.front();
  return runPictures<D>(run.host, run.registry,
                        {inputs.fixed.front(), inputs.moving.front(), mask, run.headerDirection, run.given,
                         run.chain, fixedLabels, movingLabels});
}

/// Images that were nearly alike must not become less so. Of others, such as MR and CT, a correlation tells
/// little.
void warnOfLessCorrelation(const RunQuality& quality, RunLog& log)
{
  constexpr double nearlyAlike = 0.9, clearly = 0.002;
  if (!quality.correlation || !quality.correlationBefore)
    return;
  const double before = std::abs(*quality.correlationBefore), after = std::abs(*quality.correlation);
  if (before >= nearlyAlike && after < before - clearly)
    log.warning("the intensities of the images correlate less than before the registration: "
                + decimals(after, 4) + ", before " + decimals(before, 4)
                + ". Usual remedies: another metric, a stiffer transform.");
}

bool comparesLabels(const RegisterOptions& options)
{
  return !options.movingLabels.empty();
}

template <int D>
LabelPair<D> labelsOf(const RegisterOptions& options, int threads)
{
  return readLabelPair<D>({"--fLabels", options.fixedLabels}, {"--mLabels", options.movingLabels},
                          options.reading, threads);
}

}

template <int D>
void checkLabels(const RegisterOptions& options)
{
  if (comparesLabels(options))
    labelsOf<D>(options, options.threads);
}

template <int D>
void judgeResult(const RunResult<D>& run, RunSummary& summary, RunLog& log)
{
  const RegisterOptions& options = run.options;
  RunQuality quality = runQuality<D>(run.host, run.registry, run.inputs, run.given, *run.chain);
  LabelPair<D> labels;
  if (comparesLabels(options)) {
    labels = labelsOf<D>(options, run.host.threads);
    for (const std::shared_ptr<Image<D>>& map : {labels.first, labels.second})
      map->geometry = geometryInUse<D>(map->geometry, run.usesDirectionCosines);
    quality.labels = labelQuality<D>(run.host, run.registry, labels, *run.chain);
  }
  for (const std::string& line : quality.lines())
    log.info(line);
  warnOfLessCorrelation(quality, log);
  summary.quality = std::move(quality);
  if (!options.report)
    return;
  const auto start = std::chrono::steady_clock::now();
  summary.pictures = picturesOf<D>(run, labels.first, labels.second);
  log.info("Pictures of " + std::to_string(summary.pictures->slices.size()) + " slices took "
           + decimals(secondsSince(start), 3) + " s.");
}

template <int D>
void showStart(const RunResult<D>& run, RunSummary& summary)
{
  if (run.options.report)
    summary.pictures = picturesOf<D>(run, nullptr, nullptr);
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template void checkLabels<D>(const RegisterOptions&);                                                      \
  template void judgeResult<D>(const RunResult<D>&, RunSummary&, RunLog&);                                   \
  template void showStart<D>(const RunResult<D>&, RunSummary&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
