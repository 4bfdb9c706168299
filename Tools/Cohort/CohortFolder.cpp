#include "Tools/Cohort/CohortFolder.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Image/Files/Sha256.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/RunRecord.h"
#include "Tools/Common/Provenance.h"

#include <filesystem>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;
constexpr int cohortSchema = 1;
constexpr std::size_t maxRowsInAFolder = 10'000;

constexpr std::size_t largestStateBytes = std::size_t{64} << 20;

/// Discarded unless the text is JSON of a depth that no function which calls itself for each level minds.
Json jsonOfState(const std::string& text)
{
  constexpr int deepest = 32;
  bool isTooDeep = false;
  const auto isKept = [&](int depth, Json::parse_event_t, Json&) {
    isTooDeep = isTooDeep || depth > deepest;
    return !isTooDeep;
  };
  Json json = Json::parse(text, isKept, false);
  return isTooDeep ? Json(Json::value_t::discarded) : json;
}

}

CohortFolder::CohortFolder(std::string path, std::size_t rows)
    : path_(path.ends_with('/') ? std::move(path) : path + "/"), isSplit_(rows > maxRowsInAFolder)
{
}

std::string CohortFolder::rowFolder(const std::string& id) const
{
  std::string group;
  if (isSplit_) {
    Sha256 sha;
    sha.add(id);
    group = sha.hexadecimal().substr(0, 2) + "/";
  }
  return path_ + "rows/" + group + id + "/";
}

std::optional<CohortFile> readCohortFile(const std::string& folder)
{
  const std::string path = folder + "cohort.json";
  const TextFile file = readStateFile(path, largestStateBytes);
  if (file.failure == noSuchFile)
    return {};
  const auto refuse = [&](const std::string& wrong) -> Error {
    return {ExitCode::usage,
            path + ": " + wrong
                + ". Allowed: a folder that this version of tessera-cohort has made, or a new one for -out."};
  };
  if (!file.failure.empty())
    throw refuse(file.failure);
  const Json json = jsonOfState(file.text);
  if (!json.is_object() || !json.contains("schema"))
    throw refuse("it is damaged");
  if (json["schema"] != cohortSchema)
    throw refuse("it is not of the schema " + std::to_string(cohortSchema) + ", which this version writes");
  try {
    return CohortFile{json.at("manifest"), json.at("deviceKind"), json.at("defaults"), json.at("command"),
                      json.at("rows")};
  } catch (const Json::exception&) {
    throw refuse("it is damaged: a value is missing or of another kind");
  }
}

void writeCohortFile(const std::string& folder, const CohortFile& cohort)
{
  Json json{{"schema", cohortSchema},      {"manifest", cohort.manifest}, {"deviceKind", cohort.deviceKind},
            {"defaults", cohort.defaults}, {"command", cohort.command},   {"rows", cohort.rows}};
  json.update(provenance());
  json["schema"] = cohortSchema; // not that of run.json
  writeTextFile(folder + "cohort.json", json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::optional<RowRecord> readRowRecord(const std::string& rowFolder)
{
  RowRecord record;
  record.text = readStateFile(rowFolder + runName, largestStateBytes).text;
  const Json json = jsonOfState(record.text);
  if (!json.is_object() || !json.contains("schema") || json["schema"] != runSchema)
    return {};
  try {
    record.status = json.at("status");
    record.exitCode = json.at("exitCode");
    record.message = json.at("message");
    record.key = json.at("key").is_string() ? json.at("key").get<std::string>() : "";
    record.finished = json.at("finished");
    record.seconds = json.at("seconds");
    for (const Json& input : json.at("inputFiles"))
      if (input.at("sha256").is_string())
        record.digestOfInput[input.at("path")] = input.at("sha256");
    for (const Json& output :
         json.at("outputs")) { // by name: the folder may have moved, or the working folder
      const std::string name = std::filesystem::path(output.at("path").get<std::string>()).filename();
      record.outputs.push_back({rowFolder + name, output.at("sha256"), output.at("bytes")});
    }
  } catch (const Json::exception&) {
    return {};
  }
  return record;
}

void failDamagedRecord(const std::string& rowFolder)
{
  failAs(ExitCode::unreadableInput, rowFolder + runName,
         "it is damaged: a value is missing or of another kind",
         "the file as a run has written it, or none: then the row counts as not done");
}

CohortResults cohortResultsIn(const std::string& operand)
{
  const std::string path = operand.ends_with('/') ? operand : operand + "/";
  const std::optional<CohortFile> file = readCohortFile(path);
  if (!file)
    failAs(ExitCode::unreadableInput, operand, "no folder of results: it has no cohort.json",
           "the -out of tessera-cohort run");
  OptionValues defaults;
  for (std::size_t i = 0; i + 1 < file->defaults.size(); i += 2)
    defaults[file->defaults[i]].push_back(file->defaults[i + 1]);
  return {CohortFolder(path, file->rows), readManifest(path + "manifest.tsv", defaults)};
}

}
