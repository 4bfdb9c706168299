#include "Tools/Transform/ImageTasks.h"

#include "Core/Compute/Error.h"
#include "Core/Image/ImageFormat.h"
#include "Core/Image/ImageSource.h"
#include "Core/Parameters/ParameterText.h"

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
const std::string listRule = "a text file with the path of an image on each line; lines that begin with # are comments";

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
      fail(other->second + " and " + given(task), "both results would be called " + task.outputStem, otherNames);
  }
}

/// The files that an image is read from, links followed.
std::vector<fs::path> inputFiles(const std::string& path)
{
  std::vector<std::string> names{path};
  if (path.ends_with(".mhd") || path.ends_with(".nhdr"))
    try {
      const std::unique_ptr<ImageSource> source = openImage(path);
      if (source->place())
        names.push_back(source->place()->path);
    } catch (const Error&) { // told where it is read
    }
  for (const auto& [header, voxels] : {std::pair{".hdr", ".img"}, {".img", ".hdr"}})
    if (path.ends_with(header))
      names.push_back(path.substr(0, path.size() - std::string(header).size()) + voxels);
  std::vector<fs::path> files;
  std::error_code ignored; // a path that cannot be followed is no file
  for (const std::string& name : names)
    if (fs::path file = fs::weakly_canonical(name, ignored); !file.empty())
      files.push_back(std::move(file));
  return files;
}

/// The files that a result of this format may be written to: some have their voxels beside them.
std::vector<fs::path> resultFiles(const std::string& stem, const std::string& format)
{
  std::vector<std::string> endings{format};
  if (format == "mhd")
    endings.insert(endings.end(), {"raw", "zraw"});
  if (format == "hdr" || format == "img")
    endings = {"hdr", "img"};
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const std::string& ending : endings)
    files.push_back(fs::weakly_canonical(stem + "." + ending, ignored));
  return files;
}

/// No result is written over an image.
void checkInputsStay(const TransformOptions& options, const std::vector<ImageTask>& tasks, const ResultPlace& place)
{
  std::map<fs::path, const ImageTask*> inputs;
  for (const ImageTask& task : tasks)
    for (const fs::path& file : inputFiles(task.input))
      inputs.emplace(file, &task);
  const auto check = [&](const std::string& asked, const std::string& stem) {
    for (const fs::path& file : resultFiles(place.folder + stem, place.format))
      if (const auto input = inputs.find(file); input != inputs.end())
        fail(asked, "its result would be written over the image " + input->second->input, "another folder for -out");
  };
  for (const auto& [option, stem] : fieldsAsked(options))
    check(option, stem);
  for (const ImageTask& task : tasks)
    check(given(task), task.outputStem);
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
  } else {
    checkNamesDiffer(options, tasks);
  }
  checkInputsStay(options, tasks, place);
  return tasks;
}

}
