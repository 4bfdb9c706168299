#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registration/Transform.h"
#include "Tools/Landmarks/WorkingImages.h"

#include <chrono>
#include <limits>
#include <string>
#include <vector>

namespace tessera {

/// A keypoint of the fixed image and where the moving image shows it.
template <int D>
struct TrackedPoint {
  Vec<D> fixedMm{}, movingMm{};
  double backwardMm = 0; // how far it comes back from itself when it is tracked backwards
  double weight = 1;     // 1 / (1 + (backwardMm / spacing)^2)
  std::string dropped;   // why it is no landmark; empty: it is one
  // between the descriptors, as a share of that of random pairs of places; NaN: not known
  double difference = std::numeric_limits<double>::quiet_NaN();
};

/// Voxels of the working grid about the box of the mask, for what moves into it.
constexpr int marginOfSelfSimilarity = 8, marginOfStructureTensors = 0;

/// The images in which landmarks are tracked. Displacements are found on the working grid of the fixed image,
/// in which the moving image is seen through `initial`.
template <int D>
struct TrackingScene {
  LoadedSide<D> fixed, moving;
  WorkingImage<D> working;
  ChainPointer<D> initial;         // null: the identity
  double spacingMm = 0;            // of the working grid
  double toleranceMm = 3;          // see agreesWithNeighbours
  int reachVoxels = 12;            // of the search by structure tensors, along each axis
  std::size_t maxKeypoints = 8000; // of the search by self-similarity

  /// Points of the fixed image to those of the moving image by `initial`, in place.
  void toMoving(PointBatch<D>&) const;
  Vec<D> toMoving(const Vec<D>&) const;
};

/// Three stages of a search for the self-similarity of keypoints, regularized on a tree, with
/// smoothing splines between them (Heinrich, Handels and Simpson, "Estimating large lung motion in COPD
/// patients by symmetric regularised correspondence fields", MICCAI 2015). The first stage reaches 16 voxels
/// of the working grid in steps of 2 (2D: 32), the others 8 and 3 in steps of 1; each also searches
/// backwards, and takes the mean. Throws Error(registrationFailed) if there are fewer than 9 keypoints.
template <int D>
std::vector<TrackedPoint<D>> trackBySelfSimilarity(Context&, const TrackingScene<D>&, Log&);

/// A search by spatially extended structure tensors (StructureTensors.h) about `initial`, as far as
/// `reachVoxels`, and one backwards; then both again, for all keypoints, as far as 4 voxels from where the
/// smoothing spline through the landmarks that were found leads. Throws as trackBySelfSimilarity does, and as
/// searchStructureTensors.
std::vector<TrackedPoint<3>> trackByStructureTensors(Context&, const TrackingScene<3>&, Log&);

/// Empty if the context's CUDA device can do trackBySelfSimilarity or trackByStructureTensors; else why not.
std::string whySelfSimilarityNotOnCuda(const Context&, const TrackingScene<3>&);
std::string whyTensorsNotOnCuda(const Context&, const TrackingScene<3>&);

/// The smoothing spline through landmarks, every so many of them so that they are at most 2000, since its
/// time grows with the cube of their number. Its smoothing has the least cross-validation over at most 500 of
/// them.
template <int D>
TransformChain<D> smoothingSpline(Context&, const PointPairs<D>&);

/// Logs how long the parts of the work take, which the terminal shows with -v.
class PartClock {
public:
  explicit PartClock(Log& log) : log_(log) {}
  /// The part that began with the last call, or with the clock, is done.
  void done(const std::string& part)
  {
    log_.detail("  " + part + ": " + decimals(1000 * secondsSince(start_), 1) + " ms");
    start_ = std::chrono::steady_clock::now();
  }

private:
  Log& log_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Throws Error(registrationFailed) if there are too few keypoints.
void requireKeypoints(std::size_t found);
/// Logs how many keypoints were found again; throws Error(registrationFailed) if they are too few.
void reportStage(std::size_t kept, std::size_t keypoints, Log&);

/// Marks points that leave the moving image or its mask, that come back more than two voxels from themselves,
/// or that move unlike their neighbours, in this order.
template <int D>
void dropOutliers(const Context&, const TrackingScene<D>&, std::vector<TrackedPoint<D>>&);

}
