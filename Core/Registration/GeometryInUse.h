#pragma once

#include "Core/Image/Files/ImageHeader.h"
#include "Core/Parameters/Parameters.h"

namespace tessera {

/// (LastAxisIsTime ...) of a parameter file.
inline const Parameter<bool>& lastAxisIsTime()
{
  static const auto row =
      booleanParameter("LastAxisIsTime", false, Arity::single,
                       "the images are series, of dimension 4, too, if FixedImageDimension is not given; "
                       "a pyramid that keeps the size, without a schedule, does not smooth along time");
  return row;
}

/// (UseDirectionCosines ...) of a parameter file or a transform parameter file.
inline const Parameter<bool>& useDirectionCosines()
{
  static const auto row =
      booleanParameter("UseDirectionCosines", true, Arity::single,
                       "false: images are taken as if their axes lay along the coordinates");
  return row;
}

/// The grid on which a stage, or a transform of a file, takes whatever lies on a grid of a file: images,
/// masks, label maps, rigidity images, fields, and points that are indices. The axes run along the
/// coordinates unless the directions of the headers are used; size, spacing and origin stay.
template <int D>
ImageGeometry<D> geometryInUse(ImageGeometry<D> inFile, bool usesDirectionCosines)
{
  return usesDirectionCosines ? inFile : withIdentityDirection<D>(inFile);
}

/// Returns the grid on which a component takes `inFile`: its stage's UseDirectionCosines decides.
template <int D>
ImageGeometry<D> geometryInUse(ImageGeometry<D> inFile, const Parameters& parameters)
{
  return geometryInUse<D>(inFile, parameters.withLabel("").get(useDirectionCosines()));
}

}
