#pragma once

#include "Core/Runs/Following/Series.h"

namespace tessera {

/// A page in HTML, one file without network and scripts: the motion, the change since the volume before, the
/// intensities of voxels over time ("carpet"), mean and deviation over time, each before and after. `name` is
/// that of the series.
template <int D>
std::string seriesPage(const std::string& name, const SeriesRequest<D>&, const SeriesResult<D>&);

}
