#pragma once

#include "Core/Compute/HostDevice.h"

namespace tessera {

/// The value of InterpolatorOnCuda::order for labels.
constexpr int orderOfLabels = -1;

/// The label whose linear weights have the largest sum among the corners of a cell; the smaller label if two
/// sums are equal. This interpolates the indicator image of each label linearly and takes the largest value,
/// like itk::LabelImageGenericInterpolateImageFunction. Corner c lies at +1 along axis d if bit d of c is
/// set. `fraction` is the place in the cell, from 0 to 1. Sums are in the order of the corners.
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
  double largestSum = -1;
  TESSERA_UNROLL
  for (int c = 0; c < count; ++c) {
    double sum = 0;
    TESSERA_UNROLL
    for (int other = 0; other < count; ++other)
      sum += corners[other] == corners[c] ? weight[other] : 0;
    if (sum > largestSum || (sum == largestSum && corners[c] < label)) {
      largestSum = sum;
      label = corners[c];
    }
  }
  return label;
}

}
