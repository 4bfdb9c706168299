#include "Core/Registration/TransformFiles/TransformFile.h"

#include "Core/Parameters/KnownElastixParameters.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>

namespace tessera {
namespace {

/// All parameters that elastix or Tessera write into transform parameter files, for the transforms that
/// Tessera has.
const std::vector<std::string>& knownKeys()
{
  static const std::vector<std::string> keys{"Transform",
                                             "NumberOfParameters",
                                             "TransformParameters",
                                             "TransformFileName",
                                             "InitialTransformParametersFileName",
                                             "InitialTransformParameterFileName",
                                             "UseBinaryFormatForTransformationParameters",
                                             "HowToCombineTransforms",
                                             "FixedImageDimension",
                                             "MovingImageDimension",
                                             "FixedInternalImagePixelType",
                                             "MovingInternalImagePixelType",
                                             "Size",
                                             "Index",
                                             "Spacing",
                                             "Origin",
                                             "Direction",
                                             "UseDirectionCosines",
                                             "CenterOfRotationPoint",
                                             "ComputeZYX",
                                             "GridSize",
                                             "GridIndex",
                                             "GridSpacing",
                                             "GridOrigin",
                                             "GridDirection",
                                             "BSplineTransformSplineOrder",
                                             "UseCyclicTransform",
                                             "FieldInterpolator",
                                             "SplineKernelType",
                                             "SplinePoissonRatio",
                                             "SplineRelaxationFactor",
                                             "FixedImageLandmarks",
                                             "DeformationFieldFileName",
                                             "DeformationFieldInterpolationOrder",
                                             "ResampleInterpolator",
                                             "FinalBSplineInterpolationOrder",
                                             "Resampler",
                                             "DefaultPixelValue",
                                             "ResampleExtrapolation",
                                             "ResultImageFormat",
                                             "ResultImagePixelType",
                                             "ResultImageName",
                                             "CompressResultImage"};
  return keys;
}

}

std::vector<std::string> unknownTransformFileEntries(const ParameterMap& map)
{
  const std::vector<std::string>& known = knownKeys();
  std::vector<std::string> lines;
  for (const ParameterEntry& entry : map.entries())
    if (std::find(known.begin(), known.end(), entry.name) == known.end() && !findElastixParameter(entry.name))
      lines.push_back(shownEntry(map, entry) + ": nothing reads it in a transform parameter file."
                      + didYouMean(entry.name, known));
  return lines;
}

}
