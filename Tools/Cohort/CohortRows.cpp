#include "Tools/Cohort/CohortRows.h"

#include "Core/Runs/OutputNames.h"

#include <algorithm>
#include <filesystem>

namespace tessera {
namespace {

/// The inputs of a row, whose parameter files are named and not read.
RunRequest inputsOf(const ManifestRow& row)
{
  const auto all = [&](const char* name) {
    const auto found = row.options.find(name);
    return found == row.options.end() ? std::vector<std::string>{} : found->second;
  };
  const auto one = [&](const char* name) {
    const std::vector<std::string> values = all(name);
    return values.empty() ? std::string() : values.front();
  };
  const auto files = [&](const char* name, auto& inputs) {
    for (const std::string& path : all(name))
      inputs.push_back({path});
  };
  RunRequest request;
  files("f", request.fixed);
  files("m", request.moving);
  files("fMask", request.fixedMasks);
  files("mMask", request.movingMasks);
  files("p", request.stages);
  request.initialTransform.path = one("t0");
  request.fixedPoints.path = one("fp");
  request.movingPoints.path = one("mp");
  request.pointWeights = {one("point-weights")};
  request.fixedLabels.path = one("fLabels");
  request.movingLabels.path = one("mLabels");
  request.inverseToo = one("inverse-too") == "true";
  request.seriesReference = one("reference");
  return request;
}

/// Whether the record is that of a run with the row's inputs as they are now. A stage without a CUDA form
/// runs on the CPU, always the same ones for the same parameter files.
bool hasKeyOf(const RowRecord& record, const ManifestRow& row, const std::string& deviceKind,
              DigestCache& cache)
{
  // An image that had the digest of its one file then has it now: it need not be opened to see its files.
  const auto filesOf = [&](const std::string& path) {
    const std::string known = cache.knownDigest(path);
    const auto then = record.digestOfInput.find(path);
    const bool isAsThen = !known.empty() && then != record.digestOfInput.end() && then->second == known;
    return isAsThen ? std::vector<std::string>{path} : filesOfImage(path);
  };
  std::vector<InputDigest> digests;
  RunRequest request = inputsOf(row);
  for (StageText& stage : request.stages)
    stage = readStageText(stage.path);
  for (const RunInput& input : runInputsOf(request, filesOf))
    digests.push_back(digestOf(input, [&](const std::string& path, const std::stop_token& stop) {
      return cache.digest(path, stop);
    }));
  const std::string key = runKey(digests, {}, deviceKind);
  return record.key == key // both are empty where an input was missing and still is

         || (deviceKind == "cuda" && !key.empty()
             && (record.key == runKey(digests, {}, "cpu+cuda") || record.key == runKey(digests, {}, "cpu")));
}

/// --inverse-too is no input, so that the key does not tell.
bool hasInverse(const RowRecord& record)
{
  return std::ranges::any_of(record.outputs, [](const RowRecord::Output& output) {
    return std::filesystem::path(output.path).filename().string().starts_with(inverseStem);
  });
}

bool hasOutputs(const RowRecord& record, bool isVerified)
{
  return std::ranges::all_of(record.outputs, [&](const RowRecord::Output& output) {
    std::error_code failure;
    if (std::filesystem::file_size(output.path, failure) != output.bytes || failure)
      return false;
    return !isVerified || digestOfFile(output.path) == output.sha256;
  });
}

}

std::string deviceKindOf(const ManifestRow& row, const std::string& forAll)
{
  const auto device = row.options.find("device");
  return device == row.options.end() ? forAll : device->second.front();
}

RunRequest requestOf(const ManifestRow& row, const CohortFolder& folder, const CohortOptions& options,
                     const std::string& device, int threads)
{
  RunRequest request = inputsOf(row);
  request.outputFolder = folder.rowFolder(row.id);
  request.outputFolder.pop_back(); // the slash
  request.device = device;
  request.threads = threads;
  request.threadSource = "-threads";
  request.strict = options.strict;
  request.pictures = options.pages;
  request.refusesConstantImages = true; // nobody sees the warning
  request.cudaStartIsPaid = true;       // or will be, by the first row that needs it
  return request;
}

RowState rowState(const ManifestRow& row, const CohortFolder& folder, const std::string& deviceKind,
                  DigestCache& cache, bool isVerified, std::optional<RowRecord>& record)
{
  record = readRowRecord(folder.rowFolder(row.id));
  if (!record || !(record->isDone() || record->repeatsItsFailure())
      || !hasKeyOf(*record, row, deviceKind, cache))
    return RowState::waiting;
  if (!record->isDone())
    return RowState::failed;
  const bool lacksInverse = inputsOf(row).inverseToo && !hasInverse(*record);
  return !lacksInverse && hasOutputs(*record, isVerified) ? RowState::done : RowState::waiting;
}

}
