#include "Core/Runs/SeriesCheck.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Log.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/TermOfSeries.h"
#include "Core/Runs/Transforming/FromTime.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tessera {

template <int D>
bool isOfSeries(const CheckedStage<D>& stage)
{
  return std::ranges::any_of(stage.prepared.components.terms, [](const auto& term) {
    return dynamic_cast<const TermOfSeries<D>*>(term.get()) != nullptr;
  });
}

template <int D>
void checkRequestForSeries(const RunRequest& request, const std::vector<CheckedStage<D>>& stages, Log& log)
{
  if (request.fixedPoints.isGiven() && std::ranges::any_of(stages, isOfSeries<D>))
    log.note(
        "-fp and -mp: of a series -fp tells where points lie on the mean of all times, and -mp where they "
        "lie at each time.");
  for (const CheckedStage<D>& stage : stages)
    if (isOfSeries<D>(stage) && (request.fixedLabels.isGiven() || request.movingLabels.isGiven()))
      throw Error(ExitCode::usage,
                  "--fLabels and --mLabels: " + stage.text.path
                      + " registers the times of a series to each other, and no image to another one whose "
                        "labels could be compared. Allowed: --warp-labels with --from-time N.");
    else if (request.fromTime && !isOfSeries<D>(stage))
      throw Error(ExitCode::usage, "--from-time: " + stage.text.path
                                       + " does not register the times of a series to each other. Allowed: "
                                         "files that do, such as those of --preset cine.");
}

template <int D>
void checkStartOfSeries(const std::string& what, const TransformChain<D>& chain,
                        const ImageGeometry<D>& series, Log& log)
{
  if (!keepsTimes<D>(chain, series))
    throw Error(ExitCode::usage, what
                                     + ": it moves points along the last axis of the images, which is time. "
                                       "Allowed: a transform that leaves times as they are.");
  const std::map<std::string, double> ofSeries{{"NumberOfSubTransforms", series.size[D - 1]},
                                               {"StackSpacing", series.spacingMm[D - 1]},
                                               {"StackOrigin", series.originMm[D - 1]}};
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get())
    for (const FileEntry& entry :
         link->parameters.empty() ? std::vector<FileEntry>() : link->transform->fileEntries())
      if (const auto here = ofSeries.find(entry.name);
          here != ofSeries.end()
          && std::abs(entry.numbers.front() - here->second) > 1e-6 * series.spacingMm[D - 1])
        log.warning(what + ": it is for other times: its " + entry.name + " is "
                    + realText(entry.numbers.front()) + ", and that of the series " + realText(here->second)
                    + ". Each time starts from the nearest one that there is.");
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(isOfSeries<D>, checkRequestForSeries<D>, checkStartOfSeries<D>);

}
