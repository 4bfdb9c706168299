#pragma once

#include "Core/Compute/Files/InputFiles.h"
#include "Core/Compute/Log.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/ImageInMemory.h"
#include "Core/Registration/Registration.h"
#include "Core/Runs/RunRequest.h"

#include <optional>

namespace tessera {

/// The headers of all images of a request, read before any voxel; of images in memory what a header would
/// say.
struct InputHeaders {
  std::vector<ImageHeader> fixed, moving, fixedMasks, movingMasks,
      labels;       // labels: fixed and moving ones that are given
  InputFiles files; // over which the run writes nothing

  int dimension() const { return fixed.front().dimension; }
};

/// Reads the headers, before any voxel, and tells the notes of parameters and headers. Throws Error naming
/// the option and file: parameters or an image that cannot be read, or of another dimension than the first
/// fixed image.
InputHeaders readHeaders(const RunRequest&, Log&);
/// The same for a caller who knows the files of all inputs (inputFilesOf).
InputHeaders readHeaders(const RunRequest&, InputFiles, Log&);

/// The images of one side at full resolution, with the geometries of their files.
template <int D>
struct InputSide {
  std::vector<ImagePointer<D>> images; // as a registration takes them
  std::vector<MaskPointer<D>> masks;   // as given: none, that of the first image, or one an image
  std::vector<MaskPointer<D>> valid;   // the voxels of each image that are not left out; null: all
  CheckedImage<D> firstAsRead;
};

/// The images, masks and points of a run: of the headers alone at first, with their voxels after load().
template <int D>
class Inputs {
public:
  using Side = InputSide<D>;

  /// Reads the points. The request must outlive this. Throws Error(unreadableInput) for files that are no
  /// points or do not form pairs.
  Inputs(const RunRequest&, InputHeaders);

  /// Throws Error(unreadableInput) if the grid of a mask lies wholly outside its image, both as a stage takes
  /// them.
  void checkMasks(bool usesDirectionCosines) const;
  /// Warns of points that lie outside of their image, as a stage takes both, and returns their shares.
  SharesOutside warnOfPointsOutside(bool usesDirectionCosines, Log&) const;

  /// Reads the voxels of all images and masks, once, and leaves out or fills those without a value (see
  /// prepareVoxels); a constant filling is one of them if the caller says so. Images that lie on the
  /// context's device are looked at there. The fixed side is taken from `shared`, unless that is null, and
  /// put there if it is empty. Throws Error, also for an image without contrast if the request refuses it.
  void load(const Context&, bool leavesOutFilling, Log&, std::optional<Side>* shared = nullptr);
  /// Throws Error(unreadableInput) if no voxel of an image lies in its mask, both as a stage takes them.
  void checkMaskedVoxels(bool usesDirectionCosines) const;

  /// What a stage takes, by geometryInUse(). Before load() images and masks have no voxels. Voxels that are
  /// left out become outside of their image's mask; points that are indices are those of the first images.
  StageInput<D> ofStage(std::size_t stage, bool usesDirectionCosines, ChainPointer<D> initial) const;
  /// The first moving image as it is resampled: as it was read.
  CheckedImage<D> movingAsRead(bool usesDirectionCosines) const;

  const InputHeaders& headers() const { return headers_; }
  ImageGeometry<D> fixedInFile() const { return geometryOf<D>(headers_.fixed.front()); }
  ImageGeometry<D> movingInFile() const { return geometryOf<D>(headers_.moving.front()); }

private:
  Side loaded(const Context&, const std::string& option, const std::vector<GivenImage>&,
              const std::vector<GivenMask>&, bool leavesOutFilling, Log&) const;
  void place(const Side&, bool usesDirectionCosines, std::vector<ImagePointer<D>>& images,
             std::vector<MaskPointer<D>>& masks, std::vector<MaskPointer<D>>& erodedParts) const;

  const RunRequest& request_;
  InputHeaders headers_;
  Side fixed_, moving_;
  InputPoints<D> fixedPoints_, movingPoints_; // where indices lie depends on the stage
  std::vector<double> weights_;               // of point pairs; none: all are equal
  std::vector<Matrix<D>> covariances_;        // of their errors; none: errors have no direction
};

}
