#include "Tools/Transform/TransformOptions.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Runs/TransformOutput/TransformOutput.h"
#include "Tools/Common/AsElastix.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/RunFolder.h"

#include <cmath>
#include <string_view>
#include <utility>

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

/// The options that say more about the transforms of -tp and the grids.
void setInputs(const Arguments& arguments, TransformRequest& request)
{
  const std::size_t count = request.transforms.size();
  for (const std::string& part : piecesOf(arguments.text("inverse-of"), ',')) {
    const auto number = parseInteger(part);
    if (!number || *number < 1 || static_cast<std::size_t>(*number) > count)
      failCommandLine("--inverse-of " + arguments.text("inverse-of"),
                      "\"" + part + "\" is no number of a -tp",
                      "1 to " + std::to_string(count) + ", with commas between several");
    request.inverseOf.insert(static_cast<std::size_t>(*number));
  }
  if (arguments.has("inverse-of") && request.inverseOf.empty())
    failCommandLine("--inverse-of", "no number", "1 to " + std::to_string(count));
  if (arguments.has("tp-format"))
    request.matrixFormat = choiceOf(arguments, "tp-format", "fsl, greedy, niftyreg");
  if (request.matrixFormat == "fsl" && count > 1)
    failCommandLine("--tp-format fsl", "given with several -tp",
                    "one -tp, which --write can make an ITK transform of");
  for (const std::string& part : piecesOf(arguments.text("spacing"), ',')) {
    const auto spacing = parseReal(part);
    if (!spacing || !(*spacing > 0) || !std::isfinite(*spacing))
      failCommandLine("--spacing " + arguments.text("spacing"), "\"" + part + "\" is no spacing",
                      "numbers of mm above 0, with commas between them");
    request.spacingMm.push_back(*spacing);
  }
  if (arguments.has("spacing") && request.spacingMm.empty())
    failCommandLine("--spacing", "no number", "numbers of mm above 0, with commas between them");
  request.moving.path = arguments.text("moving");
}

/// The voxel numbers of `X,Y,Z`; none if the text is no such list.
std::vector<std::size_t> voxelOf(const std::string& text)
{
  std::vector<std::size_t> voxel;
  for (const std::string& part : piecesOf(text, ',')) {
    const auto number = parseInteger(part);
    if (!number || *number < 0)
      return {};
    voxel.push_back(static_cast<std::size_t>(*number));
  }
  return voxel;
}

void setCrop(const Arguments& arguments, TransformRequest& request)
{
  const std::string crop = arguments.text("crop"), margin = arguments.text("crop-margin", "0");
  if (crop.find_first_not_of("0123456789,:") == std::string::npos) {
    const std::size_t colon = crop.find(':');
    request.cropFirst = voxelOf(crop.substr(0, colon));
    request.cropLast =
        colon == std::string::npos ? std::vector<std::size_t>{} : voxelOf(crop.substr(colon + 1));
    if (arguments.has("crop")
        && (request.cropFirst.empty() || request.cropFirst.size() != request.cropLast.size()))
      failCommandLine(
          "--crop " + crop, "neither a mask nor a box",
          "the file of a mask, or two voxels with a colon between them, such as 10,20,5:60,80,40");
  } else
    request.cropMask = crop;
  const auto marginMm = parseReal(margin);
  if (!marginMm || !(*marginMm >= 0) || !std::isfinite(*marginMm))
    failCommandLine("--crop-margin " + margin, "not a length", "a number of mm of at least 0");
  if (arguments.has("crop-margin") && crop.empty())
    failCommandLine("--crop-margin", "given without --crop", "--crop with it");
  request.cropMarginMm = *marginMm;
  if (!crop.empty() && !needsGrid(request))
    failCommandLine("--crop", "given without images or fields, so there is no grid to cut",
                    "-in, --labels, -def all, -jac, -jacmat, --describe-transform or --write with it");
}

/// The images that a list (@FILE) names. It is read only once, so that it may be a pipe.
std::vector<std::string> pathsOfList(const std::string& option, const std::string& list)
{
  constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF"; // which some editors put before UTF-8 text
  const auto fail = [&](const std::string& wrong) {
    failAs(ExitCode::usage, option + " @" + list, wrong,
           "a text file with the path of an image on each line; lines that begin with # are comments");
  };
  const TextFile read = readTextFile(list);
  if (!read.failure.empty())
    fail("the list cannot be read: " + read.failure);
  std::vector<std::string> paths;
  bool isFirst = true;
  for (std::string line : linesOf(read.text)) {
    if (std::exchange(isFirst, false) && line.starts_with(byteOrderMark))
      line.erase(0, byteOrderMark.size());
    if (line.find('\0') != std::string::npos)
      fail("it is no text");
    if (const std::string_view path = trimmed(line); !path.empty() && path.front() != '#')
      paths.push_back(pathOnThisSystem(std::string(path)));
  }
  if (paths.empty())
    fail("the list names no image");
  return paths;
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
      "transform parameter file, whose Size, Spacing, Origin and Direction are the output grid; the folder "
      "of a registration, whose last stage is taken; or ITK transforms (.tfm, .h5), ANTs' 0GenericAffine.mat "
      "and 1Warp.nii.gz, or .lta, which need --grid unless they are fields. May be repeated: each is applied "
      "after those before it"};
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
          "FILE: points of the fixed side (.txt, .vtk, .bin), mapped to outputpoints of the same kind. all: "
          "T(x) - x in mm at every voxel of the grid, to deformationField.<format>"},
         {"ipp", "FILE", "older name of -def"},
         {"jac", "all|nonlinear",
          "determinant of the spatial Jacobian at every voxel, to spatialJacobian.<format>; nonlinear: "
          "without the part of linear transforms"},
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
                   "the output has this spacing: one number, or one an axis with commas between them; one "
                   "number leaves time, the fourth axis or the last one of a stack, as it is"),
         ownOption("crop", "MASK|BOX",
                   "the output grid is cut to the box of this mask, or to the voxels from the first to the "
                   "last one of a box, as in 10,20,5:60,80,40. Voxels stay where they were"),
         ownOption("crop-margin", "MM",
                   "with --crop: so much more on each side, up to the border of the grid (0)"),
         ownOption("inverse", "",
                   "apply the inverse of the transform: points of the moving side are mapped to the fixed "
                   "side, images and label maps of the fixed side are resampled on the moving side. Images "
                   "and fields need --grid"),
         ownOption(
             "from-time", "N",
             "with the result of a groupwise registration: -in and --labels are of time N of the series, "
             "counted from 0, and are carried to all times; files of one time, or of the series"),
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
  TransformRequest& request = options.request;
  request.reading = readingOptionsOf(arguments);
  request.resultsAreShort = asElastix;
  for (const std::string& given : arguments.all("tp"))
    request.transforms.push_back({asElastix ? given : transformFileOf(given, "-tp")});
  setInputs(arguments, request);
  request.outputFolder = arguments.text("out");
  request.images = filesGiven<GivenImage>(arguments.all("in"));
  request.labels = filesGiven<GivenImage>(arguments.all("labels"));
  request.labelInterpolation = choiceOf(arguments, "label-interpolation", "nearest, majority");
  if (arguments.has("label-interpolation") && request.labels.empty())
    failCommandLine("--label-interpolation", "given without --labels", "--labels FILE with it");
  if (arguments.has("max-memory"))
    request.maxMemory = memorySize("--max-memory", arguments.text("max-memory"));
  if (arguments.has("max-device-memory"))
    request.maxDeviceMemory = memorySize("--max-device-memory", arguments.text("max-device-memory"));
  const std::string points = arguments.text("def", arguments.text("ipp"));
  request.field = points == "all";
  request.points.path = request.field ? "" : points;
  request.nonlinear = arguments.text("jac") == "nonlinear";
  request.determinants = request.nonlinear || wantsAll(arguments, "jac");
  request.logarithm = arguments.has("log");
  if (request.logarithm && !request.determinants)
    failCommandLine("--log", "given without -jac", "-jac all or -jac nonlinear with it");
  request.description = arguments.has("describe-transform");
  request.matrices = wantsAll(arguments, "jacmat");
  request.grid.path = arguments.text("grid");
  request.inverse = arguments.has("inverse");
  request.write = arguments.text("write");
  request.format = arguments.text("format");
  if (!request.format.empty() && request.write.empty())
    failCommandLine("--format " + request.format, "given without --write", "--write FILE with it");
  if (request.format.empty() || request.format == "itk")
    options.bidsName = bidsTransformName(request.write);
  const std::string inverseAs = choiceOf(arguments, "inverse-as", "field, bspline");
  if (arguments.has("inverse-as") && (request.write.empty() || !request.inverse))
    failCommandLine("--inverse-as " + inverseAs,
                    std::string("given without ") + (request.write.empty() ? "--write" : "--inverse"),
                    "--inverse --write FILE with it");
  request.inverseAsSpline = inverseAs == "bspline";
  request.device = arguments.text("device", "auto");
  request.fieldInterpolator = arguments.text("field-interpolator");
  if (request.inverseOf.contains(1) && !request.grid.isGiven())
    failCommandLine("--inverse-of " + arguments.text("inverse-of"),
                    "given without --grid; the first -tp has the grid of the other side alone",
                    "--grid IMAGE, an image of the moving side of the first -tp");
  if (request.inverse && needsGrid(request) && !request.grid.isGiven())
    failCommandLine("--inverse",
                    "given for images or fields without --grid; the transform file has the grid of the fixed "
                    "image alone",
                    "--grid IMAGE, such as the moving image, or --inverse with -def FILE alone");
  request.fromTime = fromTimeOf(arguments, hasImages(request), "-in or --labels");
  if (request.fromTime
      && (request.inverse || request.points.isGiven() || hasFields(request) || request.description
          || !request.write.empty()))
    failCommandLine("--from-time", "given with other results than images", "-in and --labels alone with it");
  setCrop(arguments, request);
  const bool asksForNothing = !needsGrid(request) && !request.points.isGiven();
  if (asksForNothing && asElastix)
    throw Error(ExitCode::usage, "At least one of the CommandLine options \"-in\", \"-def\", \"-jac\", or "
                                 "\"-jacmat\" should be given!");
  if (asksForNothing)
    failCommandLine("-in, --labels, -def, -jac, -jacmat, --describe-transform, --write",
                    "none given, so there is nothing to do", "at least one of them");
  return options;
}

void readImageLists(TransformRequest& request)
{
  const auto read = [&](const std::string& option, std::vector<GivenImage>& images) {
    for (GivenImage& image : std::exchange(images, {})) {
      if (!image.path.starts_with('@')) {
        images.push_back(std::move(image));
        continue;
      }
      request.lists.push_back(image.path.substr(1));
      for (const std::string& path : pathsOfList(option, request.lists.back()))
        images.push_back({path});
    }
  };
  read("-in", request.images);
  read("--labels", request.labels);
}

}
