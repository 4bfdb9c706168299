#include "Tools/Transform/TransformOptions.h"

#include "Core/Compute/Error.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Common/AsElastix.h"
#include "Tools/Common/Process.h"
#include "Core/Runs/TransformOutput/TransformOutput.h"

#include <cmath>
#include <sstream>

namespace tessera {
namespace {

bool wantsAll(const Arguments& arguments, const std::string& name)
{
  if (!arguments.has(name))
    return false;
  if (arguments.text(name) != "all")
    failCommandLine("-" + name + " " + arguments.text(name), "not understood",
                    "-" + name + " all" + (name == "jac" ? ", -jac nonlinear" : ""));
  return true;
}

std::vector<std::string> partsOf(const std::string& list)
{
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');)
    parts.push_back(part);
  return parts;
}

/// The options that say more about the transforms of -tp and the grids.
void setInputs(const Arguments& arguments, TransformOptions& options)
{
  const std::size_t count = options.transformFiles.size();
  for (const std::string& part : partsOf(arguments.text("inverse-of"))) {
    const auto number = parseInteger(part);
    if (!number || *number < 1 || static_cast<std::size_t>(*number) > count)
      failCommandLine("--inverse-of " + arguments.text("inverse-of"),
                      "\"" + part + "\" is no number of a -tp",
                      "1 to " + std::to_string(count) + ", with commas between several");
    options.inverseOf.insert(static_cast<std::size_t>(*number));
  }
  if (arguments.has("inverse-of") && options.inverseOf.empty())
    failCommandLine("--inverse-of", "no number", "1 to " + std::to_string(count));
  options.matrixFormat = arguments.text("tp-format");
  if (const std::string& name = options.matrixFormat;
      arguments.has("tp-format") && name != "fsl" && name != "greedy" && name != "niftyreg")
    failCommandLine("--tp-format " + name, "not known", "fsl, greedy, niftyreg");
  if (options.matrixFormat == "fsl" && count > 1)
    failCommandLine("--tp-format fsl", "given with several -tp",
                    "one -tp, which --write can make an ITK transform of");
  for (const std::string& part : partsOf(arguments.text("spacing"))) {
    const auto spacing = parseReal(part);
    if (!spacing || !(*spacing > 0) || !std::isfinite(*spacing))
      failCommandLine("--spacing " + arguments.text("spacing"), "\"" + part + "\" is no spacing",
                      "numbers of mm above 0, with commas between them");
    options.spacingMm.push_back(*spacing);
  }
  if (arguments.has("spacing") && options.spacingMm.empty())
    failCommandLine("--spacing", "no number", "numbers of mm above 0, with commas between them");
  options.moving = arguments.text("moving");
}

/// The voxel numbers of `X,Y,Z`; none if the text is no such list.
std::vector<std::size_t> voxelOf(const std::string& text)
{
  std::vector<std::size_t> voxel;
  for (const std::string& part : partsOf(text)) {
    const auto number = parseInteger(part);
    if (!number || *number < 0)
      return {};
    voxel.push_back(static_cast<std::size_t>(*number));
  }
  return voxel;
}

void setCrop(const Arguments& arguments, TransformOptions& options)
{
  const std::string crop = arguments.text("crop"), margin = arguments.text("crop-margin", "0");
  if (crop.find_first_not_of("0123456789,:") == std::string::npos) {
    const std::size_t colon = crop.find(':');
    options.cropFirst = voxelOf(crop.substr(0, colon));
    options.cropLast =
        colon == std::string::npos ? std::vector<std::size_t>{} : voxelOf(crop.substr(colon + 1));
    if (arguments.has("crop")
        && (options.cropFirst.empty() || options.cropFirst.size() != options.cropLast.size()))
      failCommandLine(
          "--crop " + crop, "neither a mask nor a box",
          "the file of a mask, or two voxels with a colon between them, such as 10,20,5:60,80,40");
  } else
    options.cropMask = crop;
  const auto marginMm = parseReal(margin);
  if (!marginMm || !(*marginMm >= 0) || !std::isfinite(*marginMm))
    failCommandLine("--crop-margin " + margin, "not a length", "a number of mm of at least 0");
  if (arguments.has("crop-margin") && crop.empty())
    failCommandLine("--crop-margin", "given without --crop", "--crop with it");
  options.cropMarginMm = *marginMm;
  if (!crop.empty() && !needsGrid(options))
    failCommandLine("--crop", "given without images or fields, so there is no grid to cut",
                    "-in, --labels, -def all, -jac, -jacmat, --describe-transform or --write with it");
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
  Option transforms{
      "tp", "FILE",
      "transform parameter file, whose Size, Spacing, Origin and Direction are the output grid; or ITK "
      "transforms (.tfm, .h5), ANTs' 0GenericAffine.mat and 1Warp.nii.gz, or .lta, which need --grid unless "
      "they are fields. May be repeated: each is applied after those before it"};
  in.repeatable = labels.repeatable = transforms.repeatable = true;
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
         {"jac", "all|nonlinear",
          "determinant of the spatial Jacobian at every voxel, to spatialJacobian.<format>; nonlinear: "
          "without "
          "the part of linear transforms"},
         ownOption("log", "", "with -jac: the natural logarithm of the determinants"),
         {"jacmat", "all",
          "the matrix dT_row/dx_column at every voxel, row after row, to fullSpatialJacobian.<format>"},
         ownOption(
             "describe-transform", "",
             "tell what each transform does (turn, shift, scale, shear, control points, displacements) and "
             "whether the chain folds, in the log and in transform.json"),
         ownOption(
             "write", "FILE",
             "the transform (with --inverse its inverse) as one file without a chain, by its ending: a "
             "transform parameter file (.txt, .toml), ITK transforms (.h5, .tfm), an image of displacements "
             "in mm, or a matrix of FreeSurfer (.lta). sub-X_from-A_to-B_mode-image_xfm.h5, a name of "
             "BIDS, gets its JSON file beside it"),
         ownOption(
             "format", "NAME",
             "with --write: whose file it is: " + transformFormatNames()
                 + ". ants takes the beginning of paths, such as sub-01_, and writes 0GenericAffine.mat, "
                   "1Warp.nii.gz and 1InverseWarp.nii.gz; fsl, niftyreg and greedy write a matrix of "
                   "linear transforms and a field of others"),
         ownOption("moving", "IMAGE",
                   "with fsl and freesurfer: the moving image (the fixed one with --inverse), on whose grid "
                   "their files depend"),
         ownOption("inverse-as", "NAME",
                   "with --write: field (default), one displacement a voxel, or bspline, a BSplineTransform "
                   "with the spacing of the transform's own control points, fitted to the inverse by least "
                   "squares; the log and the file say how far it is from the inverse")}},
       {"With what",
        {transforms,
         ownOption("inverse-of", "K",
                   "invert the K-th -tp, counted from 1; several with commas between them"),
         ownOption("tp-format", "NAME",
                   "-tp is a matrix as text of fsl (which needs --grid and --moving), greedy or niftyreg, or "
                   "a field of fsl (which needs --moving)"),
         ownOption("grid", "IMAGE", "the output has the grid of this image"),
         ownOption("spacing", "MM",
                   "the output has this spacing: one number, or one an axis with commas between them"),
         ownOption("crop", "MASK|BOX",
                   "the output grid is cut to the box of this mask, or to the voxels from the first to the "
                   "last one of "
                   "a box, as in 10,20,5:60,80,40. Voxels stay where they were"),
         ownOption("crop-margin", "MM",
                   "with --crop: so much more on each side, up to the border of the grid (0)"),
         ownOption("inverse", "",
                   "apply the inverse of the transform: points of the moving side are mapped to the fixed "
                   "side, images and label maps of the fixed side are resampled on the moving side. Images "
                   "and fields need --grid"),
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
      failCommandLine(std::string("-") + name, "not given", std::string("-") + name + " " + value);
    }
  if (arguments.has("def") && arguments.has("ipp"))
    failCommandLine("-def and -ipp", "two names of the same option", "-def");

  TransformOptions options;
  options.reading = readingOptionsOf(arguments);
  options.transformFiles = arguments.all("tp");
  setInputs(arguments, options);
  options.outputFolder = arguments.text("out");
  options.images = arguments.all("in");
  options.labels = arguments.all("labels");
  options.labelInterpolation = arguments.text("label-interpolation", "nearest");
  if (options.labelInterpolation != "nearest" && options.labelInterpolation != "majority")
    failCommandLine("--label-interpolation " + options.labelInterpolation, "not known", "nearest, majority");
  if (arguments.has("label-interpolation") && options.labels.empty())
    failCommandLine("--label-interpolation", "given without --labels", "--labels FILE with it");
  if (arguments.has("max-memory"))
    options.maxMemory = memorySize("--max-memory", arguments.text("max-memory"));
  if (arguments.has("max-device-memory"))
    options.maxDeviceMemory = memorySize("--max-device-memory", arguments.text("max-device-memory"));
  const std::string points = arguments.text("def", arguments.text("ipp"));
  options.field = points == "all";
  options.points = options.field ? "" : points;
  options.nonlinear = arguments.text("jac") == "nonlinear";
  options.determinants = options.nonlinear || wantsAll(arguments, "jac");
  options.logarithm = arguments.has("log");
  if (options.logarithm && !options.determinants)
    failCommandLine("--log", "given without -jac", "-jac all or -jac nonlinear with it");
  options.description = arguments.has("describe-transform");
  options.matrices = wantsAll(arguments, "jacmat");
  options.grid = arguments.text("grid");
  options.inverse = arguments.has("inverse");
  options.write = arguments.text("write");
  options.format = arguments.text("format");
  if (!options.format.empty() && options.write.empty())
    failCommandLine("--format " + options.format, "given without --write", "--write FILE with it");
  if (options.format.empty() || options.format == "itk")
    options.bidsName = bidsTransformName(options.write);
  const std::string inverseAs = arguments.text("inverse-as", "field");
  if (inverseAs != "field" && inverseAs != "bspline")
    failCommandLine("--inverse-as " + inverseAs, "not known", "field, bspline");
  if (arguments.has("inverse-as") && (options.write.empty() || !options.inverse))
    failCommandLine("--inverse-as " + inverseAs,
                    std::string("given without ") + (options.write.empty() ? "--write" : "--inverse"),
                    "--inverse --write FILE with it");
  options.inverseAsSpline = inverseAs == "bspline";
  options.device = arguments.text("device", "auto");
  options.fieldInterpolator = arguments.text("field-interpolator");
  if (options.inverseOf.contains(1) && options.grid.empty())
    failCommandLine("--inverse-of " + arguments.text("inverse-of"),
                    "given without --grid; the first -tp has the grid of the other side alone",
                    "--grid IMAGE, an image of the moving side of the first -tp");
  if (options.inverse && needsGrid(options) && options.grid.empty())
    failCommandLine("--inverse",
                    "given for images or fields without --grid; the transform file has the grid of the fixed "
                    "image alone",
                    "--grid IMAGE, such as the moving image, or --inverse with -def FILE alone");
  setCrop(arguments, options);
  const bool asksForNothing = !needsGrid(options) && options.points.empty();
  if (asksForNothing && asElastix)
    throw Error(ExitCode::usage, "At least one of the CommandLine options \"-in\", \"-def\", \"-jac\", or "
                                 "\"-jacmat\" should be given!");
  if (asksForNothing)
    failCommandLine("-in, --labels, -def, -jac, -jacmat, --describe-transform, --write",
                    "none given, so there is nothing to do", "at least one of them");
  return options;
}

}
