#include "Tools/Cohort/CohortFolder.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/Sha256.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/RunRecord.h"
#include "Tools/Common/Provenance.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;
constexpr int cohortSchema = 1;
constexpr std::size_t maxRowsInAFolder = 10'000;

std::string contentOf(const std::string& path)
{
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : "";
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
  if (!std::filesystem::exists(path))
    return {};
  const auto refuse = [&](const std::string& wrong) -> Error {
    return {ExitCode::usage,
            path + ": " + wrong
                + ". Allowed: a folder that this version of tessera-cohort has made, or a new "
                  "one for -out."};
  };
  const Json json = Json::parse(contentOf(path), nullptr, false);
  if (!json.is_object() || !json.contains("schema"))
    throw refuse("it is damaged");
  if (json["schema"] != cohortSchema)
    throw refuse("it has the schema " + json["schema"].dump() + ", and this version writes "
                 + std::to_string(cohortSchema));
  try {
    return CohortFile{json.at("manifest"), json.at("deviceKind"), json.at("defaults"), json.at("command"),
                      json.at("rows")};
  } catch (const Json::exception& error) {
    throw refuse(std::string("it is damaged: ") + error.what());
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
  record.text = contentOf(rowFolder + runName);
  const Json json = Json::parse(record.text, nullptr, false);
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

CohortResults cohortResultsIn(const std::string& operand)
{
  const std::string path = operand.ends_with('/') ? operand : operand + "/";
  const std::optional<CohortFile> file = readCohortFile(path);
  if (!file)
    throw Error(
        ExitCode::unreadableInput,
        operand + ": no folder of results: it has no cohort.json. Allowed: the -out of tessera-cohort run.");
  OptionValues defaults;
  for (std::size_t i = 0; i + 1 < file->defaults.size(); i += 2)
    defaults[file->defaults[i]].push_back(file->defaults[i + 1]);
  return {CohortFolder(path, file->rows), readManifest(path + "manifest.tsv", defaults)};
}

}
