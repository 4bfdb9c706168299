#pragma once

#include "Core/Parameters/Calibration.h"
#include "Core/Registration/Fields/FieldMethods.h"
#include "Core/Registration/Transform.h"

namespace tessera {

/// An amount of work, counted in the items of a calibration.
struct WorkItems {
  std::array<double, workCount> items{};
  double uploadedBytes = 0, downloadedBytes = 0, images = 0; // for CUDA only

  void add(Work work, double count) { items[static_cast<std::size_t>(work)] += count; }
  double of(Work work) const { return items[static_cast<std::size_t>(work)]; }
};

/// The work of one task on the CPU and on a CUDA device.
struct DeviceWork {
  WorkItems cpu, cuda;
};

/// Sizes of an image that is resampled.
struct ImageSizes {
  double voxels = 0, components = 1;
  double resultBytes = sizeof(float);                // a component of a result's voxel
  double uploadedBytes = sizeof(float) * components; // a voxel with all its components
};

/// Adds images that are looked up in the same way, by an interpolator of this Interpolator::order; on the
/// CPU, `imagesAtOnce` of them share T(x). The work for voxels that are not finite or outside the images is
/// not counted.
template <int D>
void addImages(DeviceWork&, const TransformChain<D>&, const ImageGeometry<D>& lattice, int order,
               const std::vector<ImageSizes>&, std::size_t imagesAtOnce);

/// Adds a field of `components` floats a voxel: displacements (D), determinants (1) or matrices (D * D) of a
/// B-spline along the lattice's axes, of a WholeField or of an inverse.
template <int D>
void addField(DeviceWork&, const TransformChain<D>&, const ImageGeometry<D>& lattice, std::size_t components);

/// Predicted seconds, with the start of the process and of the device.
double cpuSeconds(const Calibration&, int dimension, const DeviceWork&, int threads);
double cudaSeconds(const Calibration&, int dimension, const DeviceWork&, int threads);

}
