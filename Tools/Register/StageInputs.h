#pragma once

#include "Core/Image/Files/ImageHeader.h"
#include "Core/Registration/Registration.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Register/RegisterOptions.h"

namespace tessera {

/// The headers of all images of a command line, read before any voxel.
struct InputHeaders {
  std::vector<ImageHeader> fixed, moving, fixedMasks, movingMasks,
      labels; // labels: fixed and moving ones that are given

  int dimension() const { return fixed.front().dimension; }
};

/// Throws Error naming the option and file: unreadable, or of another dimension than the first fixed image.
InputHeaders readHeaders(const RegisterOptions&);

/// Throws Error(unreadableInput) if the grid of a mask lies wholly outside its image. The voxels are not
/// read.
template <int D>
void checkMasks(const InputHeaders&);

/// Images and masks at full resolution, with the directions of their headers.
template <int D>
struct LoadedInputs {
  std::vector<ImagePointer<D>> fixed, moving;
  std::vector<MaskPointer<D>> fixedMasks, movingMasks; // none, the first one, or all; may hold null
  MaskPointer<D> validMoving; // voxels of the first moving image that are numbers; null: all
  PointPairs<D> points;
  bool hasPoints = false;
};

/// The points of -fp and -mp in mm; indices are those of the first images. None if they are not given.
/// Points outside of their image are warned of. Throws Error(unreadableInput) for files that are no points or
/// do not form pairs.
template <int D>
PointPairs<D> loadPoints(const RegisterOptions&, const InputHeaders&, RunLog&);

/// Reads all images and masks. Voxels that are not a number become outside of their image's mask.
template <int D>
LoadedInputs<D> loadInputs(const RegisterOptions&, PointPairs<D>, RunLog&);

/// The input of a stage by the headers alone: images and masks without voxels, and points that all lie at the
/// origin.
template <int D>
StageInput<D> inputWithoutVoxels(const InputHeaders&, bool useDirectionCosines, std::size_t pointPairs);

/// The same inputs with all axes along the coordinates, for (UseDirectionCosines "false").
template <int D>
LoadedInputs<D> withIdentityDirections(const LoadedInputs<D>&);

}
