#pragma once

#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/Points/PointsFile.h"
#include "Core/Registration/Registration.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Register/RegisterOptions.h"

namespace tessera {

/// The headers of all images of a command line, read before any voxel.
struct InputHeaders {
  std::vector<ImageHeader> fixed, moving, fixedMasks, movingMasks,
      labels;             // labels: fixed and moving ones that are given
  ReadingOptions reading; // by which they were read

  int dimension() const { return fixed.front().dimension; }
};

/// Tells the notes of the headers. Throws Error naming the option and file: unreadable, or of another
/// dimension than the first fixed image.
InputHeaders readHeaders(const RegisterOptions&, RunLog&);

/// Throws Error(unreadableInput) if the grid of a mask lies wholly outside its image, both as a stage takes
/// them. The voxels are not read.
template <int D>
void checkMasks(const InputHeaders&, bool usesDirectionCosines);

/// The points of -fp and -mp as their files have them: where indices lie depends on the stage.
template <int D>
struct ReadPoints {
  InputPoints<D> fixed, moving;
  std::vector<double> weights;        // of --point-weights; none: all are equal
  std::vector<Matrix<D>> covariances; // of their errors; none: errors have no direction
};

/// The points of -fp and -mp. None if they are not given. Throws Error(unreadableInput) for files that are no
/// points or do not form pairs.
template <int D>
ReadPoints<D> loadPoints(const RegisterOptions&);

/// Warns of points that lie outside of their image, as a stage takes both.
template <int D>
void warnOfPointsOutside(const RegisterOptions&, const InputHeaders&, const ReadPoints<D>&,
                         bool usesDirectionCosines, RunLog&);

/// The images of one side at full resolution, with the geometries of their files.
template <int D>
struct ReadSide {
  std::vector<ImagePointer<D>> images; // 0 for voxels that are not a number
  std::vector<MaskPointer<D>> masks;   // as given: none, that of the first image, or one an image
  std::vector<MaskPointer<D>> finite;  // where the voxels of each image are numbers; null: everywhere
};

/// What a run reads for all of its stages.
template <int D>
struct ReadInputs {
  ReadSide<D> fixed, moving;
  ReadPoints<D> points;
  bool hasPoints = false;
};

/// Reads all images and masks.
template <int D>
ReadInputs<D> loadInputs(const RegisterOptions&, ReadPoints<D>, RunLog&);

/// Throws Error(unreadableInput) if no voxel of an image lies in its mask, both as a stage takes them.
template <int D>
void checkMaskedVoxels(const RegisterOptions&, const ReadInputs<D>&, bool usesDirectionCosines);

/// Images, masks and points where a stage takes them.
template <int D>
struct LoadedInputs {
  std::vector<ImagePointer<D>> fixed, moving;
  std::vector<MaskPointer<D>> fixedMasks, movingMasks; // none, the first one, or all; may hold null
  MaskPointer<D> validMoving; // voxels of the first moving image that are numbers; null: all
  PointPairs<D> points;
  bool hasPoints = false;
};

/// All inputs by geometryInUse(). Voxels that are not a number become outside of their image's mask; points
/// that are indices are those of the first images.
template <int D>
LoadedInputs<D> inputsOfStage(const ReadInputs<D>&, bool usesDirectionCosines);

/// The input of a stage by the headers alone: images and masks without voxels, and points that all lie at the
/// origin.
template <int D>
StageInput<D> inputWithoutVoxels(const InputHeaders&, bool usesDirectionCosines, std::size_t pointPairs);

}
