#include "Tools/Register/RegisterOptions.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Tools/Common/AsElastix.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/RunFolder.h"
#include "Tools/Common/ShippedParameters.h"

#include <filesystem>

namespace tessera {
namespace {

void require(const Arguments& arguments, bool asElastix, const std::string& name, const std::string& allowed)
{
  if (!arguments.has(name) && asElastix)
    failAsElastix("-" + name);
  if (!arguments.has(name))
    throw Error(ExitCode::usage, "command line: -" + name + ": not given. Allowed: " + allowed
                                     + (allowed.ends_with('.') ? "" : "."));
}

/// The files of -p, or those of a preset, whose name `preset` becomes.
std::vector<std::string> stagesGiven(const Arguments& arguments, bool asElastix, std::string& preset)
{
  std::vector<std::string> files;
  if (arguments.has("preset") && (asElastix || arguments.has("p")))
    failCommandLine("--preset", "it chooses the stages, as -p does",
                    "one of them, and -p under the name elastix");
  if (!asElastix && !arguments.has("p"))
    for (const std::string& stage : shippedPreset(preset = arguments.text("preset", defaultPreset)).stages)
      files.push_back(shippedFolder() / (stage + ".txt"));
  for (const std::string& given : arguments.all("p")) {
    if (!asElastix && !given.ends_with(".txt") && !formatOf(given).empty())
      failAs(ExitCode::usage, given, "an image, but -p takes the parameters of a stage",
             "-f or -m for images, and a parameter file (*.txt, *.toml) or its name for -p");
    files.push_back(asElastix ? given : parameterFile(given));
    std::error_code unknown;
    if (!asElastix && !std::filesystem::exists(files.back(), unknown) && !unknown)
      throw Error(ExitCode::usage, given + ": no such file." + didYouMeanShipped(given)
                                       + " Allowed: a parameter file (*.txt, *.toml), or the name of one in "
                                       + shippedFolder().string() + ".");
  }
  return files;
}

}

std::vector<std::string> registerOperands(bool asElastix)
{
  return asElastix ? std::vector<std::string>{} : std::vector<std::string>{"f", "m"};
}

ProgramText registerText()
{
  return {
      "tessera",
      "tessera -f fixed.nii.gz -m moving.nii.gz -p Rigid.txt -p BSpline.txt -out results",
      "Registers a moving image to a fixed one as elastix parameter files say. Options are those of elastix.",
      {{"Images",
        {{"f", "FILE", "fixed image, or a folder with a DICOM series; -f0, -f1, ... for several", false,
          true},
         {"m", "FILE", "moving image; -m0, -m1, ...", false, true},
         {"fMask", "FILE", "mask of the fixed image: samples lie where it is not zero; -fMask0, ...", false,
          true},
         {"mMask", "FILE",
          "mask of the moving image: a sample counts if it is mapped to where the mask is not zero; -mMask0, "
          "...",
          false, true},
         {"fp", "FILE",
          "points of the fixed image (.txt, .vtk, .bin): landmarks, or those that correspond to -mp"},
         {"mp", "FILE", "points of the moving image that correspond to -fp"},
         ownOption("point-weights", "FILE",
                   "how much each pair of -fp and -mp counts: a number above 0 for each, such as 1 over the "
                   "square of its error; or, for SplineSmoothing, the covariance of its error in mm^2: xx xy "
                   "xz yy yz zz, in 2D xx xy yy"),
         ownOption("fLabels", "FILE",
                   "labels of the fixed image, to compare with --mLabels after the registration: run.json "
                   "tells Dice's coefficients"),
         ownOption("mLabels", "FILE", "labels of the moving image"),
         repeated(ownOption("warp", "FILE",
                            "another image of the moving side, to bring to the grid of the fixed image: "
                            "warped/<its name> in the output folder; may be repeated")),
         repeated(ownOption("warp-labels", "FILE", "the same for labels")),
         ownOption("from-time", "N",
                   "with a groupwise registration: --warp and --warp-labels are of time N of the series, "
                   "counted from 0, and are carried to all times; files of one time, or of the series")}},
       {"Registration",
        {{"p", "FILE",
          "parameter file; several are stages, each starting from the result of the one before. A name such "
          "as MRRigid is one of the files that come with the program",
          true},
         ownOption("preset", "NAME",
                   "the stages that --list-presets tells under this name. Without -p and --preset: general"),
         {"t0", "FILE", "transform parameter file to start from"},
         ownOption("start-at", "FILE",
                   "transform parameter file of an earlier result of these stages: each goes on from its own "
                   "parameters there. Unlike -t0, this adds no transform to the result"),
         {"out", "FOLDER", "where results are written; made if it is missing"},
         ownOption("inverse-too", "",
                   "write the inverse of the result, too: InverseTransformParameters.N.txt, and --fLabels on "
                   "the grid of the moving image, inverseLabels.<format>"),
         ownOption("device", "NAME",
                   "auto (default), cpu, cuda or cuda:N; overrides (Device ...) of the parameter files"),
         ownOption("max-device-memory", "SIZE",
                   "how much memory of a CUDA device may be taken: a number with kB, MB or GB (powers of "
                   "1000), such as 500MB or 2.5GB; dense levels that need more are computed in slabs, others "
                   "are an error")}},
       {"Reading images", readingOptionsOfImages()},
       {"Looking and checking",
        {ownOption("check", "",
                   "check the files and parameters, tell the memory and the time that the run will take, and "
                   "register nothing"),
         ownOption("time", "",
                   "with --check: read the images and register with few iterations at each level, to measure "
                   "the time instead of estimating it; nothing is written"),
         ownOption("report", "",
                   "write report.html into the output folder, too: a page with slices before and after, maps "
                   "of the deformation, curves of the metric and the figures of run.json"),
         ownOption("report-of", "FOLDER",
                   "write the page of a result that is there already, from its run.json, its transform and "
                   "the files that it registered; nothing is registered"),
         ownOption("strict", "", "a parameter that no component reads is an error"),
         ownOption("list-presets", "", "print the presets: images, stages, what to expect"),
         ownOption("list-components", "", "print every component that a parameter file can name"),
         ownOption("describe", "NAME", "print a component's parameters, their defaults and meaning"),
         ownOption("reference-pages", "FOLDER",
                   "write the descriptions of all components as pages in Markdown")}},
       commonOptions()},
      exitCodesText()};
}

RegisterOptions registerOptions(const Arguments& arguments, bool asElastix)
{
  if (asElastix)
    require(arguments, asElastix, "p", "-p FILE, once for each stage");
  require(arguments, asElastix, "f", "-f FILE, or -f0 FILE -f1 FILE ...");
  require(arguments, asElastix, "m", "-m FILE, or -m0 FILE -m1 FILE ...");

  RegisterOptions options;
  options.checkOnly = arguments.has("check");
  options.measuresTime = arguments.has("time");
  if (options.measuresTime && !options.checkOnly)
    failAs(ExitCode::usage, "--time", "it is not used without --check", "--check --time");
  if (!options.checkOnly)
    require(arguments, asElastix, "out", "-out FOLDER");
  RunRequest& request = options.request;
  request.fixed = filesGiven<GivenImage>(arguments.all("f"));
  request.moving = filesGiven<GivenImage>(arguments.all("m"));
  request.fixedMasks = filesGiven<GivenMask>(arguments.all("fMask"));
  request.movingMasks = filesGiven<GivenMask>(arguments.all("mMask"));
  request.fixedLabels.path = arguments.text("fLabels");
  request.movingLabels.path = arguments.text("mLabels");
  request.fixedPoints.path = arguments.text("fp");
  request.movingPoints.path = arguments.text("mp");
  request.pointWeights = {arguments.text("point-weights")};
  const std::string start = arguments.text("t0");
  request.initialTransform.path = asElastix ? start : transformFileOf(start, "-t0");
  request.startAt.path = transformFileOf(arguments.text("start-at"), "--start-at");
  request.reading = readingOptionsOf(arguments);
  request.outputFolder = arguments.text("out");
  request.device = arguments.text("device");
  if (arguments.has("max-device-memory"))
    request.maxDeviceMemory = memorySize("--max-device-memory", arguments.text("max-device-memory"));
  request.strict = arguments.has("strict");
  request.inverseToo = arguments.has("inverse-too");
  request.resultsAreShort = asElastix;
  request.pictures = arguments.has("report");
  request.warped = filesGiven<GivenImage>(arguments.all("warp"));
  request.warpedLabels = filesGiven<GivenImage>(arguments.all("warp-labels"));
  request.fromTime = fromTimeOf(arguments, !request.warped.empty() || !request.warpedLabels.empty(),
                                "--warp or --warp-labels");
  request.stages = readStageTexts(stagesGiven(arguments, asElastix, options.preset));
  checkRequest(request);
  return options;
}

std::string commandLineOf(const RunRequest& request)
{
  std::vector<std::string> tokens;
  const auto add = [&](const std::string& option, const std::string& value) {
    if (value.empty())
      return;
    tokens.push_back(option);
    tokens.push_back(value);
  };
  const auto addAll = [&](const std::string& option, const auto& all) {
    for (std::size_t i = 0; i < all.size(); ++i)
      add(option + (all.size() > 1 ? std::to_string(i) : ""), all[i].path);
  };
  addAll("-f", request.fixed);
  addAll("-m", request.moving);
  addAll("-fMask", request.fixedMasks);
  addAll("-mMask", request.movingMasks);
  add("--fLabels", request.fixedLabels.path);
  add("--mLabels", request.movingLabels.path);
  for (const auto& [option, all] :
       {std::pair{"--warp", &request.warped}, {"--warp-labels", &request.warpedLabels}})
    for (const GivenImage& image : *all)
      add(option, image.path);
  add("--from-time", request.fromTime ? std::to_string(*request.fromTime) : "");
  add("-fp", request.fixedPoints.path);
  add("-mp", request.movingPoints.path);
  add("--point-weights", request.pointWeights.path);
  for (const StageText& stage : request.stages)
    add("-p", stage.path);
  add("-t0", request.initialTransform.path);
  add("--start-at", request.startAt.path);
  add("-out", request.outputFolder);
  add("--device", request.device);
  add("-threads", std::to_string(request.threads));
  for (const auto& [isSet, option] :
       {std::pair{request.inverseToo, "--inverse-too"}, std::pair{request.strict, "--strict"},
        std::pair{request.pictures, "--report"}})
    if (isSet)
      tokens.push_back(option);
  return commandLineText("tessera", tokens);
}

}
