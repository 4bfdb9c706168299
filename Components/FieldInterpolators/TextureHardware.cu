#include "Components/FieldInterpolators/Shared/FieldKernels.cuh"
#include "Components/FieldInterpolators/TextureHardware.h"

namespace tessera {
namespace {

struct FreeArray {
  void operator()(cudaArray_t array) const { cudaFreeArray(array); }
};

/// The control points in a texture, one component behind the other along the last axis. Texels of four
/// components, one of them unused, would take a third more of the filter units' time.
template <int D>
class ControlPointTexture {
public:
  ControlPointTexture(const ControlGrid& grid, cudaStream_t stream) : stream_(stream)
  {
    const std::size_t width = grid.points[0],
                      height = static_cast<std::size_t>(grid.points[1]) * (D == 2 ? D : 1),
                      depth = static_cast<std::size_t>(grid.points[2]) * D;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    checkCuda(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, D == 2 ? 0 : depth)),
              "taking a texture's memory");
    array_.reset(array);

    cudaMemcpy3DParms copy{};
    copy.srcPtr =
        make_cudaPitchedPtr(const_cast<float*>(grid.coefficients), width * sizeof(float), width, height);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(width, height, D == 2 ? 1 : depth);
    copy.kind = cudaMemcpyDeviceToDevice;
    checkCuda(cudaMemcpy3DAsync(&copy, stream), "copying control points into a texture");

    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc sampling{};
    for (cudaTextureAddressMode& mode : sampling.addressMode)
      mode = cudaAddressModeClamp;
    sampling.filterMode = cudaFilterModeLinear;
    sampling.readMode = cudaReadModeElementType;
    checkCuda(cudaCreateTextureObject(&texture_, &resource, &sampling, nullptr), "making a texture");
  }
  /// Waits for the kernels that read the texture.
  ~ControlPointTexture()
  {
    cudaStreamSynchronize(stream_);
    cudaDestroyTextureObject(texture_);
  }
  ControlPointTexture(const ControlPointTexture&) = delete;
  ControlPointTexture& operator=(const ControlPointTexture&) = delete;

  cudaTextureObject_t texture() const { return texture_; }

private:
  cudaStream_t stream_;
  std::unique_ptr<cudaArray, FreeArray> array_;
  cudaTextureObject_t texture_ = 0;
};

/// Displacement of one voxel by 2^D filtered texels for each component (eq. 1 of Zachariadis et al. 2020 as
/// linear interpolations). It reads 2^D * D filtered texels of 2^D floats and about 20 * D bytes of tables,
/// and stores 4 * D bytes a voxel. The rate of the filter units is its limit.
template <int D>
struct TextureSum {
  VoxelGrid lattice;
  cudaTextureObject_t texture;
  int componentPitch; // distance between components along the last axis, in texels
  AxisTable tables[D];
  FieldStore store;

  __device__ void operator()(int x, unsigned row) const
  {
    const std::size_t voxel = lattice.voxel(x, row);
    if (!store.wants(voxel))
      return;
    const int index[3] = {x, static_cast<int>(row % lattice.voxels[1]),
                          static_cast<int>(row / lattice.voxels[1])};
    float u[D] = {}, low[D], high[D], between[D];
    bool inside = true;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      const int start = tables[d].starts[index[d]];
      const float4 entry = tables[d].entries[index[d]];
      inside = inside && start >= 0;
      low[d] = start + 0.5f + entry.x; // the centre of a texel lies at 0.5
      high[d] = start + 2.5f + entry.y;
      between[d] = entry.z;
    }
    if (inside) {
      TESSERA_UNROLL
      for (int c = 0; c < D; ++c) {
        u[c] = interpolated(low, high, between);
        low[D - 1] += componentPitch;
        high[D - 1] += componentPitch;
      }
    }
    store.all(voxel, u);
  }

private:
  __device__ float interpolated(const float (&low)[D], const float (&high)[D],
                                const float (&between)[D]) const
  {
    if constexpr (D == 2) {
      return linear(alongX(low, high, between, low[1], 0), alongX(low, high, between, high[1], 0),
                    between[1]);
    } else {
      const float front = linear(alongX(low, high, between, low[1], low[2]),
                                 alongX(low, high, between, high[1], low[2]), between[1]);
      const float back = linear(alongX(low, high, between, low[1], high[2]),
                                alongX(low, high, between, high[1], high[2]), between[1]);
      return linear(front, back, between[2]);
    }
  }
  __device__ float alongX(const float (&low)[D], const float (&high)[D], const float (&between)[D], float y,
                          float z) const
  {
    return linear(fetch(low[0], y, z), fetch(high[0], y, z), between[0]);
  }
  __device__ float fetch(float x, float y, float z) const
  {
    if constexpr (D == 2)
      return tex2D<float>(texture, x, y);
    else
      return tex3D<float>(texture, x, y, z);
  }
};

}

template <int D>
void TextureHardware<D>::displacements(Context& context, const AlignedField<D>& field,
                                       const FieldCoefficients& coefficients, const FieldTarget& target) const
{
  const ControlGrid grid = controlGridOf(field, coefficients);
  const auto tables = AxisTables<D>::template of<LinearFractions>(context, field);
  const ControlPointTexture<D> points(grid, cudaStreamOf(context));
  TextureSum<D> work{
      voxelGridOf(field), points.texture(), grid.points[D - 1], {}, fieldStoreOf(field, target)};
  for (int d = 0; d < D; ++d)
    work.tables[d] = tables[d];
  launchForEachVoxel(context, work, "TextureHardware");
}

TESSERA_INSTANTIATE_CLASS(TextureHardware);

}
