#pragma once

#include "Core/Image/ImageGeometry.h"
#include "Core/Image/Pictures/PictureParts.h"
#include "Core/Runs/Following/SeriesChange.h"

#include <string>
#include <vector>

namespace tessera {

/// The style sheet for the parts of pages that are about times. They stand in an element of the class
/// "times".
extern const char* const styleOverTime;

struct CurveOverTime {
  std::string name;
  std::vector<double> values; // NaN: none
};

/// At most three curves over the times of a series in one range, with a legend. `time` is the word for them.
std::string curvesOverTime(const std::string& title, const std::string& unit, const std::string& time,
                           const std::vector<CurveOverTime>& curves);

/// The images of all times of a series, and how their intensities change.
template <int D>
struct ShownTimes {
  ImageGeometry<D> geometry;
  VolumeValues valuesOf;
  SeriesChange change;
  std::vector<double> displacementMm = {}; // in the mean over the voxels, of each time; empty: not known
};

/// The middle slices in the three planes side by side, in square pixels, as JPEG; in 2D the picture.
template <int D>
std::string middleSlices(const ImageGeometry<D>&, const std::vector<float>& values, const GreyLine&);

/// The change from one time to the next, the intensities of voxels over time ("carpet"), and mean and
/// deviation over time, each before and after a registration.
template <int D>
std::string intensitiesOverTime(std::size_t times, const std::string& time, const ShownTimes<D>& before,
                                const ShownTimes<D>& after);

}
