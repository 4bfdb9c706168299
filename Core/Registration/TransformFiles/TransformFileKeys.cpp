#include "Core/Registration/TransformFiles/TransformFile.h"

#include "Core/Parameters/KnownElastixParameters.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"

#include <algorithm>

namespace tessera {
namespace {

// Whatever elastix or Tessera writes into transform parameter files of the transforms that Tessera has.
const std::vector<std::string> entriesOfTransform{"Transform",
                                                  "NumberOfParameters",
                                                  "TransformParameters",
                                                  "TransformFileName",
                                                  "UseBinaryFormatForTransformationParameters",
                                                  "HowToCombineTransforms",
                                                  "FixedImageDimension",
                                                  "MovingImageDimension",
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
                                                  "SplineKernelType",
                                                  "SplinePoissonRatio",
                                                  "SplineRelaxationFactor",
                                                  "SplineSmoothing",
                                                  "FixedImageLandmarks",
                                                  "DeformationFieldFileName",
                                                  "DeformationFieldInterpolationOrder",
                                                  "StackSpacing",
                                                  "StackOrigin",
                                                  "NumberOfSubTransforms",
                                                  "SubTransforms",
                                                  "NormalizeCombinationWeights"};
const std::vector<std::string> entriesOfOutput{"InitialTransformParametersFileName",
                                               "InitialTransformParameterFileName",
                                               "FixedInternalImagePixelType",
                                               "MovingInternalImagePixelType",
                                               "Size",
                                               "Index",
                                               "Spacing",
                                               "Origin",
                                               "Direction",
                                               "FieldInterpolator",
                                               "ResampleInterpolator",
                                               "FinalBSplineInterpolationOrder",
                                               "FinalReducedDimensionBSplineInterpolationOrder",
                                               "Resampler",
                                               "DefaultPixelValue",
                                               "ResampleExtrapolation",
                                               "ResultImageFormat",
                                               "ResultImagePixelType",
                                               "ResultImageName",
                                               "CompressResultImage"};

std::vector<std::string> allEntries()
{
  std::vector<std::string> all = entriesOfTransform;
  all.insert(all.end(), entriesOfOutput.begin(), entriesOfOutput.end());
  for (const char* digest :
       {initialTransformDigest, deformationFieldDigest, transformFileDigest, subTransformsDigest})
    all.push_back(digest);
  return all;
}

}

bool isOutputEntry(std::string_view name)
{
  return std::ranges::find(entriesOfOutput, name) != entriesOfOutput.end();
}

std::vector<std::string> unknownTransformFileEntries(const ParameterMap& map)
{
  static const std::vector<std::string> known = allEntries();
  std::vector<std::string> lines;
  for (const ParameterEntry& entry : map.entries())
    if (std::find(known.begin(), known.end(), entry.name) == known.end() && !findElastixParameter(entry.name))
      lines.push_back(shownEntry(map, entry) + ": nothing reads it in a transform parameter file."
                      + didYouMean(entry.name, known));
  return lines;
}

}
