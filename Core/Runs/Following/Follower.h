#pragma once

#include "Core/Runs/Following/FollowLook.h"
#include "Core/Runs/Run.h"

#include <optional>

namespace tessera {

/// At which level stages begin. The first one is the finest of which this share of a voxel exceeds what is
/// left to move. The linear stages are refined where what is left is an affine motion by `affine` of it, of
/// at least `linear` voxels of the finest level, or where free stages have taken over `taken` voxels of such
/// a motion since then; free stages after them begin a level coarser, since they have to give that back.
struct FollowLevels {
  double voxel = 0.18, affine = 0.3, linear = 0.3, taken = 1;
};

/// The result of an update, and how it was found.
template <int D>
struct FollowUpdate {
  RunResult<D> result;
  bool isCold = false, endedInTime = false;
  std::string why;         // it is cold; empty: it is not
  std::vector<int> levels; // the first one of each stage that was run; -1: none
  double metric = 0;       // of the last stage
  FitOfImages before, fit; // at the last transform (of a cold one: where the images lie), and at this one
  double readingSeconds = 0, lookingSeconds = 0, registeringSeconds = 0;
  std::vector<std::string> warnings;   // of the runs; those of the first update are in the log, too
  std::vector<std::string> whatWasRun; // parameters, a text for each stage: see Follower
  double preparingSeconds = 0, levelsSeconds = 0; // of registering: before the first iterations, and after
  std::string device;                             // "cpu", "cuda:0": of the last stage
};

/// Registers image after image of one patient to one fixed image. It keeps the fixed side, the devices and
/// the last parameters, from which each stage of an update goes on at the level that the images ask for. An
/// update repeats to the bit as a Run of FollowUpdate::whatWasRun with RunRequest::startAt the result before
/// it (none for a cold one), with a deadline, too. An optimizer without MaximumNumberOfIterations, which a
/// deadline has cut, does not repeat so.
template <int D>
class Follower {
public:
  /// A request without moving images. Registry, log and machine must outlive it. Throws Error(usage).
  Follower(const Registry&, RunRequest, Log&, const Machine& = shippedMachine());
  ~Follower();

  /// Throws Error(unreadableInput) for an image that is damaged or constant, has voxels that are no finite
  /// numbers, or has another size, spacing or direction than the first one; other errors as Run, and
  /// Interrupted. The follower then is as before. Throws Error(registrationFailed) if the deadline comes
  /// before the first iteration; if the update began anew, the next one goes on from its start. The listener
  /// hears of an update that turns out to be none and of the one that begins anew in its place.
  FollowUpdate<D> update(const GivenImage& moving, RunListener<D>&, Deadline = Deadline::max(), Stop = {});
  FollowUpdate<D> update(const GivenImage& moving, Deadline = Deadline::max());

  /// The result from which the next update goes on; null: none.
  const ChainPointer<D>& last() const;
  /// Goes on from this one, of an earlier follower of the same request, with the geometry of its moving
  /// images, and how it fitted there, with which the next image is compared. Null: the next update is cold.
  void setLast(ChainPointer<D>, std::optional<FitOfImages> = {});

private:
  class Body;
  std::unique_ptr<Body> body_;
};

}
