#include "Tools/Transform/ImageTasks.h"

#include "Core/Compute/Error.h"
#include "Core/Image/ImageFormat.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>

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
    const std::size_t first = line.find_first_not_of(" \t\r"), last = line.find_last_not_of(" \t\r");
    if (first != std::string::npos && line[first] != '#')
      paths.push_back(line.substr(first, last - first + 1));
  }
  if (paths.empty())
    fail(given, "the list names no image", listRule);
  return paths;
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

std::vector<ImageTask> imageTasks(const TransformOptions& options, const std::string& resultName)
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
    tasks.front().outputStem = resultName;
    return tasks;
  }
  std::map<std::string, const ImageTask*> byStem;
  for (const ImageTask& task : tasks) {
    const auto [other, isNew] = byStem.emplace(task.outputStem, &task);
    if (!isNew)
      fail(other->second->option + " " + other->second->input + " and " + task.option + " " + task.input,
           "both results would be called " + task.outputStem, "images of different names, or one run for each");
  }
  return tasks;
}

}
