#include "Core/Image/Landmarks/KeypointsOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Image/Landmarks/FoerstnerFormula.h"

namespace tessera {
namespace {

constexpr int keypointThreads = 256;

struct Products {
  const float* values[6];
};

__global__ void __launch_bounds__(keypointThreads)
    productsOf(const int3 size, const float* image, const int i, const int j, float* products)
{
  const std::size_t voxel = static_cast<std::size_t>(blockIdx.x) * keypointThreads + threadIdx.x;
  const int place[3]{static_cast<int>(voxel % size.x), static_cast<int>(voxel / size.x % size.y),
                     static_cast<int>(voxel / size.x / size.y)};
  if (place[2] >= size.z)
    return;
  const std::size_t strides[3]{1, static_cast<std::size_t>(size.x),
                               static_cast<std::size_t>(size.x) * size.y};
  const int extent[3]{size.x, size.y, size.z};
  float derivatives[3];
#pragma unroll
  for (int axis = 0; axis < 3; ++axis)
    derivatives[axis] = foerstner::derivative([&](int step) {
      const int there = min(max(place[axis] + step, 0), extent[axis] - 1);
      return __ldg(image + voxel + strides[axis] * there - strides[axis] * place[axis]);
    });
  const float a = i == 0   ? derivatives[0]
                  : i == 1 ? derivatives[1]
                           : derivatives[2],
              b = j == 0   ? derivatives[0]
                  : j == 1 ? derivatives[1]
                           : derivatives[2];
  products[voxel] = a * b;
}

__global__ void __launch_bounds__(keypointThreads)
    valuesOf(const std::size_t voxels, const Products products, float* values)
{
  const std::size_t v = static_cast<std::size_t>(blockIdx.x) * keypointThreads + threadIdx.x;
  if (v < voxels)
    values[v] =
        foerstner::distinctiveness(products.values[0][v], products.values[1][v], products.values[2][v],
                                   products.values[3][v], products.values[4][v], products.values[5][v]);
}

__global__ void __launch_bounds__(keypointThreads)
    largestInCubes(const int3 size, const float* values, const std::uint8_t* mask, const float least,
                   const int radius, std::uint32_t* found, std::uint32_t* count)
{
  const std::size_t voxel = static_cast<std::size_t>(blockIdx.x) * keypointThreads + threadIdx.x;
  const Size<3> extent{static_cast<std::size_t>(size.x), static_cast<std::size_t>(size.y),
                       static_cast<std::size_t>(size.z)};
  const std::array<int, 3> place{static_cast<int>(voxel % size.x), static_cast<int>(voxel / size.x % size.y),
                                 static_cast<int>(voxel / size.x / size.y)};
  if (place[2] < size.z && foerstner::isKeypoint(extent, place, radius, values, mask, least))
    found[atomicAdd(count, 1u)] = static_cast<std::uint32_t>(voxel);
}

int3 extentOf(const Size<3>& size)
{
  return {static_cast<int>(size[0]), static_cast<int>(size[1]), static_cast<int>(size[2])};
}

}

void gradientProductsOnCuda(const Context& context, const Size<3>& size, const float* image, int i, int j,
                            float* products)
{
  const std::size_t voxels = size[0] * size[1] * size[2];
  productsOf<<<static_cast<unsigned>(ceilDiv(voxels, std::size_t{keypointThreads})), keypointThreads, 0,
               cudaStreamOf(context)>>>(extentOf(size), image, i, j, products);
  checkLaunch("products of gradients");
}

void distinctivenessOnCuda(const Context& context, std::size_t voxels, const float* const (&products)[6],
                           float* values)
{
  Products six;
  for (int i = 0; i < 6; ++i)
    six.values[i] = products[i];
  valuesOf<<<static_cast<unsigned>(ceilDiv(voxels, std::size_t{keypointThreads})), keypointThreads, 0,
             cudaStreamOf(context)>>>(voxels, six, values);
  checkLaunch("distinctiveness of keypoints");
}

void largestInCubesOnCuda(const Context& context, const Size<3>& size, const float* values,
                          const std::uint8_t* mask, float least, int radius, std::uint32_t* found,
                          std::uint32_t* count)
{
  const std::size_t voxels = size[0] * size[1] * size[2];
  largestInCubes<<<static_cast<unsigned>(ceilDiv(voxels, std::size_t{keypointThreads})), keypointThreads, 0,
                   cudaStreamOf(context)>>>(extentOf(size), values, mask, least, radius, found, count);
  checkLaunch("keypoints");
}

}
