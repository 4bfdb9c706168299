#pragma once

#include "Core/Registration/OptimizableTransform.h"
#include "Core/Registration/Transform.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Landmarks/WorkingImages.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// A keypoint of the fixed image and where the moving image shows it.
struct TrackedPoint {
  Vec<3> fixedMm{}, movingMm{};
  double backwardMm = 0; // how far it comes back from itself when it is tracked backwards
  double weight = 1;     // 1 / (1 + (backwardMm / spacing)^2)
  std::string dropped;   // why it is no landmark; empty: it is one
};

/// The images in which landmarks are tracked. Displacements are found on the working grid of the fixed image,
/// in which the moving image is seen through `initial`.
struct TrackingScene {
  LoadedSide fixed, moving;
  std::shared_ptr<const TransformChain<3>> initial; // null: the identity
  double spacingMm = 0;                             // of the working grid
  double toleranceMm = 3;                           // see agreesWithNeighbours
  int reachVoxels = 12;                             // of the search by structure tensors, along each axis

  /// Points of the fixed image to those of the moving image by `initial`, in place.
  void toMoving(PointBatch<3>&) const;
  Vec<3> toMoving(const Vec<3>&) const;
};

/// Three stages of a search for the self-similarity of keypoints, regularized on a tree, with
/// smoothing splines between them (Heinrich, Handels and Simpson, "Estimating large lung motion in COPD
/// patients by symmetric regularised correspondence fields", MICCAI 2015). The first stage reaches 16 voxels
/// of the working grid in steps of 2, the others 8 and 3 in steps of 1; each also searches backwards, and
/// takes the mean. Throws Error(registrationFailed) if there are fewer than 9 keypoints.
std::vector<TrackedPoint> trackBySelfSimilarity(Context&, const TrackingScene&, RunLog&);

/// One search by spatially extended structure tensors (StructureTensors.h) about `initial`, as far as
/// `reachVoxels`, and one backwards. Throws as trackBySelfSimilarity does, and as searchStructureTensors.
std::vector<TrackedPoint> trackByStructureTensors(Context&, const TrackingScene&, RunLog&);

/// Empty if the context's CUDA device can do trackBySelfSimilarity or trackByStructureTensors; else why not.
std::string whySelfSimilarityNotOnCuda(const Context&, const TrackingScene&);
std::string whyTensorsNotOnCuda(const Context&, const TrackingScene&);

/// The smoothing spline through landmarks, with the smoothing of the least cross-validation.
TransformChain<3> smoothingSpline(Context&, const PointPairs<3>&);

/// Throws Error(registrationFailed) if there are too few keypoints.
void requireKeypoints(std::size_t found, std::size_t fewest);
/// Logs how many keypoints were found again; throws Error(registrationFailed) if they are too few.
void reportStage(std::size_t kept, std::size_t keypoints, std::size_t fewest, RunLog&);

/// Marks points that leave the moving image or its mask, that come back more than two voxels from themselves,
/// or that move unlike their neighbours, in this order.
void dropOutliers(const Context&, const TrackingScene&, std::vector<TrackedPoint>&);

}
