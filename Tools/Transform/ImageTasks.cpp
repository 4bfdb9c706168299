#include "Tools/Transform/ImageTasks.h"

#include "Core/Compute/Error.h"
#include "Core/Image/ImageFormat.h"
#include "Core/Parameters/ParameterText.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>
#include <tuple>

namespace tessera {
namespace {

[[noreturn]] void fail(const std::string& given, const std::string& wrong, const std::string& allowed)
{
  throw Error(ExitCode::usage, given + ": " + wrong + ". Allowed: " + allowed + ".");
}

constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF"; // of UTF-8
const std::string listRule = "a text file with the path of an image on each line; lines that begin with # are comments";

std::vector<std::string> pathsOfList(const std::string& option, const std::string& list)
{
  const std::string given = option + " @" + list;
  std::error_code ignored;
  std::ifstream file(list);
  if (!file || std::filesystem::is_directory(list, ignored))
    fail(given, "the list cannot be read", listRule);
  std::vector<std::string> paths;
  bool isFirst = true;
  for (std::string line; std::getline(file, line); isFirst = false) {
    if (isFirst && line.starts_with(byteOrderMark))
      line.erase(0, byteOrderMark.size());
    if (line.find('\0') != std::string::npos)
      fail(given, "it is no text", listRule);
    if (const std::string_view path = trimmed(line); !path.empty() && path.front() != '#')
      paths.emplace_back(path);
  }
  if (paths.empty())
    fail(given, "the list names no image", listRule);
  return paths;
}

std::string given(const ImageTask& task)
{
  return task.option + " " + task.input;
}

const std::string otherNames = "images of different names, or one run for each";

void checkNamesDiffer(const TransformOptions& options, const std::vector<ImageTask>& tasks)
{
  std::map<std::string, std::string> byStem; // what gives the result of this name
  for (const auto& [asked, option, stem] : {std::tuple{options.field, "-def all", "deformationField"},
                                            {options.determinants, "-jac all", "spatialJacobian"},
                                            {options.matrices, "-jacmat all", "fullSpatialJacobian"}})
    if (asked)
      byStem.emplace(stem, option);
  for (const ImageTask& task : tasks) {
    const auto [other, isNew] = byStem.emplace(task.outputStem, given(task));
    if (!isNew)
      fail(other->second + " and " + given(task), "both results would be called " + task.outputStem, otherNames);
  }
}

/// Results that are called after their images are not written over them.
void checkInputsStay(const std::vector<ImageTask>& tasks, const ResultPlace& place)
{
  std::map<std::filesystem::path, const ImageTask*> inputs;
  const auto fileOf = [](const std::string& path) {
    std::error_code ignored; // a path that cannot be followed is no file
    return std::filesystem::weakly_canonical(path, ignored);
  };
  for (const ImageTask& task : tasks)
    inputs.emplace(fileOf(task.input), &task);
  for (const ImageTask& task : tasks) {
    const std::string result = place.folder + task.outputStem + "." + place.format;
    const auto input = inputs.find(fileOf(result));
    if (input != inputs.end() && !input->first.empty())
      fail(given(task), "its result would be written over the image " + input->second->input, "another folder for -out");
  }
}

}

std::string imageStem(const std::string& path)
{
  std::string whole = path;
  while (whole.size() > 1 && whole.back() == '/')
    whole.pop_back();
  std::string name = std::filesystem::path(whole).filename().string();
  const std::string format = formatOf(name);
  if (!format.empty())
    name.resize(name.size() - format.size() - 1);
  else if (std::error_code ignored; !std::filesystem::is_directory(whole, ignored))
    name = std::filesystem::path(name).stem().string();
  return name;
}

std::vector<ImageTask> imageTasks(const TransformOptions& options, const ResultPlace& place)
{
  std::vector<ImageTask> tasks;
  bool hasList = false;
  const auto add = [&](const std::string& option, const std::vector<std::string>& values, bool isLabels) {
    for (const std::string& value : values) {
      const bool isList = value.starts_with('@');
      hasList = hasList || isList;
      for (const std::string& path : isList ? pathsOfList(option, value.substr(1)) : std::vector{value})
        tasks.push_back({option, path, isLabels, imageStem(path)});
    }
  };
  add("-in", options.images, false);
  add("--labels", options.labels, true);
  if (tasks.size() == 1 && !hasList) {
    tasks.front().outputStem = place.nameOfOne;
    return tasks;
  }
  checkNamesDiffer(options, tasks);
  checkInputsStay(tasks, place);
  return tasks;
}

}
