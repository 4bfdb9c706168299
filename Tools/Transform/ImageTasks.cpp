#include "Tools/Transform/ImageTasks.h"

#include "Core/Compute/Error.h"
#include "Core/Image/FilesOfImage.h"
#include "Core/Image/ImageFormat.h"
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

/// The files that a result of this format may be written to: some have their voxels beside them.
std::vector<fs::path> resultFiles(const std::string& stem, const std::string& format)
{
  std::vector<std::string> endings{format};
  if (format == "mhd")
    endings.insert(endings.end(), {"raw", "zraw"});
  if (format == "nhdr")
    endings.insert(endings.end(), {"raw", "raw.gz"});
  if (format == "hdr" || format == "img")
    endings = {"hdr", "img"};
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const std::string& ending : endings)
    files.push_back(fs::weakly_canonical(stem + "." + ending, ignored));
  return files;
}

/// What a run reads, by its files, links followed.
std::map<fs::path, std::string> inputFiles(const TransformOptions& options, const std::vector<ImageTask>& tasks)
{
  std::map<fs::path, std::string> inputs;
  const auto add = [&inputs](const std::string& path, const std::string& what) {
    std::error_code ignored; // a path that cannot be followed is no file
    if (fs::path file = fs::weakly_canonical(path, ignored); !file.empty())
      inputs.emplace(std::move(file), what);
  };
  for (const ImageTask& task : tasks)
    try {
      for (const std::string& file : filesOfImage(task.input))
        add(file, "the image " + task.input);
    } catch (const Error&) { // told where it is read
    }
  if (!options.points.empty())
    add(options.points, "the points " + options.points);
  return inputs;
}

/// No result is written over an image, or over points.
void checkInputsStay(const TransformOptions& options, const std::vector<ImageTask>& tasks, const ResultPlace& place)
{
  const std::map<fs::path, std::string> inputs = inputFiles(options, tasks);
  const auto check = [&](const std::string& asked, const std::string& stem, const std::string& format) {
    for (const fs::path& file : resultFiles(place.folder + stem, format))
      if (const auto input = inputs.find(file); input != inputs.end())
        fail(asked, "its result would be written over " + input->second, "another folder for -out");
  };
  for (const auto& [option, stem] : fieldsAsked(options))
    check(option, stem, place.format);
  for (const ImageTask& task : tasks)
    check(given(task), task.outputStem, place.format);
  if (!options.points.empty())
    check("-def " + options.points, "outputpoints", options.points.ends_with(".vtk") ? "vtk" : "txt");
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
