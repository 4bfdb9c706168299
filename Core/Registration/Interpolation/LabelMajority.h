#pragma once

#include "Core/Compute/HostDevice.h"

namespace tessera {

/// InterpolatorOnCuda::order of labels.
constexpr int orderOfLabels = -1;

/// The label whose linear weights sum to most among the corners of a cell, of equal ones the smaller: every
/// label's indicator image is interpolated linearly, and the largest wins (the rule of
/// itk::LabelImageGenericInterpolateImageFunction). Corner c lies at +1 along axis d if bit d of c is set;
/// `fraction` of the cell, 0 to 1. Sums in the order of the corners.
template <int D>
TESSERA_HOST_DEVICE inline float majorityLabel(const float (&corners)[1 << D], const double (&fraction)[D])
{
  constexpr int count = 1 << D;
  bool same = true;
  TESSERA_UNROLL
  for (int c = 1; c < count; ++c)
    same = same && corners[c] == corners[0];
  if (same)
    return corners[0];
  double weight[count];
  TESSERA_UNROLL
  for (int c = 0; c < count; ++c) {
    weight[c] = 1;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      weight[c] *= c >> d & 1 ? fraction[d] : 1 - fraction[d];
  }
  float label = 0;
  double most = -1;
  TESSERA_UNROLL
  for (int c = 0; c < count; ++c) {
    double sum = 0;
    TESSERA_UNROLL
    for (int other = 0; other < count; ++other)
      sum += corners[other] == corners[c] ? weight[other] : 0;
    if (sum > most || (sum == most && corners[c] < label)) {
      most = sum;
      label = corners[c];
    }
  }
  return label;
}

}
