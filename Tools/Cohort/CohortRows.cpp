#include "Tools/Cohort/CohortRows.h"

#include "Core/Compute/Error.h"
#include "Tools/Register/InverseResults.h"
#include "Tools/Register/OutputNames.h"

#include <algorithm>
#include <filesystem>

namespace tessera {
namespace {

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
  for (const RunInput& input : runInputsOf(rowOptions(row), filesOf))
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

RegisterOptions rowOptions(const ManifestRow& row)
{
  const auto all = [&](const char* name) {
    const auto found = row.options.find(name);
    return found == row.options.end() ? std::vector<std::string>{} : found->second;
  };
  const auto one = [&](const char* name) {
    const std::vector<std::string> values = all(name);
    return values.empty() ? std::string() : values.front();
  };
  RegisterOptions options;
  options.fixed = all("f");
  options.moving = all("m");
  options.fixedMasks = all("fMask");
  options.movingMasks = all("mMask");
  options.parameterFiles = all("p");
  options.initialTransform = one("t0");
  options.fixedPoints = one("fp");
  options.movingPoints = one("mp");
  options.pointWeights = one("point-weights");
  options.fixedLabels = one("fLabels");
  options.movingLabels = one("mLabels");
  options.inverseToo = one("inverse-too") == "true";
  return options;
}

std::string deviceKindOf(const ManifestRow& row, const CohortFile& cohort)
{
  const auto device = row.options.find("device");
  return device == row.options.end() ? cohort.deviceKind : device->second.front();
}

std::vector<std::string> tokensOf(const ManifestRow& row, const CohortFolder& folder,
                                  const std::string& device, int threads,
                                  const std::vector<std::string>& forRows)
{
  std::vector<std::string> tokens;
  const auto add = [&](const std::string& option, const std::string& value) {
    tokens.push_back(option);
    tokens.push_back(value);
  };
  for (const auto& [name, values] : row.options) {
    const bool isOwn = name == "fLabels" || name == "mLabels" || name == "point-weights",
               isRepeated = name == "p";
    for (std::size_t i = 0; i < values.size() && isPathOption(name); ++i)
      add((isOwn ? "--" : "-") + name + (values.size() > 1 && !isRepeated ? std::to_string(i) : ""),
          values[i]);
  }
  if (rowOptions(row).inverseToo)
    tokens.push_back("--inverse-too");
  std::string out = folder.rowFolder(row.id);
  out.pop_back(); // the slash
  add("-out", out);
  add("--device", device);
  add("-threads", std::to_string(threads));
  tokens.insert(tokens.end(), forRows.begin(), forRows.end());
  return tokens;
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
  const bool lacksInverse = rowOptions(row).inverseToo && !hasInverse(*record);
  return !lacksInverse && hasOutputs(*record, isVerified) ? RowState::done : RowState::waiting;
}

}
