#include "Tools/Register/RunRecorder.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Runs/OutputNames.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Provenance.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <system_error>

namespace tessera {

RunRecorder::RunRecorder(const RegisterOptions& options, std::string folder, std::vector<RunInput> inputs,
                         FileDigest digestOfOne)
    : options_(options), folder_(std::move(folder)), started_(currentTime()),
      digestOfOne_(std::move(digestOfOne)), inputs_(std::move(inputs))
{
}

void RunRecorder::startDigests()
{
  digests_ = std::async(std::launch::async, [this] {
    std::vector<InputDigest> digests;
    for (const RunInput& input : inputs_)
      digests.push_back(digestOf(input, digestOfOne_, stopOfDigests_.get_token()));
    return digests;
  });
}

bool RunRecorder::hasDigests() const
{
  return digests_.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready;
}

std::vector<InputDigest> RunRecorder::digests(const Failure& failure)
{
  if (failure.code != 0) // which is told after the record is written
    stopOfDigests_.request_stop();
  std::vector<InputDigest> digests(inputs_.size());
  if (digests_.valid())
    digests = digests_.get();
  for (std::size_t i = 0; i < digests.size() && failure.code != 0; ++i)
    if (digests[i].sha256.empty())
      digests[i] = digestOf(inputs_[i], digestOfOne_, {}, failure.code > 128 ? 0 : largestAfterFailure);
  return digests;
}

void RunRecorder::write(const Failure& failure, const std::vector<std::string>& warnings)
{
  const RunPictures* const pictures = summary.pictures ? &*summary.pictures : nullptr;
  const bool hasPage = options_.request.pictures;
  digestsOfOutputs.wait();
  RecordFacts facts{.command = options_.commandLine,
                    .started = started_,
                    .finished = currentTime(),
                    .seconds = secondsSince(clock_),
                    .failure = failure,
                    .failedInput =
                        failure.code == 0 ? "" : inputNamedIn(failure.message, inputFilesOf(inputs_)),
                    .digests = digests(failure),
                    .files = {folder_ + logName},
                    .warnings = warnings};
  facts.digestOfOutput = [this](const std::string& path, const std::stop_token&) {
    return digestsOfOutputs.of(path);
  };
  if (hasPage)
    facts.files.push_back(folder_ + pageName);
  const bool hasThumbnail = pictures && !pictures->thumbnail.empty();
  if (hasThumbnail)
    facts.files.push_back(folder_ + thumbnailName);
  const nlohmann::ordered_json record = recordOf(options_.request, headers, summary, facts, provenance());
  if (hasPage && !summary.series) { // a series has its own page
    if (hasThumbnail)
      writeTextFile(folder_ + thumbnailName, pictures->thumbnail, Sync::no);
    writeTextFile(folder_ + pageName, runPage(record, pictures, summary.curves()), Sync::no);
  }
  const std::string text =
      record.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  writeTextFile(folder_ + summaryName, text, Sync::no); // run.json has the same bytes
  writeTextFile(folder_ + runName, text);               // last: a folder that has it is complete
}

void recordFailure(const RegisterOptions& options, const Failure& failure)
{
  RunRecorder(options, prepareOutputFolder(options.request.outputFolder), runInputsOf(options.request))
      .write(failure, {});
}

void replaceRecord(const RegisterOptions& options, const Failure& failure)
{
  const std::string& folder = options.request.outputFolder;
  std::error_code ignored;
  if (folder.empty() || !std::filesystem::exists(std::filesystem::path(folder) / summaryName, ignored))
    return;
  try {
    recordFailure(options, failure);
  } catch (const Error&) { // the run's own error is reported, not this one
  }
}

}
