#include "Tools/Register/RegisterOptions.h"

#include "Core/Compute/Error.h"
#include "Tools/Common/AsElastix.h"
#include "Tools/Common/Process.h"

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

void checkMaskCount(const std::string& option, std::size_t masks, std::size_t images)
{
  if (masks > 1 && masks != images)
    throw Error(ExitCode::usage,
                "command line: -" + option + ": " + std::to_string(masks) + " masks for "
                    + std::to_string(images)
                    + " images. Allowed: none, one (for the first image), or one for each image.");
}

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
          "points of the fixed image (.txt or .vtk): landmarks, or those that correspond to -mp"},
         {"mp", "FILE", "points of the moving image that correspond to -fp"},
         ownOption("point-weights", "FILE",
                   "how much each pair of -fp and -mp counts: a number above 0 for each, such as 1 over the "
                   "square of its error; or, for SplineSmoothing, the covariance of its error in mm^2: xx xy "
                   "xz yy yz zz, in 2D xx xy yy"),
         ownOption("fLabels", "FILE",
                   "labels of the fixed image, to compare with --mLabels after the registration: run.json "
                   "tells Dice's coefficients"),
         ownOption("mLabels", "FILE", "labels of the moving image")}},
       {"Registration",
        {{"p", "FILE", "parameter file; several are stages, each starting from the result of the one before",
          true},
         {"t0", "FILE", "transform parameter file to start from"},
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
         ownOption("report", "",
                   "write report.html into the output folder, too: a page with slices before and after, maps "
                   "of the deformation, curves of the metric and the figures of run.json"),
         ownOption("strict", "", "a parameter that no component reads is an error"),
         ownOption("list-components", "", "print every component that a parameter file can name"),
         ownOption("describe", "NAME", "print a component's parameters, their defaults and meaning"),
         ownOption("reference-pages", "FOLDER",
                   "write the descriptions of all components as pages in Markdown")}},
       commonOptions()},
      exitCodesText()};
}

RegisterOptions registerOptions(const Arguments& arguments, bool asElastix)
{
  require(arguments, asElastix, "p", "-p FILE, once for each stage");
  require(arguments, asElastix, "f", "-f FILE, or -f0 FILE -f1 FILE ...");
  require(arguments, asElastix, "m", "-m FILE, or -m0 FILE -m1 FILE ...");

  RegisterOptions options;
  options.reading = readingOptionsOf(arguments);
  options.checkOnly = arguments.has("check");
  if (!options.checkOnly)
    require(arguments, asElastix, "out", "-out FOLDER");
  options.fixed = arguments.all("f");
  options.moving = arguments.all("m");
  options.fixedMasks = arguments.all("fMask");
  options.movingMasks = arguments.all("mMask");
  options.parameterFiles = arguments.all("p");
  options.outputFolder = arguments.text("out");
  options.initialTransform = arguments.text("t0");
  options.fixedPoints = arguments.text("fp");
  options.movingPoints = arguments.text("mp");
  options.pointWeights = arguments.text("point-weights");
  options.fixedLabels = arguments.text("fLabels");
  options.movingLabels = arguments.text("mLabels");
  options.inverseToo = arguments.has("inverse-too");
  const bool isCarried = options.inverseToo && options.movingLabels.empty();
  if (options.fixedLabels.empty() != options.movingLabels.empty() && !isCarried)
    throw Error(ExitCode::usage,
                "command line: --fLabels and --mLabels: only one of them is given, and they are compared. "
                "Allowed: both, or none; --fLabels alone with --inverse-too.");
  options.device = arguments.text("device");
  if (arguments.has("max-device-memory"))
    options.maxDeviceMemory = memorySize("--max-device-memory", arguments.text("max-device-memory"));
  options.strict = arguments.has("strict");
  options.report = arguments.has("report");

  checkMaskCount("fMask", options.fixedMasks.size(), options.fixed.size());
  checkMaskCount("mMask", options.movingMasks.size(), options.moving.size());
  return options;
}
}
