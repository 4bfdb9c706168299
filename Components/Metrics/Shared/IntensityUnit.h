#pragma once

namespace tessera {

/// How intensities are measured: from the middle of the level's range, which is 1.
struct IntensityUnit {
  double middle = 0, scale = 0; // an image of one intensity has the scale 0

  IntensityUnit() = default;
  IntensityUnit(double lowest, double highest)
      : middle((lowest + highest) / 2), scale(highest > lowest ? 1 / (highest - lowest) : 0)
  {
  }
};

}
