#pragma once

#include "Core/Compute/HostDevice.h"

#include <array>
#include <cmath>

// Spatially extended structure tensors (Wu, Hu and Yang, "Spatially extended structure tensor based
// deformable lung registration", Biomedical Research 27, 2016). A voxel has seven features: its intensity,
// less the mean about it, and the second derivatives per voxel of the image smoothed by sigma 1. A patch of
// 11x11x9 voxels has eight parts of 6x6x5 voxels, which share the patch's middle planes. The sum over a part
// of the products of two features is a symmetric 7x7 matrix; the 28 numbers of its Cholesky factor describe
// the part, and the distance between two patches is the sum of the squared differences of these numbers.
//
// Landmarks are compared with all places of a box. The eight parts of all places are eight offsets into sums
// over boxes of 6x6x5 voxels, which are computed along z, then x, then y, once for each place of the box.
// Functions here are for one number, on the CPU also for several numbers side by side.
namespace tessera::structuretensors {

constexpr int featureCount = 7, entryCount = 28; // entry (row, column) at row (row + 1) / 2 + column
TESSERA_HOST_DEVICE constexpr int patchVoxels(int axis)
{
  return axis == 2 ? 9 : 11;
}
TESSERA_HOST_DEVICE constexpr int partVoxels(int axis)
{
  return axis == 2 ? 5 : 6;
}
/// From one part to the next.
TESSERA_HOST_DEVICE constexpr int partStep(int axis)
{
  return axis == 2 ? 4 : 5;
}
constexpr std::array<double, 3> meanSigmaVoxels{3.2, 3.2, 2.6}; // the deviation of a patch's coordinates
// A second derivative counts so much more than an intensity. On a lung CT, 6 keeps 57 % of the keypoints, 1
// keeps 45 %, and the displacements differ less from those that self-similarity finds (median 1.0 instead
// of 1.4 mm).
constexpr float derivativeWeight = 6;
constexpr float regularization = 1e-4f; // of a matrix' mean diagonal

/// The box of places that a landmark is compared with: displacements of -reach to reach voxels.
struct Window {
  std::array<int, 3> reach{12, 6, 8};

  TESSERA_HOST_DEVICE constexpr int candidates(int axis) const { return 2 * reach[axis] + 1; }
  TESSERA_HOST_DEVICE constexpr int candidateCount() const
  {
    return candidates(0) * candidates(1) * candidates(2);
  }
  /// Voxels of all patches.
  TESSERA_HOST_DEVICE constexpr int voxels(int axis) const { return 2 * reach[axis] + patchVoxels(axis); }
  /// Places of parts.
  TESSERA_HOST_DEVICE constexpr int places(int axis) const { return voxels(axis) - partVoxels(axis) + 1; }
};

/// The features of a voxel; at(x, y, z) is the smoothed image at a neighbour, mean the image's local mean.
template <class Number, class At>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE void computeFeatures(const At& at, const Number& mean,
                                                               Number (&features)[featureCount])
{
  const Number middle = at(0, 0, 0), twice = middle + middle;
  features[0] = middle - mean;
  features[1] = ((at(-1, 0, 0) + at(1, 0, 0)) - twice) * derivativeWeight;
  features[2] = ((at(0, -1, 0) + at(0, 1, 0)) - twice) * derivativeWeight;
  features[3] = ((at(0, 0, -1) + at(0, 0, 1)) - twice) * derivativeWeight;
  features[4] = ((at(1, 1, 0) - at(1, -1, 0)) - (at(-1, 1, 0) - at(-1, -1, 0))) * (derivativeWeight / 4);
  features[5] = ((at(1, 0, 1) - at(1, 0, -1)) - (at(-1, 0, 1) - at(-1, 0, -1))) * (derivativeWeight / 4);
  features[6] = ((at(0, 1, 1) - at(0, 1, -1)) - (at(0, -1, 1) - at(0, -1, -1))) * (derivativeWeight / 4);
}

/// sums += products of the features.
template <class Number>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE void addProducts(const Number (&features)[featureCount],
                                                           Number (&sums)[entryCount])
{
  int entry = 0;
  TESSERA_UNROLL
  for (int row = 0; row < featureCount; ++row) {
    TESSERA_UNROLL
    for (int column = 0; column <= row; ++column, ++entry)
      sums[entry] += features[row] * features[column];
  }
}

/// The sum of six numbers, by pairs.
template <class Number>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE Number sumOfSix(const Number& pair0, const Number& pair2,
                                                          const Number& pair4)
{
  return (pair0 + pair2) + pair4;
}

struct SquareRoot {
  template <class Number>
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE Number operator()(const Number& value) const
  {
    return std::sqrt(value);
  }
};

/// Replaces a matrix by its Cholesky factor. Flat parts have singular matrices, so a share of the mean of the
/// diagonal is added to it.
template <class Number, class Root>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE void factor(Number (&a)[entryCount], const Root& squareRoot)
{
  const auto at = [](int row, int column) { return row * (row + 1) / 2 + column; };
  Number trace = a[0];
  TESSERA_UNROLL
  for (int row = 1; row < featureCount; ++row)
    trace += a[at(row, row)];
  const Number least = trace * (regularization / featureCount) + 1e-30f;
  TESSERA_UNROLL
  for (int j = 0; j < featureCount; ++j) {
    Number pivot = a[at(j, j)] + least;
    TESSERA_UNROLL
    for (int k = 0; k < j; ++k)
      pivot -= a[at(j, k)] * a[at(j, k)];
    pivot = pivot > least ? pivot : least; // rounding may leave less
    const Number root = squareRoot(pivot), inverse = 1.0f / root;
    a[at(j, j)] = root;
    TESSERA_UNROLL
    for (int row = j + 1; row < featureCount; ++row) {
      Number entry = a[at(row, j)];
      TESSERA_UNROLL
      for (int k = 0; k < j; ++k)
        entry -= a[at(row, k)] * a[at(j, k)];
      a[at(row, j)] = entry * inverse;
    }
  }
}

/// The squared distance of a part's numbers from those of a landmark: factor(entry) and reference[entry].
template <class Number, class Factor>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE Number partDistance(const Factor& factor, const float* reference)
{
  Number sum{};
  TESSERA_UNROLL
  for (int entry = 0; entry < entryCount; ++entry) {
    const Number difference = factor(entry) - reference[entry];
    sum += difference * difference;
  }
  return sum;
}

/// The distance of the four parts of one half of a patch; part(x, y) is that of one.
template <class Part>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE auto halfDistance(const Part& part)
{
  const auto front = part(0, 0) + part(1, 0);
  return front + (part(0, 1) + part(1, 1));
}

/// A candidate of the least distance: of equal ones the nearest to the middle of the box, then the one with
/// the lower number (x fastest).
struct Best {
  float distance = HUGE_VALF;
  int squaredVoxels = 0, number = -1;

  TESSERA_HOST_DEVICE bool isBetterThan(const Best& other) const
  {
    if (distance != other.distance)
      return distance < other.distance;
    if (squaredVoxels != other.squaredVoxels)
      return squaredVoxels < other.squaredVoxels;
    return other.number < 0 || number < other.number;
  }
  static TESSERA_HOST_DEVICE Best of(const Window& window, int number, float distance)
  {
    const int x = number % window.candidates(0) - window.reach[0],
              y = number / window.candidates(0) % window.candidates(1) - window.reach[1],
              z = number / window.candidates(0) / window.candidates(1) - window.reach[2];
    return {distance, x * x + y * y + z * z, number};
  }
};

/// The least distance of a landmark, and those of the six neighbours of its candidate, before and after it
/// along each axis (that of the candidate itself beyond the box).
struct Found {
  int number = -1;
  float distance = 0, before[3]{}, after[3]{};
};

TESSERA_HOST_DEVICE inline Found foundAt(const Window& window, int number, const float* distances)
{
  Found found{number, distances[number], {}, {}};
  int rest = number, stride = 1;
  TESSERA_UNROLL
  for (int d = 0; d < 3; ++d) {
    const int place = rest % window.candidates(d);
    found.before[d] = distances[place > 0 ? number - stride : number];
    found.after[d] = distances[place + 1 < window.candidates(d) ? number + stride : number];
    rest /= window.candidates(d);
    stride *= window.candidates(d);
  }
  return found;
}

}
