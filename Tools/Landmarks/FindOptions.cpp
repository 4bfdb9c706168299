#include "Tools/Landmarks/FindOptions.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/InputFiles.h"
#include "Core/Compute/NumberIn.h"
#include "Core/Runs/InputFilesOfRun.h"
#include "Tools/Common/Process.h"
#include "Tools/Landmarks/ScoreOptions.h"

#include <algorithm>
#include <map>

namespace tessera {
namespace {

double lengthMm(const Arguments& arguments, const std::string& name, double most)
{
  const std::string text = arguments.text(name);
  const auto value = numberIn<double>(text);
  if (!value || !(*value > 0 && *value <= most))
    failCommandLine("--" + name + " " + text, "not such a length",
                    "a number of mm above 0 and at most " + std::to_string(static_cast<int>(most)));
  return *value;
}

}

OptionGroup findOptionsText()
{
  const Option movingMask{
      "mMask", "IMAGE",
      "track: landmarks are dropped where they leave this mask of the moving image; one for each -m", true};
  return {
      "Finding landmarks (detect, track), beside -f, -m and -fMask",
      {movingMask,
       {"t0", "FILE", "track: transform to start from, such as that of an affine registration"},
       ownOption("method", "NAME",
                 "track: mind (default): self-similarity, a search of 16, 8 and 3 voxels about -t0 (2D: 32, "
                 "8 and 3), regularized on a tree, forwards and backwards; sest: structure tensors of "
                 "patches, one search about -t0 and one backwards, for images of one modality"),
       ownOption("reach", "VOXELS",
                 "track --method sest: how far it searches along each axis, 1 to 12 (default 12)"),
       ownOption("keypoints", "N",
                 "detect, and track --method mind: keypoints are taken further apart until there are at most "
                 "so many (default of track: 8000; detect takes all)"),
       ownOption(
           "spacing", "MM",
           "edge of the cubic voxels that are searched (default: a cube of the volume of a voxel of -f)"),
       ownOption("tolerance", "MM", "track: how far a landmark may move unlike its neighbours (default 3)"),
       ownOption("device", "NAME",
                 "track: auto (default: a GPU, if there is one that can do the work and the CPU would take "
                 "longer than it takes to start it), cpu, cuda or cuda:N"),
       {"o", "FILE", "detect: where the keypoints are written"},
       {"out", "FOLDER",
        "track: where fixed.txt, moving.txt, weights.txt (for -fp, -mp and --point-weights of tessera) and "
        "matches.json are written; made if it is missing"}}};
}

std::string folderOf(const FindOptions& options, std::size_t phase)
{
  return options.output + "/" + (options.moving.size() > 1 ? "phase" + std::to_string(phase + 1) + "/" : "");
}

namespace {

/// The option as the help shows it, with its dashes.
std::string optionText(const std::string& name)
{
  for (const OptionGroup& group : landmarksText().groups)
    for (const Option& option : group.options)
      if (option.name == name)
        return option.dashes + name;
  return name;
}

}

void checkOptionsOf(const std::string& command, const Arguments& arguments)
{
  static const std::map<std::string, std::vector<std::string>> optionsOf{
      {"detect", {"spacing", "keypoints", "o"}},
      {"score", {"fp", "mp", "tp", "mapped", "format", "dirlab", "json", "csv", "convention", "m"}},
      {"track",
       {"m", "mMask", "t0", "method", "spacing", "tolerance", "reach", "keypoints", "device", "out"}}};
  for (const auto& [owner, names] : optionsOf)
    for (const std::string& name : names)
      if (arguments.has(name) && std::ranges::count(optionsOf.at(command), name) == 0)
        failCommandLine(optionText(name), "not an option of " + command, "with " + owner);
  if (command != "track" && arguments.all("m").size() > 1)
    failCommandLine("-m", "given several times", "once; several times with track");
}

FindOptions findOptions(const std::string& command, const Arguments& arguments)
{
  const bool tracks = command == "track";
  const std::string out = tracks ? "out" : "o";
  for (const std::string& needed :
       tracks ? std::vector<std::string>{"f", "m", out} : std::vector<std::string>{"f", out})
    if (!arguments.has(needed))
      failAs(ExitCode::usage, "command line", "-" + needed + " is not given",
             "-" + needed + (needed == "out" ? " FOLDER" : " FILE"));
  FindOptions options;
  options.reading = readingOptionsOf(arguments);
  options.fixed = arguments.text("f");
  options.moving = arguments.all("m");
  options.fixedMask = arguments.text("fMask");
  options.movingMasks = arguments.all("mMask");
  if (!options.movingMasks.empty() && options.movingMasks.size() != options.moving.size())
    failCommandLine("-mMask",
                    std::to_string(options.movingMasks.size()) + " for "
                        + std::to_string(options.moving.size()) + " of -m",
                    "none, or one for each -m");
  options.initial = arguments.text("t0");
  options.output = arguments.text(out);
  options.method = choiceOf(arguments, "method", "mind, sest");
  if (arguments.has("reach")) {
    const std::string text = arguments.text("reach");
    options.reachVoxels = numberIn<int>(text).value_or(0);
    if (options.reachVoxels < 1 || options.reachVoxels > 12)
      failCommandLine("--reach " + text, "not such a number of voxels", "1 to 12");
    if (options.method != "sest")
      failCommandLine("--reach", "--method mind has three stages of its own", "with --method sest");
  }
  if (arguments.has("keypoints")) {
    const std::string text = arguments.text("keypoints");
    const std::size_t count = numberIn<std::size_t>(text).value_or(0);
    if (count < 100 || count > 30000)
      failCommandLine("--keypoints " + text, "not such a number", "100 to 30000");
    if (tracks && options.method != "mind")
      failCommandLine("--keypoints", "--method sest takes all", "with --method mind");
    options.maxKeypoints = count;
  }
  options.device = arguments.text("device", options.device);
  if (arguments.has("spacing"))
    options.spacingMm = lengthMm(arguments, "spacing", 100);
  if (arguments.has("tolerance"))
    options.toleranceMm = lengthMm(arguments, "tolerance", 1000);
  options.threads = threadCount(arguments);

  InputFiles inputs;
  std::vector<std::string> images{options.fixed, options.fixedMask};
  for (const std::vector<std::string>& more : {options.moving, options.movingMasks})
    images.insert(images.end(), more.begin(), more.end());
  for (const std::string& path : images)
    if (!path.empty())
      addImage(inputs, path, "the image " + path);
  addTransform(inputs, options.initial, "the transform " + options.initial);
  std::vector<std::string> outputs;
  if (!tracks)
    outputs = {options.output};
  for (std::size_t phase = 0; tracks && phase < options.moving.size(); ++phase)
    for (const char* file : {"fixed.txt", "moving.txt", "weights.txt", "matches.json"})
      outputs.push_back(folderOf(options, phase) + file);
  for (const std::string& path : outputs)
    if (inputs.at(path))
      failCommandLine("-" + out + " " + options.output, path + " is an input", "another place");
  return options;
}

}
