#include "Core/Runs/StageSettings.h"

#include "Core/Registration/GeometryInUse.h"

namespace tessera {
namespace {

namespace rows {
const auto device =
    textParameter("Device", "auto", Arity::single, "where the registration runs: auto, cpu, cuda or cuda:N");
const auto threads = [] {
  auto row = integerParameter(
      "MaximumNumberOfThreads", 1, 1, Arity::single, "",
      "threads, unless -threads is given; without both, the processors this process may use");
  row.defaultText.clear(); // it depends on the machine
  return row;
}();
const auto fixedDimension =
    integerParameter("FixedImageDimension", 3, 2, Arity::single, "",
                     "dimension of the fixed image; read from the image, and an error if it differs");
const auto movingDimension =
    integerParameter("MovingImageDimension", 3, 2, Arity::single, "",
                     "dimension of the moving image; read from the image, and an error if it differs");
const std::vector<std::string> pixelTypes{"float", "double",        "short", "unsigned short",
                                          "char",  "unsigned char", "int",   "unsigned int"};
const auto fixedPixelType = textParameter("FixedInternalImagePixelType", "float", Arity::single,
                                          "accepted without effect: the computation is in float", pixelTypes);
const auto movingPixelType =
    textParameter("MovingInternalImagePixelType", "float", Arity::single,
                  "accepted without effect: the computation is in float", pixelTypes);
const auto writeIterationInfo =
    booleanParameter("WriteIterationInfo", true, Arity::single, "write IterationInfo.<stage>.R<level>.txt");
const auto writeFinalTransform = booleanParameter("WriteFinalTransformParameters", true, Arity::single,
                                                  "write TransformParameters.<stage>.txt");
const auto writeTransformLevel =
    booleanParameter("WriteTransformParametersEachResolution", false, Arity::single,
                     "write TransformParameters.<stage>.R<level>.txt");
const auto writeTransformIteration =
    booleanParameter("WriteTransformParametersEachIteration", false, Arity::single,
                     "write TransformParameters.<stage>.R<level>.It<iteration>.txt");
const auto writePyramids = booleanParameter("WritePyramidImagesAfterEachResolution", false, Arity::perLevel,
                                            "write the smoothed images of the level");
const auto itkExtension =
    textParameter("ITKTransformOutputFileNameExtension", "", Arity::single,
                  "write the transform as an ITK file of this kind too", {"", "tfm", "h5", "hdf5", "txt"});
const auto itkComposite = booleanParameter("WriteITKCompositeTransform", false, Arity::single,
                                           "write all transforms so far as one ITK composite transform");
const auto leaveOutFilling = booleanParameter(
    "LeaveOutFilling", false, Arity::single,
    "leave out voxels of one value that lies far from all others, such as -32768 or 1e20, or take them for "
    "background if they surround the others; all parameter files of a run must say so");
const auto scheduleForImageSize =
    integerParameter("ScheduleForImageSize", 0, 0, Arity::single, "voxels",
                     "the size of a fixed image, along its longest axis, that ImagePyramidSchedule and "
                     "FinalGridSpacingInVoxels are for; for another size both are multiplied by the nearest "
                     "power of two, but no factor falls below 1; 0: for every size");
const auto transformFormat = textParameter("OutputTransformParameterFileFormat", "TXT", Arity::single,
                                           "format of transform parameter files", {"TXT", "TOML"});
}

void checkSide(const Parameters& parameters, const Parameter<std::int64_t>& row, const std::string& side,
               int dimension)
{
  const std::int64_t said = parameters.get(row);
  if (!parameters.has(row.name) || said == dimension)
    return;
  parameters.fail(row.name,
                  "the parameter file says " + std::to_string(said) + ", the header of the " + side
                      + " image says " + std::to_string(dimension),
                  "Allowed: " + std::to_string(dimension)
                      + "; or delete this line: the header tells the dimension");
}

}

StageSettings::StageSettings(const Parameters& parameters)
    : device(parameters.get(rows::device)), whereDevice(parameters.where(rows::device.name)),
      fixedPixelType(parameters.get(rows::fixedPixelType)),
      movingPixelType(parameters.get(rows::movingPixelType)),
      threads(parameters.has(rows::threads.name) ? parameters.get(rows::threads) : 0),
      useDirectionCosines(parameters.get(tessera::useDirectionCosines())),
      writeIterationInfo(parameters.get(rows::writeIterationInfo)),
      writeFinalTransform(parameters.get(rows::writeFinalTransform)),
      writesTransformOfLevels(parameters.get(rows::writeTransformLevel)),
      writesTransformOfIterations(parameters.get(rows::writeTransformIteration)),
      leavesOutFilling(parameters.get(rows::leaveOutFilling)),
      scheduleForImageSize(parameters.get(rows::scheduleForImageSize)),
      itkExtension(parameters.get(rows::itkExtension)), writeItkComposite(parameters.get(rows::itkComposite)),
      transformExtension(parameters.get(rows::transformFormat) == "TOML" ? "toml" : "txt"),
      parameters_(parameters)
{
}

const ComponentDescription& StageSettings::description()
{
  static const ComponentDescription description{
      "",
      "Program",
      "Parameters that the program itself reads: device, dimensions, and which files are written.",
      {rows::device, rows::threads, rows::fixedDimension, rows::movingDimension, rows::fixedPixelType,
       rows::movingPixelType, tessera::useDirectionCosines(), lastAxisIsTime(), rows::writeIterationInfo,
       rows::writeFinalTransform, rows::writeTransformLevel, rows::writeTransformIteration,
       rows::writePyramids, rows::leaveOutFilling, rows::itkExtension, rows::itkComposite,
       rows::scheduleForImageSize, rows::transformFormat}};
  return description;
}

bool StageSettings::writePyramidImages(std::size_t level) const
{
  return parameters_.get(rows::writePyramids, level);
}

void StageSettings::checkDimension(int fixedDimension, int movingDimension) const
{
  checkSide(parameters_, rows::fixedDimension, "fixed", fixedDimension);
  checkSide(parameters_, rows::movingDimension, "moving", movingDimension);
}

int dimensionIn(const ParameterMap& map)
{
  const Parameters parameters(std::make_shared<ParameterMap>(map), "", 3, 1);
  for (const auto& row : {rows::fixedDimension, rows::movingDimension})
    if (parameters.has(row.name) && parameters.get(row) > 4)
      parameters.fail(row.name, "registration in " + std::to_string(parameters.get(row)) + "D is not built",
                      "Allowed: 2, 3, or 4 for 3D and time");
  return parameters.has(rows::fixedDimension.name) ? static_cast<int>(parameters.get(rows::fixedDimension))
         : parameters.get(lastAxisIsTime())        ? 4
                                                   : 0;
}

}
