#include "Tools/Transform/NamedImages.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Runs/InputFilesOfRun.h"
#include "Core/Runs/TransformOutput/TransformOutput.h"
#include "Tools/Transform/TransformedPoints.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
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

constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF"; // which some editors put before UTF-8 text
const std::string listRule =
    "a text file with the path of an image on each line; lines that begin with # are comments";

std::vector<std::string> pathsOfList(const std::string& option, const std::string& list)
{
  const std::string given = option + " @" + list;
  TextFile read = readTextFile(list);
  if (!read.failure.empty())
    fail(given, "the list cannot be read: " + read.failure, listRule);
  std::istringstream file(std::move(read.text));
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

/// The options that ask for a field, each with the stem of its result.
std::vector<std::pair<std::string, std::string>> requestedFields(const TransformOptions& options)
{
  std::vector<std::pair<std::string, std::string>> fields;
  if (options.field)
    fields.emplace_back("-def all", "deformationField");
  if (options.determinants)
    fields.emplace_back("-jac all", "spatialJacobian");
  if (options.matrices)
    fields.emplace_back("-jacmat all", "fullSpatialJacobian");
  return fields;
}

void checkNamesDiffer(const TransformOptions& options, const std::vector<ImageTask>& tasks)
{
  std::map<std::string, std::string> byStem; // stem of a result: the option and input that it comes from
  for (const auto& [option, stem] : requestedFields(options))
    byStem.emplace(stem, option);
  for (const ImageTask& task : tasks) {
    const auto [other, isNew] = byStem.emplace(task.outputStem, given(task));
    if (!isNew)
      fail(other->second + " and " + given(task), "both results would be called " + task.outputStem,
           otherNames);
  }
}

/// Throws Error(usage) if a result would be written over a file that the run reads.
void checkInputsStay(const TransformOptions& options, const std::vector<ImageTask>& tasks,
                     const ResultPlace& place, const InputFiles& inputs)
{
  for (const auto& [option, stem] : requestedFields(options))
    inputs.checkStay(option, filesOfResult(place.folder + stem + "." + place.format));
  for (const ImageTask& task : tasks)
    inputs.checkStay(given(task), filesOfResult(place.folder + task.outputStem + "." + place.format));
  if (!options.write.empty())
    for (const std::string& path :
         filesOfOutput(options.write, transformFormat(options.format, options.write)))
      inputs.checkStay("--write", filesOfResult(path));
  if (options.bidsName)
    inputs.checkStay("--write", filesOfResult(options.bidsName->sidecar));
  if (options.description)
    inputs.checkStay("--describe-transform", filesOfResult(place.folder + descriptionName));
  if (!options.points.empty())
    inputs.checkStay("-def " + options.points,
                     filesOfResult(place.folder + nameOfOutputPoints(options.points)));
}

bool isList(const std::string& value)
{
  return value.starts_with('@');
}

}

std::vector<ImageTask> namedImages(const TransformOptions& options)
{
  std::vector<ImageTask> tasks;
  const auto add = [&](const std::string& option, const std::vector<std::string>& values, bool isLabels) {
    for (const std::string& value : values)
      for (const std::string& path :
           isList(value) ? pathsOfList(option, value.substr(1)) : std::vector{value})
        tasks.push_back({option, path, isLabels, imageStem(path), options.reading});
  };
  add("-in", options.images, false);
  add("--labels", options.labels, true);
  return tasks;
}

InputFiles inputFilesOf(const TransformOptions& options, const std::vector<ImageTask>& tasks)
{
  InputFiles inputs;
  for (const std::string& path : options.transformFiles)
    addTransform(inputs, path, "the transform " + path);
  for (const std::string& path : {options.grid, options.cropMask, options.moving})
    if (!path.empty())
      addImage(inputs, path, "the image " + path);
  inputs.add(options.points, "the points " + options.points);
  for (const auto* values : {&options.images, &options.labels})
    for (const std::string& value : *values)
      if (isList(value))
        inputs.add(value.substr(1), "the list " + value.substr(1));
  for (const ImageTask& task : tasks)
    addImage(inputs, task.input, "the image " + task.input);
  return inputs;
}

void nameResults(const TransformOptions& options, const ResultPlace& place, const InputFiles& inputs,
                 std::vector<ImageTask>& tasks)
{
  const bool hasList =
      std::ranges::any_of(options.images, isList) || std::ranges::any_of(options.labels, isList);
  if (tasks.size() == 1 && !hasList) {
    tasks.front().outputStem = place.singleStem;
  } else {
    checkNamesDiffer(options, tasks);
  }
  checkInputsStay(options, tasks, place, inputs);
}

std::vector<std::string> resultPaths(const TransformOptions& options, const std::vector<ImageTask>& tasks,
                                     const std::string& folder, const std::string& format)
{
  std::vector<std::string> paths;
  for (const auto& [option, stem] : requestedFields(options))
    paths.push_back(folder + stem + "." + format);
  for (const ImageTask& task : tasks)
    paths.push_back(folder + task.outputStem + "." + format);
  return paths;
}

}
