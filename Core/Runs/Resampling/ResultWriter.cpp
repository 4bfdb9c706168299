#include "Core/Runs/Resampling/ResultWriter.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

std::unique_ptr<std::byte[]> interleaved(const ComponentPixels& components, std::size_t voxels,
                                         PixelType type, int threads)
{
  const std::size_t count = components.size();
  auto pixels = std::make_unique_for_overwrite<std::byte[]>(voxels * count * pixelTypeSize(type));
  withPixelType(type, [&]<class T>(std::type_identity<T>) {
    T* const out = reinterpret_cast<T*>(pixels.get());
    forEachRange(Context{{}, threads}, voxels, voxelsAChunk, [&](std::size_t first, std::size_t last) {
      for (std::size_t c = 0; c < count; ++c) {
        const T* const in = reinterpret_cast<const T*>(components[c].get());
        for (std::size_t i = first; i < last; ++i)
          out[i * count + c] = in[i];
      }
    });
  });
  return pixels;
}

}

std::string slabsText(std::size_t slices, std::size_t slicesAtOnce)
{
  return std::to_string((slices + slicesAtOnce - 1) / slicesAtOnce) + " slabs of "
         + std::to_string(slicesAtOnce) + " slices";
}

template <int D>
PixelType ResultWriter<D>::resampledType(const std::optional<LabelTable>& labels, bool isLabels,
                                         PixelType imageType)
{
  if (labels && labels->isNumbered())
    return PixelType::float32;
  return isLabels ? labels->type() : imageType;
}

template <int D>
ResultWriter<D>::ResultWriter(const ImageBatch<D>& batch, const ImageTask& task,
                              const std::optional<LabelTable>& labels, std::size_t components, int threads)
    : batch_(batch), labels_(labels), isLabels_(task.isLabels),
      type_(isLabels_ ? labels_->type() : batch.typeOf(task)), threads_(threads),
      stream_(batch.results.open(task, {batch.output, type_, static_cast<int>(components)}, threads))
{
}

template <int D>
void ResultWriter<D>::write(ComponentPixels& components, std::size_t voxels)
{
  const std::size_t bytes = voxels * components.size() * pixelTypeSize(type_);
  std::unique_ptr<std::byte[]> pixels = components.size() == 1
                                            ? std::move(components.front())
                                            : interleaved(components, voxels, type_, threads_);
  components.clear();
  if (labels_ && labels_->isNumbered()) {
    auto stored = std::make_unique_for_overwrite<std::byte[]>(bytes);
    clamped_ += labels_->decode({reinterpret_cast<const float*>(pixels.get()), voxels}, stored.get(),
                                threads_, type_);
    pixels = std::move(stored);
  }
  stream_->write(std::move(pixels), bytes);
}

template <int D>
void ResultWriter<D>::writeSlabs(std::span<const ResampleSource<D>> components, std::size_t slicesAtOnce,
                                 const std::function<void(const SliceRange& slab)>& prepare)
{
  const std::size_t slices = batch_.lattice.size[D - 1], voxelsOfSlice = batch_.lattice.voxelCount() / slices;
  const std::vector<PixelType> types(components.size(), resampledType(labels_, isLabels_, type_));
  std::vector<std::size_t> clamped;
  for (std::size_t first = 0; first < slices; first += slicesAtOnce) {
    const SliceRange slab{first, std::min(slicesAtOnce, slices - first)};
    prepare(slab);
    ComponentPixels pixels = batch_.resampler.resamplePixels(batch_.context, batch_.chain, components,
                                                             batch_.lattice, types, slab, &clamped);
    clamped_ += isLabels_ ? 0 : std::reduce(clamped.begin(), clamped.end());
    write(pixels, voxelsOfSlice * slab.count);
  }
}

TESSERA_INSTANTIATE_CLASS_TO_4(ResultWriter);

}
