#include "Components/Resamplers/ResampleToHost.h"

#include "Core/Compute/HostCopies.h"
#include "Core/Compute/Transfers.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t mostLayers = 65535; // of a launch

template <int D>
std::size_t voxelsOfLayer(const ImageGeometry<D>& output)
{
  std::size_t voxels = 1;
  for (int d = 0; d + 1 < D; ++d)
    voxels *= output.size[d];
  return voxels;
}

template <int D>
std::size_t layersOfChunk(const ImageGeometry<D>& output)
{
  const std::size_t layers = CopiesToHost::usualBytes / (voxelsOfLayer<D>(output) * sizeof(float));
  return std::clamp(layers, std::size_t(1), std::min(mostLayers, output.size[D - 1]));
}

}

template <int D>
double chunkBytes(const ImageGeometry<D>& output)
{
  constexpr double bytesAVoxel = sizeof(float) + 1.0 / 8; // a value, and a mark
  return bytesAVoxel * static_cast<double>(CopiesToHost::pieces * layersOfChunk<D>(output) * voxelsOfLayer<D>(output));
}

template <int D>
void resampleToHost(Context& context, const TransformChain<D>& chain, std::span<const MovingToResample<D>> images,
                    const ImageGeometry<D>& output, const LayerRange& layers, std::span<float* const> values)
{
  const std::size_t first = std::min(layers.first, output.size[D - 1]);
  const std::size_t end = first + std::min(layers.count, output.size[D - 1] - first);
  const std::size_t ofLayer = voxelsOfLayer<D>(output);
  if (first == end || ofLayer == 0 || images.empty())
    return;
  const ResamplingOnCuda<D> resampling(context, chain, output);
  const std::size_t most = std::min(layersOfChunk<D>(output), end - first);
  Buffer<float> chunks[CopiesToHost::pieces];
  CopiesToHost copies(context);
  int turn = 0;
  for (std::size_t layer = first; layer < end; layer += most)
    for (std::size_t i = 0; i < images.size(); ++i) {
      const std::size_t count = std::min(most, end - layer);
      copies.finish(turn);
      float* const chunk = grown(context, chunks[turn], most * ofLayer);
      resampling.resample(context, images[i], layer, count, chunk);
      copies.begin(turn, values[i] + (layer - first) * ofLayer, chunk, count * ofLayer * sizeof(float));
      turn = (turn + 1) % CopiesToHost::pieces;
    }
  for (int piece = 0; piece < CopiesToHost::pieces; ++piece)
    copies.finish((turn + piece) % CopiesToHost::pieces);
}

template <int D>
std::vector<Phase> timeResampleToHost(Context& context, const TransformChain<D>& chain, std::span<const MovingToResample<D>> images,
                                      const ImageGeometry<D>& output, std::span<float* const> values)
{
  double all = 0;
  addMilliseconds(all, [&] { resampleToHost<D>(context, chain, images, output, {}, values); });
  const ResamplingOnCuda<D> resampling(context, chain, output);
  Buffer<float> whole(context, output.voxelCount());
  context.stream->startTimer();
  for (const MovingToResample<D>& image : images)
    for (std::size_t first = 0; first < output.size[D - 1]; first += mostLayers)
      resampling.resample(context, image, first, std::min(mostLayers, output.size[D - 1] - first),
                          whole.span().data() + first * voxelsOfLayer<D>(output));
  const double kernels = context.stream->stopTimerMilliseconds();
  return {{"kernels", kernels}, {"copies to the host", all - kernels}};
}

#define TESSERA_INSTANTIATE(D)                                                                                                     \
  template double chunkBytes<D>(const ImageGeometry<D>&);                                                                          \
  template void resampleToHost<D>(Context&, const TransformChain<D>&, std::span<const MovingToResample<D>>,                        \
                                  const ImageGeometry<D>&, const LayerRange&, std::span<float* const>);                            \
  template std::vector<Phase> timeResampleToHost<D>(Context&, const TransformChain<D>&, std::span<const MovingToResample<D>>,      \
                                                    const ImageGeometry<D>&, std::span<float* const>)
TESSERA_INSTANTIATE(2);
TESSERA_INSTANTIATE(3);
#undef TESSERA_INSTANTIATE

}
