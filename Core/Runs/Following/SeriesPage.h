#pragma once

#include "Core/Runs/Following/SeriesChange.h"
#include "Core/Runs/Following/VolumeMotion.h"

namespace tessera {

/// A series and its registration, to be shown.
struct ShownSeries {
  std::string name, reference; // of its file; as SeriesRequest::reference
  const std::vector<HeldImage<3>>& volumes;
  const SeriesResult& found;
  VolumeValues valuesAfter;
  const SeriesChange &before, &after;
};

/// A page in HTML, one file without network and scripts: the motion, the change since the volume before, the
/// intensities of voxels over time ("carpet"), mean and deviation over time, each before and after.
std::string seriesPage(const ShownSeries&);

}
