#include "Tools/Transform/TransformOptions.h"

#include "Core/Compute/Error.h"
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

ProgramText transformText()
{
  Option in{"in", "FILE|@LIST",
            "image of the moving side: result.<format> is it on the grid that the transform file describes; "
            "may be repeated. Of "
            "several, or of a text file that lists them line by line, each result is called after its image"};
  Option labels =
      ownOption("labels", "FILE|@LIST",
                "the same of a label map, which keeps its labels and their type; may be repeated");
  in.repeatable = labels.repeatable = true;
  return {
      "tessera-transform",
      "tessera-transform -in moving.nii.gz -tp results/TransformParameters.1.txt -out warped",
      "Applies a transform parameter file of tessera or elastix to images and points. Options are those of "
      "transformix.",
      {{"What to transform (at least one)",
        {in,
         labels,
         {"def", "FILE|all",
          "points of the fixed side (.txt or .vtk): outputpoints.<txt or vtk>; all: every voxel of the grid, "
          "deformationField.<format>, T(x) - x in mm"},
         {"ipp", "FILE", "older name of -def"},
         {"jac", "all", "spatialJacobian.<format>: determinant of the spatial Jacobian at every voxel"},
         {"jacmat", "all",
          "fullSpatialJacobian.<format>: the matrix dT_row/dx_column at every voxel, row after row"}}},
       {"With what",
        {{"tp", "FILE",
          "transform parameter file; its Size, Spacing, Origin and Direction are the output grid"},
         {"out", "FOLDER", "where results are written; made if it is missing"},
         ownOption("device", "NAME",
                   "auto (default), cpu, cuda or cuda:N; auto takes what needs less time by the rates that "
                   "tessera-bench calibrate "
                   "has stored, or shipped ones"),
         ownOption("label-interpolation", "NAME",
                   "nearest (default): the label of the nearest voxel; majority: the label whose linear "
                   "weights sum to most"),
         ownOption("max-memory", "SIZE",
                   "most memory for images: a number with kB, MB or GB (powers of 1000), such as 500MB or "
                   "2.5GB; fewer of them are "
                   "taken at once, what needs more is read, computed and "
                   "written in slabs"),
         ownOption("max-device-memory", "SIZE",
                   "most memory of a CUDA device to take, given so too; images that need more go there in "
                   "parts, or not at all"),
         ownOption("field-interpolator", "NAME",
                   "what computes -def all, -jac and -jacmat of a B-spline along the axes of the output "
                   "grid: auto, or a name that "
                   "tessera --list-components shows; wins over (FieldInterpolator ...) of the file")}},
       commonOptions()},
      exitCodesText()};
}

TransformOptions transformOptions(const Arguments& arguments)
{
  if (!arguments.has("tp"))
    fail("-tp", "not given", "-tp FILE");
  if (!arguments.has("out"))
    fail("-out", "not given", "-out FOLDER");
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
  if (!hasImages(options) && points.empty() && !options.determinants && !options.matrices)
    fail("-in, --labels, -def, -jac, -jacmat", "none given, so there is nothing to do",
         "at least one of them");
  return options;
}

}
