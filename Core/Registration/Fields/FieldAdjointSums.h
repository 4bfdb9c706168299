#pragma once

#include "Core/Compute/HostDevice.h"

// The sums of the adjoint of a field (GradientSummation), and the shape of the blocks that suits each.
namespace tessera::adjoint {

constexpr int columns = 32; // voxels of a tile along the first axis

/// The shape of a tile and of the block of threads that sums it.
struct Shape {
  int rows; // rows of the tile along the second axis, at most
  int columnsAThread;
  int blocksAMultiprocessor;

  constexpr int threads() const { return columns * rows / columnsAThread; }
};

// Measured on an H200. With two columns a thread, a weight is loaded once for both, but registers suffice
// only where a sum is one float; the other sums are faster in smaller blocks. Copying ahead into shared
// memory (cp.async), larger tiles and starting the second kernel early (programmatic dependent launch) did
// not help (dox/Decisions/0013).
constexpr Shape shapeOfPlainSums{16, 2, 3}, shapeOfOtherSums{8, 1, 4};

/// A sum of products in single precision. `Value` is the type of the finished sums that go to the next axis.
struct FusedSum {
  using Value = float;
  static constexpr Shape shape = shapeOfPlainSums;
  float sum = 0;
  TESSERA_HOST_DEVICE void add(float weight, float value) { sum = fmaf(weight, value, sum); }
  TESSERA_HOST_DEVICE float total() const { return sum; }
};

/// A sum in single precision that takes the rounding error of each step into the next one (Kahan 1965).
struct KahanSum {
  using Value = float;
  static constexpr Shape shape = shapeOfOtherSums;
  float sum = 0, excess = 0;
  TESSERA_HOST_DEVICE void add(float weight, float value)
  {
    const float term = fmaf(weight, value, -excess);
    const float next = sum + term;
    excess = (next - sum) - term;
    sum = next;
  }
  TESSERA_HOST_DEVICE float total() const { return sum; }
};

/// A sum in single precision beside a sum of all rounding errors (Pichat 1972).
struct PichatSum {
  using Value = float;
  static constexpr Shape shape = shapeOfOtherSums;
  float sum = 0, missing = 0;
  TESSERA_HOST_DEVICE void add(float weight, float value)
  {
    const float before = sum;
    sum = fmaf(weight, value, sum);
    missing += fmaf(weight, value, before - sum);
  }
  TESSERA_HOST_DEVICE float total() const { return sum + missing; }
};

/// A sum in double precision.
struct DoubleSum {
  using Value = double;
  static constexpr Shape shape = shapeOfOtherSums;
  double sum = 0;
  TESSERA_HOST_DEVICE void add(double weight, double value) { sum = fma(weight, value, sum); }
  TESSERA_HOST_DEVICE double total() const { return sum; }
};

}
