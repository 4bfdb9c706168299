#include "Tools/Common/RunFolder.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/JoinedText.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <ranges>

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// run.json; null if it is missing or no record.
nlohmann::json recordIn(const fs::path& folder)
{
  nlohmann::json record = nlohmann::json::parse(readTextFile(folder / "run.json").text, nullptr, false);
  return record.is_object() ? record : nlohmann::json();
}

/// The run may have written to the folder under another path. Empty also for a damaged record.
std::vector<std::string> transformsIn(const nlohmann::json& record, const fs::path& folder)
try {
  std::vector<std::string> transforms;
  if (record.is_null())
    return transforms;
  for (const nlohmann::json& stage : record.value("stages", nlohmann::json::array()))
    for (const fs::path path : stage.value("files", std::vector<std::string>{}))
      for (const char* ending : {".txt", ".toml"})
        if (path.filename() == "TransformParameters." + std::to_string(transforms.size()) + ending) {
          transforms.push_back((folder / path.filename()).string());
          break;
        }
  return transforms;
} catch (const nlohmann::json::exception&) {
  return {};
}

}

std::vector<std::string> transformsOfStages(const std::string& folder)
{
  return transformsIn(recordIn(folder), folder);
}

std::string transformFileOf(const std::string& path, const std::string& option)
{
  std::error_code ignored;
  if (!fs::is_directory(path, ignored))
    return path;
  const nlohmann::json record = recordIn(path);
  const std::vector<std::string> transforms = transformsIn(record, path);
  const auto fail = [&](const std::string& wrong) {
    failAs(ExitCode::usage, option, path + ": a folder " + wrong,
           "a transform file, or the folder of a run that is done");
  };
  if (record.is_null())
    fail("without a run.json, which tells the last stage");
  if (record.value("status", nlohmann::json()) != "done")
    fail("whose run has not been done to its end, says its run.json");
  if (transforms.empty())
    fail("whose run wrote no transform of its last stage");
  return transforms.back();
}

std::string laterStagesThan(const std::string& transformFile)
{
  const fs::path file(transformFile);
  const std::vector<std::string> transforms = transformsOfStages(file.parent_path());
  const auto found = std::ranges::find(transforms, (file.parent_path() / file.filename()).string());
  if (found == transforms.end() || found + 1 == transforms.end())
    return "";
  return transformFile + " is stage " + std::to_string(found - transforms.begin())
         + " of its run; later stages are left out: "
         + joined(std::ranges::subrange(found + 1, transforms.end()));
}

std::string sixDigits(std::size_t number)
{
  char text[32];
  std::snprintf(text, sizeof text, "%06zu", number);
  return text;
}

}
