#include "Tools/Compare/CompareOptions.h"

#include "Core/Compute/Files/InputFiles.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/NumberIn.h"
#include "Core/Runs/InputFilesOfRun.h"
#include "Tools/Common/Process.h"

#include <cmath>

namespace tessera {
namespace {

void needsBoth(const Arguments& arguments, const std::string& a, const std::string& b,
               const std::string& dashes)
{
  if (arguments.has(a) != arguments.has(b))
    failCommandLine(dashes + (arguments.has(a) ? a : b),
                    "given without " + dashes + (arguments.has(a) ? b : a), "both");
}

std::vector<std::size_t> voxelOf(const std::string& text)
{
  std::vector<std::size_t> voxel;
  for (const std::string& cell : cellsOf(text, ',')) {
    const auto index = numberIn<std::size_t>(cell);
    if (!index)
      failCommandLine("--at " + text, "not understood",
                      "a voxel from 0 for each axis, such as --at 100,80,60");
    voxel.push_back(*index);
  }
  return voxel;
}

}

ProgramText compareText()
{
  return {
      "tessera-compare",
      "tessera-compare -f fixed.nii.gz -m results/result.1.nii.gz --pictures pictures",
      "Compares two images of one grid, such as the fixed image and the result of a registration, or the "
      "results of two methods: differences, similarity, and pictures. Label maps are compared by their "
      "overlap and the distances of their surfaces.",
      {{"What to compare (-f and -m, or --fLabels and --mLabels, or all four)",
        {{"f", "IMAGE", "the first image"},
         {"m", "IMAGE", "the second image, on the grid of the first one"},
         {"fMask", "IMAGE", "compare only where this mask, on the same grid, is not 0"},
         ownOption("fLabels", "IMAGE", "label map beside -f"),
         ownOption("mLabels", "IMAGE", "label map beside -m, on the grid of --fLabels")}},
       {"How, and what is written",
        {ownOption("range", "L",
                   "range of grey values in the structural similarity (SSIM); without it the largest less "
                   "the least value of the first image"),
         ownOption("pictures", "FOLDER",
                   "write checkerboard.png, difference.png and edges.png: axial, coronal and sagittal "
                   "slices. The folder is made if it is missing"),
         ownOption("at", "X,Y,Z", "voxel through which the slices of the pictures go (default: the middle)"),
         ownOption("json", "FILE", "write the figures as JSON"),
         ownOption("device", "NAME",
                   "where -f and -m are compared: auto (default: a GPU, if there is one and the CPU would "
                   "take longer than it takes to start it), cpu, cuda or cuda:N")}},
       {"Reading images", readingOptionsOfImages()},
       commonOptions()},
      exitCodesText()};
}

CompareOptions compareOptions(const Arguments& arguments)
{
  needsBoth(arguments, "f", "m", "-");
  needsBoth(arguments, "fLabels", "mLabels", "--");
  CompareOptions options{arguments.text("f"),
                         arguments.text("m"),
                         arguments.text("fMask"),
                         arguments.text("fLabels"),
                         arguments.text("mLabels"),
                         arguments.text("json"),
                         arguments.text("pictures"),
                         {},
                         {},
                         arguments.text("device", "auto"),
                         1,
                         readingOptionsOf(arguments)};
  if (options.first.empty() && options.firstLabels.empty())
    failCommandLine("-f and -m, --fLabels and --mLabels", "none given, so there is nothing to compare",
                    "two images or two label maps");
  for (const char* name : {"fMask", "range", "pictures", "at", "device"})
    if (arguments.has(name) && options.first.empty()
        && !(name == std::string("device") && (options.device == "cpu" || options.device == "auto")))
      failCommandLine(std::string(name) == "fMask" ? "-fMask" : std::string("--") + name,
                      "given without -f and -m", "two images with it");
  if (arguments.has("at") && options.pictures.empty())
    failCommandLine("--at", "given without --pictures", "--pictures FOLDER with it");
  if (arguments.has("range")) {
    options.greyRange = numberIn<double>(arguments.text("range"));
    if (!options.greyRange || !std::isfinite(*options.greyRange) || !(*options.greyRange > 0))
      failCommandLine("--range " + arguments.text("range"), "no range", "a number above 0");
  }
  if (arguments.has("at"))
    options.voxel = voxelOf(arguments.text("at"));
  options.threads = threadCount(arguments);

  InputFiles inputs;
  for (const std::string& path :
       {options.first, options.second, options.mask, options.firstLabels, options.secondLabels})
    if (!path.empty())
      addImage(inputs, path, "the input " + path);
  std::vector<std::string> outputs{options.json};
  for (const char* name : {"checkerboard", "difference", "edges"})
    outputs.push_back(options.pictures.empty() ? "" : options.pictures + "/" + name + ".png");
  for (const std::string& output : outputs)
    if (!output.empty() && inputs.at(output))
      failCommandLine(output, "this file is an input", "another place for results");
  return options;
}

}
