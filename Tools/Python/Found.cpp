#include "Tools/Python/Found.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/Report/RunPage.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Provenance.h"
#include "Tools/Register/InverseResults.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include <malloc.h>

namespace tessera::python {
namespace {

/// The chain of a level, whose transform the next level may have refined.
template <int D>
ChainPointer<D> asItWas(const typename KeptStage<D>::Level& level, const Context& host)
{
  TransformFileSource<D> source{.chain = &level.chain, .model = &level.model};
  source.fixed.size.fill(1);
  source.fixed.spacingMm.fill(1);
  std::vector<std::string> warnings;
  std::vector<TransformMap> maps;
  for (const std::string& text : transformChainTexts<D>(source, warnings))
    maps.push_back(std::make_shared<ParameterMap>(parseParameterText(text, "level", warnings)));
  return chainFromMaps<D>(host, maps, components(), {});
}

template <int D>
ResultImage<D> onHost(const ResultImage<D>& image)
{
  ResultImage<D> copy{image.geometry, image.type, image.components, largeArray<std::byte>(image.byteCount()),
                      image.clamped};
  copyLargeToHost(image.onCuda->context, copy.pixels.get(), image.onCuda->pixels.span().data(),
                  image.byteCount());
  return copy;
}

}

template <int D>
KeptStage<D>::KeptStage(const RunningStage<D>& stage)
    : number(stage.number), count(stage.count), text(stage.text), parameters(stage.parameters),
      settings(stage.settings), fixed(stage.fixed), moving(stage.moving), fixedInFile(stage.fixedInFile),
      movingInFile(stage.movingInFile), host{{}, stage.host.threads},
      sections(resamplingSections<D>(components(), stage.parameters, stage.resampler))
{
}

template <int D>
FoundIn<D>::~FoundIn()
{
  constexpr std::size_t largeVoxels = 1 << 18; // of which a run takes much longer than this
  const bool isLarge = keepsRun_ && !stages_.empty() && stages_.front().fixed.voxelCount() >= largeVoxels
                       && stages_.back().image.pixels; // else the result lies on a GPU
  stages_.clear();
  if (isLarge)
    malloc_trim(0);
}

template <int D>
void FoundIn<D>::stageStarted(RunningStage<D>& stage)
{
  if (stage.number == 0) // a follower begins anew where an update was none
    stages_.clear();
  stages_.emplace_back(stage);
  iterationsOfLevels_.clear();
  for (const EffectiveParameter& parameter : effectiveParameters(components(), stage.text.map))
    if (parameter.name == "MaximumNumberOfIterations")
      for (const std::string& value : parameter.values)
        iterationsOfLevels_.push_back(std::stoull(value));
  progress_ = {stage.number, stage.count, 0, stage.parameters.levelCount(), 0, 0};
}

template <int D>
void FoundIn<D>::levelStarted(std::size_t level, const std::vector<std::string>& header)
{
  header_ = joined(header, "\t");
  stages_.back().tables.resize(level + 1);
  progress_.level = level;
  progress_.iteration = 0;
  if (!iterationsOfLevels_.empty())
    progress_.iterations = iterationsOfLevels_[std::min(level, iterationsOfLevels_.size() - 1)];
  log_->progressed(progress_);
}

template <int D>
void FoundIn<D>::iterationDone(std::size_t level, const IterationRecord& record,
                               const typename Reporter<D>::ReachedChain&)
{
  if (keepsRun_ || log_->tellsIterations()) {
    std::string& table = stages_.back().tables[level];
    if (table.empty()) {
      table = header_ + "\n";
      log_->iteration(header_);
    }
    const std::string cells = joined(record.cells(), "\t");
    table += cells + "\n";
    log_->iteration(cells);
  }
  progress_.iteration = record.iteration;
  progress_.value = record.value;
  log_->progressed(progress_);
}

template <int D>
void FoundIn<D>::levelFinished(const LevelSummary& summary, const TransformChain<D>& chain)
{
  log_->info("Level " + std::to_string(summary.level + 1) + ": " + summary.stopCondition);
  if (!keepsRun_)
    return;
  KeptStage<D>& stage = stages_.back();
  if (!stage.settings.writesTransformOfLevels)
    stage.levels.clear();
  stage.levels.push_back({summary.level, chain, chain.transform->fileEntries()});
}

template <int D>
void FoundIn<D>::findInverse(Stop stop)
{
  KeptStage<D>& last = stages_.back();
  Context cpu = last.host;
  cpu.stop = stop;
  if constexpr (D < 4) // of others the run refuses it
    last.inverse = inverseOfResult<D>(components(), cpu, last.chain, last.moving, *log_);
}

template <int D>
void FoundIn<D>::finish(RunRequest request, InputHeaders headers, RunSummary summary, RecordFacts facts)
{
  request_ = std::move(request);
  for (auto* images : {&request_.fixed, &request_.moving})
    for (GivenImage& image : *images)
      image.inMemory = {};
  for (auto* masks : {&request_.fixedMasks, &request_.movingMasks})
    for (GivenMask& mask : *masks)
      mask.inMemory = {};
  request_.fixedLabels.inMemory = request_.movingLabels.inMemory = {};
  headers_ = std::move(headers);
  summary_ = std::move(summary);
  facts_ = std::move(facts);
  log_ = nullptr;
}

template <int D>
nb::list FoundIn<D>::chains() const
{
  nb::list chains;
  for (const KeptStage<D>& stage : stages_) {
    ChainPointer<D> chain = stage.chain;
    if (!chain && !stage.levels.empty())
      chain = asItWas<D>(stage.levels.back(), stage.host);
    if (chain)
      chains.append(nb::make_tuple(Chain(chain, stage.sections, stage.settings.useDirectionCosines),
                                   numbersOf<D>(stage.fixedInFile), numbersOf<D>(stage.movingInFile)));
  }
  return chains;
}

template <int D>
nb::object FoundIn<D>::inverse() const
{
  if (stages_.empty() || !stages_.back().inverse)
    return nb::none();
  const KeptStage<D>& last = stages_.back();
  return nb::make_tuple(Chain(last.inverse, last.sections, last.settings.useDirectionCosines),
                        numbersOf<D>(last.movingInFile), numbersOf<D>(last.fixedInFile));
}

template <int D>
nb::object FoundIn<D>::image(nb::handle owner) const
{
  return stages_.empty() ? nb::none() : viewOf<D>(stages_.back().image, owner);
}

template <int D>
std::string FoundIn<D>::record() const
{
  return recordOf(request_, headers_, summary_, facts_, provenance())
      .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

template <int D>
std::string FoundIn<D>::page() const
{
  const RunPictures* const pictures = summary_.pictures ? &*summary_.pictures : nullptr;
  return runPage(nlohmann::ordered_json::parse(record()), pictures, curves());
}

/// Writes an initial transform that was in memory, one file for each transform of its chain.
template <int D>
InitialFile FoundIn<D>::saveInitial(const std::string& folder, Log& log) const
{
  const GivenTransform& initial = request_.initialTransform;
  if (!initial.isGiven() || initial.isFile())
    return {initial.path, initial.isGiven() ? transformDigest(initial.path) : ""};
  std::vector<const TransformChain<D>*> links;
  for (const TransformChain<D>* link = initial.held<D>()->get(); link; link = link->initial.get())
    links.insert(links.begin(), link);
  InitialFile file;
  for (std::size_t i = 0; i < links.size(); ++i) {
    std::vector<std::string> warnings;
    TransformFileSource<D> source{
        .chain = links[i], .fixed = stages_.front().fixedInFile, .sections = stages_.front().sections};
    if (!file.path.empty()) {
      source.initialPath = file.path;
      source.initialDigest = file.digest;
    }
    file.path = folder + "InitialTransformParameters." + std::to_string(i) + ".txt";
    writeTextFile(file.path, transformFileText<D>(source, warnings));
    for (const std::string& warning : warnings)
      log.warning(file.path + ": " + warning);
    file.digest = transformDigest(file.path);
  }
  return file;
}

template <int D>
void FoundIn<D>::save(const std::string& path, Log& log) const
{
  const std::string folder = prepareOutputFolder(path);
  InitialFile initial = saveInitial(folder, log);
  for (const KeptStage<D>& kept : stages_) {
    if (!kept.chain)
      break;
    const auto resampler = components().create<Resampler<D>>(
        componentNames(kept.parameters, "Resampler").front(), kept.parameters.withLabel("Resampler0"),
        kept.parameters.where("Resampler"));
    const RunningStage<D> stage{kept.number,      kept.count,        kept.text,  kept.parameters,
                                kept.settings,    *resampler,        kept.fixed, kept.moving,
                                kept.fixedInFile, kept.movingInFile, kept.host,  {}};
    StageOutputs<D> outputs(components(), stage, folder, initial, log);
    for (std::size_t level = 0; level < kept.tables.size(); ++level)
      outputs.writeTables(summary_.stages.at(kept.number).levels.at(level), kept.tables[level]);
    for (const auto& level : kept.levels)
      if (kept.settings.writesTransformOfLevels)
        outputs.writeTransform(levelSuffix(level.level), level.chain, &level.model);
    outputs.writeTransforms(*kept.chain);
    if (kept.image.pixels)
      outputs.writeResult("", kept.image);
    else if (kept.image.onCuda)
      outputs.writeResult("", onHost(kept.image));
    if constexpr (D < 4)
      if (kept.inverse) {
        RunRequest withoutLabels = request_;
        withoutLabels.fixedLabels = {};
        writeInverseResults<D>(components(), withoutLabels, stage, folder, kept.chain, log, kept.inverse);
      }
    initial = outputs.transformFile();
  }
}

template class FoundIn<2>;
template class FoundIn<3>;
template class FoundIn<4>;

}
