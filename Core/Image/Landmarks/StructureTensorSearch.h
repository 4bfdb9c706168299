#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Image.h"
#include "Core/Image/Landmarks/DisplacementSearch.h"
#include "Core/Image/Landmarks/StructureTensors.h"

#include <span>
#include <string>
#include <vector>

namespace tessera {

/// An image prepared for searchStructureTensors on one device. On the CPU it takes 8 bytes a voxel, on CUDA
/// 32.
class StructureTensorImage {
public:
  StructureTensorImage(Context&, const ImagePointer<3>&);

  const Size<3>& size() const { return size_; }
  const Image<3>& smoothed() const { return smoothed_; }
  const Image<3>& mean() const { return mean_; }
  /// On CUDA: the features of a voxel and a 0.
  const float* features() const { return features_.span().data(); }

private:
  Size<3> size_;
  Image<3> smoothed_, mean_;
  Buffer<float> features_;
};

/// For each keypoint of `here` the displacement from its start in `there` to the place whose patch is the
/// nearest by spatially extended structure tensors (StructureTensors.h), refined by a parabola along each
/// axis, where `cost` is the squared distance. Border voxels continue beyond the images. Distances are in
/// single precision, with the same bits on the CPU and on CUDA for equal prepared images. Both images were
/// prepared on the context's device, which must have what whyNoTensorSearchOnCuda asks for.
std::vector<LeastCost> searchStructureTensors(const Context&, const StructureTensorImage& here,
                                              const StructureTensorImage& there,
                                              std::span<const Voxel> keypoints,
                                              std::span<const Voxel> startsThere,
                                              const structuretensors::Window&);

/// Empty if the context's CUDA device has the shared memory for the window, and the memory for images of so
/// many voxels in all; else why not.
std::string whyNoTensorSearchOnCuda(const Context&, const structuretensors::Window&, double voxels);

namespace structuretensors {

/// The distances of all candidates of one keypoint, on the CPU.
std::vector<float> distances(const StructureTensorImage& here, const StructureTensorImage& there,
                             const Voxel& keypoint, const Voxel& startThere, const Window&);

}

}
