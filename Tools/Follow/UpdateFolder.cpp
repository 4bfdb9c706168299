#include "Tools/Follow/UpdateFolder.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Transform.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/RunFolder.h"
#include "Tools/Register/InverseResults.h"

namespace tessera {

template <int D>
UpdateFolder<D>::UpdateFolder(const Registry& registry, const FollowOptions& options, std::size_t number,
                              Log& log)
    : registry_(registry), options_(options),
      folder_(prepareOutputFolder(options.outFolder + sixDigits(number))), log_(log)
{
}

template <int D>
void UpdateFolder<D>::stageStarted(RunningStage<D>& stage)
{
  const std::string& initial = options_.request.initialTransform.path;
  if (stage.number == 0)
    transform_ = {initial, initial.empty() ? "" : transformDigest(initial)};
  outputs_.emplace(registry_, stage, folder_, transform_, log_);
}

template <int D>
void UpdateFolder<D>::transformFound(const ChainPointer<D>& chain)
{
  chain_ = chain;
  outputs_->writeTransforms(*chain);
}

template <int D>
void UpdateFolder<D>::resultMade(ResultImage<D>& image)
{
  outputs_->writeResult("", image);
}

template <int D>
void UpdateFolder<D>::stageFinished(const StageSummary&)
{
  const RunningStage<D>& stage = outputs_->stage();
  transform_ = outputs_->transformFile();
  if (stage.number + 1 == stage.count && options_.request.fixedLabels.isGiven()) {
    RunRequest request = options_.request;
    request.inverseToo = true;
    writeInverseResults<D>(registry_, request, stage, folder_, chain_, log_);
  }
  outputs_.reset();
}

template <int D>
void UpdateFolder<D>::writeRest(const FollowUpdate<D>& update, const std::vector<Vec<D>>& pointsMm) const
{
  for (std::size_t i = 0; i < update.whatWasRun.size() && options_.writesParameters; ++i)
    writeTextFile(folder_ + "parameters." + std::to_string(i) + ".txt", update.whatWasRun[i], Sync::no);
  if (options_.planPoints.empty())
    return;
  std::string text = "point\n" + std::to_string(pointsMm.size()) + "\n";
  for (const Vec<D>& point : pointsMm)
    text += joined(mappedPoint<D>(*update.result.chain, point), " ", [](double mm) { return realText(mm); })
            + "\n";
  writeTextFile(folder_ + "points.txt", text, Sync::no);
}

TESSERA_INSTANTIATE_CLASS(UpdateFolder);

}
