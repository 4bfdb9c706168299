#pragma once

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Reporter.h"
#include "Core/Runs/Resampling/ResultFiles.h"
#include "Core/Runs/Transforming/TransformSink.h"
#include "Tools/Transform/TransformDescription.h"
#include "Tools/Transform/TransformRecord.h"

#include <chrono>
#include <optional>

namespace tessera {

inline std::vector<std::string> pathsOf(const std::vector<GivenTransform>& transforms)
{
  std::vector<std::string> paths;
  for (const GivenTransform& transform : transforms)
    paths.push_back(transform.path);
  return paths;
}

/// Writes transformix's files while a run goes on, and tells the record of them.
template <int D>
class TransformWriter final : public TransformSink<D> {
public:
  TransformWriter(const Registry& registry, const TransformOptions& options, TransformRecord& record,
                  Log& log)
      : registry_(registry), options_(options), request_(options.request), folder_(folderOf(request_)),
        record_(record), log_(log)
  {
  }

  void planned(const TransformPlan& plan) override
  {
    files_.emplace(folder_, plan.settings, &record_.digestsOfOutputs);
    record_.tell([&](TransformRecord::Found& found) {
      found.device = deviceName(plan.device.choice.device);
      found.deviceReason = plan.device.choice.reason;
    });
    for (const ResultToWrite& result : plan.results)
      record_.addOutputs({result.files.front()});
  }

  void describe([[maybe_unused]] Context& cpu, [[maybe_unused]] const TransformChain<D>& chain,
                [[maybe_unused]] const ImageGeometry<D>& lattice) override
  {
    if constexpr (D < 4)
      writeDescription(cpu, chain, lattice);
  }

  void writeDescription(Context& cpu, const TransformChain<D>& chain, const ImageGeometry<D>& lattice)
  {
    const TransformDescription description = describeTransform<D>(cpu, registry_, chain, lattice);
    for (const std::string& line : description.lines)
      log_.info(line);
    const std::string path = folder_ + descriptionName;
    writeTextFile(path, description.json);
    log_.info("  The description is saved in: " + path);
  }

  void pointsMapped(const InputPoints<D>& input, const MappedPoints<D>& mapped) override
  {
    const std::string path = folder_ + nameOfOutputPoints(request_.points.path);
    record_.addOutputs({path});
    record_.tell([&](TransformRecord::Found& found) { found.pointsOutside = mapped.outside; });
    const std::string kind = kindOfPointsFile(path);
    writeTextFile(path, kind == "vtk"   ? outputPointsVtk<D>(mapped.outputMm, input)
                        : kind == "bin" ? outputPointsBinary<D>(mapped, input.areIndices && mapped.fixedGrid)
                                        : outputPointsText<D>(mapped));
    log_.info("  The transformed points are saved in: " + path);
  }

  void fieldMade(const FieldAskedFor& asked, VectorImage<D> field) override
  {
    writeVectorImage<D>(files_->pathOf(asked.stem), field, files_->settings.compress, request_.threads);
  }

  void transformFound([[maybe_unused]] Context& cpu,
                      [[maybe_unused]] const TransformOutput<D>& output) override
  {
    if constexpr (D < 4)
      writeFound(cpu, output);
  }

  void writeFound(Context& cpu, const TransformOutput<D>& output)
  {
    const std::string what = request_.inverse ? "inverse" : "transform";
    log_.info("Writing the " + what + ", computed on the CPU ...");
    const auto start = std::chrono::steady_clock::now();
    auto files = writeTransform<D>(cpu, registry_, output, log_);
    if (const auto& name = options_.bidsName) {
      writeTextFile(name->sidecar, bidsSidecarText(*name, pathsOf(request_.transforms)));
      files.push_back(name->sidecar);
    }
    record_.addOutputs(files, true);
    log_.info("  The " + what + " is saved in: " + joined(files) + "; it took "
              + decimals(secondsSince(start), 2) + "s");
  }

  void imagesStarted(std::size_t count) override
  {
    log_.info(count == 1 ? "Resampling image and writing to disk ..."
                         : "Resampling " + std::to_string(count) + " images and writing to disk ...");
  }
  ResultSink<D>& images() override { return *files_; }
  void imageMade(const ImageTask& task, double outside) override
  {
    record_.tell(
        [&](TransformRecord::Found& found) { found.outside.emplace_back(task.input.path, outside); });
  }
  void timeFound(const std::vector<TimeRow>& time) override
  {
    record_.tell([&](TransformRecord::Found& found) { found.time = time; });
  }

private:
  const Registry& registry_;
  const TransformOptions& options_;
  const TransformRequest& request_;
  const std::string folder_;
  TransformRecord& record_;
  Log& log_;
  std::optional<ResultFiles<D>> files_; // once it is planned
};

}
