#pragma once

#include "Core/Image/ImageGeometry.h"
#include "Core/Runs/Following/SeriesChange.h"
#include "Core/Runs/Following/VolumeMotion.h"

namespace tessera {

/// A series that was registered.
template <int D>
struct ShownSeries {
  std::string name, reference; // reference: as SeriesRequest has it
  std::vector<bool> hasResult; // for each volume
  std::vector<std::optional<VolumeMotion>> motions;
  ImageGeometry<D> geometryBefore, geometryAfter;
  VolumeValues before, after; // asked for the volumes that have a result alone, several times in rising order
};

/// A page in HTML, one file without network and scripts: the motion, the change since the volume before, the
/// intensities of voxels over time ("carpet"), mean and deviation over time, each before and after.
template <int D>
std::string seriesPage(const ShownSeries<D>&);

}
