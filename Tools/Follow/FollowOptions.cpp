#include "Tools/Follow/FollowOptions.h"

#include "Core/Compute/Error.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/RunFolder.h"
#include "Tools/Common/ShippedParameters.h"

#include <cmath>

namespace tessera {
namespace {

std::string required(const Arguments& arguments, const std::string& name, const std::string& allowed)
{
  if (!arguments.has(name))
    failCommandLine("-" + name, "not given", allowed);
  return arguments.text(name);
}

/// "100ms" or "1.5s"
std::chrono::nanoseconds timeOf(const std::string& text)
{
  const bool isMs = text.ends_with("ms");
  const auto value = parseReal(text.substr(0, text.size() - (isMs ? 2 : text.ends_with('s') ? 1 : 0)));
  if (!text.ends_with('s') || !value || !(*value > 0) || !(*value < 1e6))
    failCommandLine("--deadline " + text, "no time", "a number above 0 with ms or s, such as 100ms");
  return std::chrono::nanoseconds(std::llround(*value * (isMs ? 1e6 : 1e9)));
}

void requireOneSource(const FollowOptions& options)
{
  const int given = !options.names.empty() + !options.watched.empty() + !options.series.empty();
  if (given != 1)
    failCommandLine("--names, --watch and --series",
                    given == 0 ? "none of them is given" : "several of them are given",
                    "one of them, which says where the images come from");
  if (!options.names.empty() && options.names != "-")
    failCommandLine("--names " + options.names, "not understood",
                    "--names -, which reads the names of images from standard input");
}

/// Options of updates have no effect on series, and the other way round.
void requireUsed(const Arguments& arguments, const FollowOptions& options)
{
  const bool isSeries = !options.series.empty();
  const std::vector<std::string> others =
      isSeries ? std::vector<std::string>{"start-at", "labels", "points",     "deadline", "every",
                                          "existing", "warped", "parameters", "keep"}
               : std::vector<std::string>{"reference", "order", "report", "time-axis"};
  for (const std::string& name : others)
    if (arguments.has(name))
      failCommandLine("--" + name, isSeries ? "not used with --series" : "not used without --series",
                      "the options that --help names for it");
  if (arguments.has("existing") && options.watched.empty())
    failCommandLine("--existing", "not used without --watch", "--watch FOLDER --existing WHICH");
}

/// --series is the series that is registered.
std::vector<Option> readingOptionsHere()
{
  std::vector<Option> options = readingOptionsOfImages();
  std::erase_if(options, [](const Option& option) { return option.name == "series"; });
  return options;
}

}

ProgramText followText()
{
  return {
      "tessera-follow",
      "tessera-follow -f before.nii.gz -p Rigid -p FreeFormFollow --watch incoming -out updates",
      "Registers image after image of one patient, or the volumes of a series, to one image. Each "
      "registration goes on from the one before it.",
      {{"Images",
        {{"f", "FILE", "fixed image"},
         {"fMask", "FILE", "mask of the fixed image"},
         ownOption("names", "-", "moving images: their names come by standard input, one a line"),
         ownOption("watch", "FOLDER",
                   "moving images: files, and folders with a DICOM series, that come into this folder. "
                   "Hidden ones and *.part and *.tmp are left aside"),
         ownOption("existing", "WHICH",
                   "of the images that are in the folder already: newest (default), all or none"),
         ownOption("every", "",
                   "images that come faster than they are done wait their turn. Without this the newest one "
                   "is next, and the ones before it are passed"),
         ownOption("series", "FILE", "moving images: the volumes of this image in four dimensions"),
         ownOption("time-axis", "", "the image of --series has three dimensions, and the last one is time"),
         ownOption("labels", "FILE",
                   "labels of the fixed image, to bring to the grid of each moving image, by the inverse: "
                   "inverseLabels in the folder of the update"),
         ownOption("points", "FILE",
                   "points of the fixed image, to bring to each moving image: points.txt there")}},
       {"Registration",
        {{"p", "FILE",
          "parameter file; several are stages. A name such as FreeFormFollow is one of the files that come "
          "with the program",
          true},
         {"t0", "FILE", "transform parameter file to start from, before the stages of each update"},
         ownOption("start-at", "FILE",
                   "a result of the same transforms, from which the first update goes on; it may come from "
                   "stages that take longer"),
         {"out", "FOLDER", "where results are written; made if it is missing"},
         ownOption("deadline", "TIME",
                   "an update ends at its best state by then, counted from the arrival of its image: a "
                   "number with ms or s, such as 100ms"),
         ownOption("device", "NAME", "auto (default), cpu, cuda or cuda:N"),
         ownOption("max-device-memory", "SIZE",
                   "how much memory of a CUDA device may be taken, such as 2.5GB")}},
       {"Results of an update",
        {ownOption("write", "WHICH",
                   "folders of updates, with their transforms: last (default), all or none"),
         ownOption("keep", "N", "with --write all: the last N folders alone stay"),
         ownOption("warped", "", "write the moving image on the grid of the fixed one, too"),
         ownOption(
             "parameters", "",
             "write what was run, too: parameters.N.txt, with which tessera --start-at repeats the update")}},
       {"Results of a series",
        {ownOption("reference", "WHICH",
                   "mean (default: the first volume, then the mean of the result), first, the number of a "
                   "volume from 0, or fixed, which is -f"),
         ownOption("order", "WHICH",
                   "the six numbers in motion.tsv: fsl (default), turns in rad before shifts in mm, or spm, "
                   "shifts before turns"),
         ownOption("report", "",
                   "write series.html, too: the motion, and the intensities over time before and after")}},
       {"Reading images", readingOptionsHere()},
       commonOptions()},
      exitCodesText()
          + "With --names or --watch these signals end the program after the running update, by 0 if every "
            "image has an\nupdate, 7 if some have none, or 3 if none has. Images that were passed or not "
            "begun have none.\n"};
}

FollowOptions followOptions(const Arguments& arguments)
{
  FollowOptions options;
  options.names = arguments.text("names");
  options.watched = arguments.text("watch");
  options.series = arguments.text("series");
  requireOneSource(options);
  requireUsed(arguments, options);
  options.reference = arguments.text("reference", "mean");
  RunRequest& request = options.request;
  if (options.series.empty() || options.reference == "fixed")
    request.fixed = {{required(arguments, "f", "-f FILE")}};
  else if (arguments.has("f"))
    failCommandLine("-f", "not used with --reference " + options.reference, "--reference fixed");
  if (arguments.has("fMask"))
    request.fixedMasks = {{arguments.text("fMask")}};
  request.initialTransform.path = transformFileOf(arguments.text("t0"), "-t0");
  request.fixedLabels.path = arguments.text("labels");
  request.reading = readingOptionsOf(arguments);
  request.reading.dicomSeries.clear();
  request.device = arguments.text("device");
  if (arguments.has("max-device-memory"))
    request.maxDeviceMemory = memorySize("--max-device-memory", arguments.text("max-device-memory"));
  required(arguments, "p", "-p FILE, once for each stage");
  std::vector<std::string> stages;
  for (const std::string& given : arguments.all("p"))
    stages.push_back(parameterFile(given));
  request.stages = readStageTexts(stages);
  options.outFolder = required(arguments, "out", "-out FOLDER");
  options.existing = choiceOf(arguments, "existing", "newest, all, none");
  options.write = choiceOf(arguments, "write", "last, all, none");
  options.order = choiceOf(arguments, "order", "fsl, spm");
  options.every = arguments.has("every");
  options.hasPage = arguments.has("report");
  options.lastAxisIsTime = request.reading.framesAreSlices = arguments.has("time-axis");
  options.writesImages = arguments.has("warped");
  options.writesParameters = arguments.has("parameters");
  options.startAt = transformFileOf(arguments.text("start-at"), "--start-at");
  options.planPoints = arguments.text("points");
  if (arguments.has("deadline"))
    options.limit = timeOf(arguments.text("deadline"));
  if (arguments.has("keep")) {
    const auto number = parseInteger(arguments.text("keep"));
    if (!number || *number < 1 || options.write != "all")
      failCommandLine("--keep " + arguments.text("keep"), "not understood",
                      "--write all --keep N with a whole number above 0");
    options.keep = static_cast<std::size_t>(*number);
  }
  return options;
}

}
