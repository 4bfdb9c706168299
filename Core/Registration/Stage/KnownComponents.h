#pragma once

/// Names of components that runs take without being asked, or that their messages advise.
namespace tessera::knowncomponents {

constexpr const char* linearInterpolator = "LinearInterpolator"; // of (Interpolator ...)
constexpr const char* nearestInterpolator =
    "NearestNeighborInterpolator"; // of (ResampleInterpolator ...), too
constexpr const char* majorityInterpolator = "LabelMajorityInterpolator"; // of (ResampleInterpolator ...)
constexpr const char* genericPyramid = "GenericImagePyramid";             // without the side of its images
constexpr const char* bsplineTransform = "BSplineTransform";
constexpr const char* fieldTransform = "DeformationFieldTransform";
constexpr const char* landmarkTransform = "SplineKernelTransform";
constexpr const char* pointMetric = "CorrespondingPointsEuclideanDistanceMetric";
constexpr const char* foldingPenalty = "TransformFoldingPenalty";
constexpr const char* bendingPenalty = "TransformBendingEnergyPenalty";

}
