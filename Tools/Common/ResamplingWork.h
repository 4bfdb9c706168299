#pragma once

#include "Core/Registration/Fields/FieldMethods.h"
#include "Core/Registration/Transform.h"
#include "Tools/Common/Calibration.h"

namespace tessera {

/// How an image is looked up between its voxels.
struct LookUp {
  enum class Kind { nearest, linear, spline, majority };
  Kind kind = Kind::nearest;
  int order = 3; // of a spline, from 2
};

/// A ResampleInterpolator as `parameters` set it. Throws Error(usage) if there is none of this name.
LookUp lookUpOf(const Registry&, const std::string& name, const Parameters&);

/// What is to be done, counted in the items of a calibration.
struct WorkItems {
  std::array<double, workCount> items{};
  double uploadedBytes = 0, downloadedBytes = 0, images = 0; // of CUDA

  void add(Work work, double count) { items[static_cast<std::size_t>(work)] += count; }
  double of(Work work) const { return items[static_cast<std::size_t>(work)]; }
};

/// The same task on either device.
struct DeviceWork {
  WorkItems cpu, cuda;
};

/// An image to be resampled.
struct ImageSizes {
  double voxels = 0, components = 1;
  double resultBytes = sizeof(float);                // of a component's pixel in the result
  double uploadedBytes = sizeof(float) * components; // of a voxel with all its components
};

/// Adds images with one way to look them up, of which so many at a time share T(x) on the CPU. What happens
/// to voxels that are no numbers, and outside of the images, is not counted.
template <int D>
void addImages(DeviceWork&, const TransformChain<D>&, const ImageGeometry<D>& lattice, const LookUp&,
               const std::vector<ImageSizes>&, std::size_t imagesAtOnce);

/// Adds a field of `components` floats a voxel: displacements (D), determinants (1) or matrices (D * D) of a
/// B-spline along the lattice's axes.
template <int D>
void addField(DeviceWork&, const ImageGeometry<D>& lattice, std::size_t components);

/// With the start of a process and of the device.
double cpuSeconds(const Calibration&, int dimension, const DeviceWork&, int threads);
double cudaSeconds(const Calibration&, int dimension, const DeviceWork&, int threads);

}
