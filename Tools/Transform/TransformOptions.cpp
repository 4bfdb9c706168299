#include "Tools/Transform/TransformOptions.h"

#include "Core/Compute/Error.h"
#include "Tools/Common/AsElastix.h"
#include "Tools/Common/Process.h"

namespace tessera {
namespace {

[[noreturn]] void fail(const std::string& given, const std::string& wrong, const std::string& allowed)
{
  throw Error(ExitCode::usage, "command line: " + given + ": " + wrong + ". Allowed: " + allowed + ".");
}

bool wantsAll(const Arguments& arguments, const std::string& name)
{
  if (!arguments.has(name))
    return false;
  if (arguments.text(name) != "all")
    fail("-" + name + " " + arguments.text(name), "not understood", "-" + name + " all");
  return true;
}

}

ProgramText transformText(bool asElastix)
{
  Option in{"in", "FILE|@LIST",
            "image of the moving side, which is resampled on the grid of the transform file to "
            "result.<format>. May be repeated; @LIST is a text file with one path a line. The results of "
            "several images are named after them"};
  Option labels =
      ownOption("labels", "FILE|@LIST",
                "the same for a label map, which keeps its labels and their type; may be repeated");
  in.repeatable = labels.repeatable = true;
  return {
      "tessera-transform",
      "tessera-transform -in moving.nii.gz -tp results/TransformParameters.1.txt -out warped",
      asElastix
          ? "transformix applies a transform on an input image and/or points, or writes it as a field."
          : "Applies a transform parameter file of tessera or elastix to images and points. Options are "
            "those of transformix.",
      {{"What to transform (at least one)",
        {in,
         labels,
         {"def", "FILE|all",
          "FILE: points of the fixed side (.txt or .vtk), mapped to outputpoints.<txt or vtk>. all: T(x) - x "
          "in mm at every voxel of the grid, to deformationField.<format>"},
         {"ipp", "FILE", "older name of -def"},
         {"jac", "all", "determinant of the spatial Jacobian at every voxel, to spatialJacobian.<format>"},
         {"jacmat", "all",
          "the matrix dT_row/dx_column at every voxel, row after row, to fullSpatialJacobian.<format>"}}},
       {"With what",
        {{"tp", "FILE",
          "transform parameter file; its Size, Spacing, Origin and Direction are the output grid"},
         {"out", "FOLDER", "where results are written; made if it is missing"},
         ownOption("device", "NAME",
                   "auto (default), cpu, cuda or cuda:N; auto takes the device that needs less time, as "
                   "predicted by the rates that tessera-bench calibrate has stored, or by shipped ones"),
         ownOption("label-interpolation", "NAME",
                   "nearest (default): the label of the nearest voxel; majority: the label whose linear "
                   "weights have the largest sum"),
         ownOption("max-memory", "SIZE",
                   "how much memory images may take: a number with kB, MB or GB (powers of 1000), such as "
                   "500MB or 2.5GB; fewer images are in memory at once, and an image that needs more is "
                   "read, computed and written in slabs"),
         ownOption("max-device-memory", "SIZE",
                   "how much memory of a CUDA device may be taken; images that need more go there in parts, "
                   "or not at all"),
         ownOption("field-interpolator", "NAME",
                   "the method for -def all, -jac and -jacmat of a B-spline along the axes of the output "
                   "grid: auto, or a name that tessera --list-components shows; overrides (FieldInterpolator "
                   "...) of the file")}},
       {"Reading images", readingOptionsOfImages()},
       commonOptions()},
      exitCodesText()};
}

TransformOptions transformOptions(const Arguments& arguments, bool asElastix)
{
  for (const auto& [name, value] : {std::pair{"tp", "FILE"}, std::pair{"out", "FOLDER"}})
    if (!arguments.has(name)) {
      if (asElastix)
        failAsElastix(std::string("-") + name);
      fail(std::string("-") + name, "not given", std::string("-") + name + " " + value);
    }
  if (arguments.has("def") && arguments.has("ipp"))
    fail("-def and -ipp", "two names of the same option", "-def");

  TransformOptions options;
  options.transformFile = arguments.text("tp");
  options.outputFolder = arguments.text("out");
  options.images = arguments.all("in");
  options.labels = arguments.all("labels");
  options.labelInterpolation = arguments.text("label-interpolation", "nearest");
  if (options.labelInterpolation != "nearest" && options.labelInterpolation != "majority")
    fail("--label-interpolation " + options.labelInterpolation, "not known", "nearest, majority");
  if (arguments.has("label-interpolation") && options.labels.empty())
    fail("--label-interpolation", "given without --labels", "--labels FILE with it");
  if (arguments.has("max-memory"))
    options.maxMemory = memorySize("--max-memory", arguments.text("max-memory"));
  if (arguments.has("max-device-memory"))
    options.maxDeviceMemory = memorySize("--max-device-memory", arguments.text("max-device-memory"));
  const std::string points = arguments.text("def", arguments.text("ipp"));
  options.field = points == "all";
  options.points = options.field ? "" : points;
  options.determinants = wantsAll(arguments, "jac");
  options.matrices = wantsAll(arguments, "jacmat");
  options.device = arguments.text("device", "auto");
  options.fieldInterpolator = arguments.text("field-interpolator");
  const bool asksForNothing =
      !hasImages(options) && points.empty() && !options.determinants && !options.matrices;
  if (asksForNothing && asElastix)
    throw Error(ExitCode::usage, "At least one of the CommandLine options \"-in\", \"-def\", \"-jac\", or "
                                 "\"-jacmat\" should be given!");
  if (asksForNothing)
    fail("-in, --labels, -def, -jac, -jacmat", "none given, so there is nothing to do",
         "at least one of them");
  return options;
}

}
