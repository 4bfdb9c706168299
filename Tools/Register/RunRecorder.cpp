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
    : digestsOfInputs(std::move(inputs), std::move(digestOfOne)), options_(options),
      folder_(std::move(folder)), started_(currentTime())
{
}

void RunRecorder::write(const Failure& failure, const std::vector<std::string>& warnings)
{
  const RunPictures* const pictures = summary.pictures ? &*summary.pictures : nullptr;
  const bool hasPage = options_.request.pictures;
  digestsOfOutputs.wait();
  RecordFacts facts{
      .command = options_.commandLine,
      .started = started_,
      .finished = currentTime(),
      .seconds = secondsSince(clock_),
      .failure = failure,
      .failedInput =
          failure.code == 0 ? "" : inputNamedIn(failure.message, inputFilesOf(digestsOfInputs.inputs())),
      .digests = digestsOfInputs.of(failure),
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
