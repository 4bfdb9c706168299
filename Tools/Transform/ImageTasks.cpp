#include "Tools/Transform/ImageTasks.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Transform/TransformedPoints.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

namespace tessera {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& given, const std::string& wrong, const std::string& allowed)
{
  throw Error(ExitCode::usage, given + ": " + wrong + ". Allowed: " + allowed + ".");
}

constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF"; // of UTF-8
const std::string listRule =
    "a text file with the path of an image on each line; lines that begin with # are comments";

std::vector<std::string> pathsOfList(const std::string& option, const std::string& list)
{
  const std::string given = option + " @" + list;
  std::error_code ignored;
  std::ifstream file(list);
  if (!file || fs::is_directory(list, ignored))
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

/// Options for results that are no image of -in, and their stems.
std::vector<std::pair<std::string, std::string>> fieldsAsked(const TransformOptions& options)
{
  std::vector<std::pair<std::string, std::string>> asked;
  if (options.field)
    asked.emplace_back("-def all", "deformationField");
  if (options.determinants)
    asked.emplace_back("-jac all", "spatialJacobian");
  if (options.matrices)
    asked.emplace_back("-jacmat all", "fullSpatialJacobian");
  return asked;
}

void checkNamesDiffer(const TransformOptions& options, const std::vector<ImageTask>& tasks)
{
  std::map<std::string, std::string> byStem; // what gives the result of this name
  for (const auto& [option, stem] : fieldsAsked(options))
    byStem.emplace(stem, option);
  for (const ImageTask& task : tasks) {
    const auto [other, isNew] = byStem.emplace(task.outputStem, given(task));
    if (!isNew)
      fail(other->second + " and " + given(task), "both results would be called " + task.outputStem,
           otherNames);
  }
}

/// No result is written over anything that the run reads.
void checkInputsStay(const TransformOptions& options, const std::vector<ImageTask>& tasks,
                     const ResultPlace& place, const InputFiles& inputs)
{
  for (const auto& [option, stem] : fieldsAsked(options))
    inputs.checkStay(option, place.folder + stem + "." + place.format);
  for (const ImageTask& task : tasks)
    inputs.checkStay(given(task), place.folder + task.outputStem + "." + place.format);
  if (!options.points.empty())
    inputs.checkStay("-def " + options.points, place.folder + nameOfOutputPoints(options.points));
}

bool isList(const std::string& value)
{
  return value.starts_with('@');
}

}

std::string imageStem(const std::string& path)
{
  std::string whole = path;
  while (whole.size() > 1 && whole.back() == '/')
    whole.pop_back();
  std::string name = fs::path(whole).filename().string();
  const std::string format = formatOf(name);
  if (!format.empty())
    name.resize(name.size() - format.size() - 1);
  else if (std::error_code ignored; !fs::is_directory(whole, ignored))
    name = fs::path(name).stem().string();
  return name;
}

const ImageHeader& headerOf(ImageTask& task)
{
  if (!task.header)
    task.header = readImageHeader(task.input);
  return *task.header;
}

std::vector<ImageTask> namedImages(const TransformOptions& options)
{
  std::vector<ImageTask> tasks;
  const auto add = [&](const std::string& option, const std::vector<std::string>& values, bool isLabels) {
    for (const std::string& value : values)
      for (const std::string& path :
           isList(value) ? pathsOfList(option, value.substr(1)) : std::vector{value})
        tasks.push_back({option, path, isLabels, imageStem(path), {}});
  };
  add("-in", options.images, false);
  add("--labels", options.labels, true);
  return tasks;
}

InputFiles inputFilesOf(const TransformOptions& options, const std::vector<ImageTask>& tasks)
{
  InputFiles inputs;
  inputs.addTransform(options.transformFile, "the transform " + options.transformFile);
  inputs.add(options.points, "the points " + options.points);
  for (const auto* values : {&options.images, &options.labels})
    for (const std::string& value : *values)
      if (isList(value))
        inputs.add(value.substr(1), "the list " + value.substr(1));
  for (const ImageTask& task : tasks)
    inputs.addImage(task.input, "the image " + task.input);
  return inputs;
}

void nameResults(const TransformOptions& options, const ResultPlace& place, const InputFiles& inputs,
                 std::vector<ImageTask>& tasks)
{
  const bool hasList =
      std::ranges::any_of(options.images, isList) || std::ranges::any_of(options.labels, isList);
  if (tasks.size() == 1 && !hasList) {
    tasks.front().outputStem = place.nameOfOne;
  } else {
    checkNamesDiffer(options, tasks);
  }
  checkInputsStay(options, tasks, place, inputs);
}

}
