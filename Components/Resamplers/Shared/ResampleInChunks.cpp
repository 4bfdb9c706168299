#include "Components/Resamplers/Shared/ResampleInChunks.h"

#include "Components/Resamplers/Shared/InputSlices.h"
#include "Core/Compute/Cuda/Marks.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Image/Slices/ImageSlices.h"
#include "Core/Image/Voxels/PixelRounding.h"

#include <algorithm>
#include <optional>

namespace tessera {
namespace {

/// The moving image for kernels that compute a result slice by slice. The device holds all of the image, or
/// only the slices that are needed next.
template <int D>
class SlicesOnCuda {
public:
  SlicesOnCuda(const MovingToResample<D>& moving, const TransformChain<D>& chain,
               const ImageGeometry<D>& output)
      : moving_(moving)
  {
    if (moving.inSlices)
      asked_.emplace(chain, moving.inSlices->geometry(), output);
  }

  /// The largest number of output slices, at most `maxSlices`, whose input slices fit on the device together.
  std::size_t outputSlices(std::size_t maxSlices) const
  {
    if (asked_)
      while (maxSlices > 1 && asked_->maxAskedBy(maxSlices) > moving_.inSlices->maxSlices())
        --maxSlices;
    return maxSlices;
  }
  /// Enqueues the copies of the input slices that these output slices need, and returns the image with them.
  const MovingToResample<D>& preparedFor(Context& context, const SliceRange& ofOutput)
  {
    if (!asked_)
      return moving_;
    const SliceRange asked = asked_->askedBy(ofOutput);
    moving_.image.coefficients = moving_.inSlices->moveTo(context, asked.first, asked.count);
    return moving_;
  }

private:
  MovingToResample<D> moving_;
  std::optional<InputSlices<D>> asked_; // empty: the device holds all of the image
};

// Bytes of a chunk: a long one keeps the whole device busy, a short one needs little memory.
constexpr std::size_t shortChunk = std::size_t(8) << 20, longChunk = std::size_t(32) << 20;

/// The number of slices in a chunk whose floats and pixels have at most `bytesOfChunk` bytes each; at least
/// one.
template <int D>
std::size_t slicesOfChunk(const ImageGeometry<D>& output, std::size_t bytesOfPixel, std::size_t bytesOfChunk)
{
  const std::size_t slices = bytesOfChunk / (voxelsOfSlice(output) * std::max(bytesOfPixel, sizeof(float)));
  return std::clamp(slices, std::size_t(1), std::min(maxSlicesOfLaunch, output.size[D - 1]));
}

/// Two chunks in turn: floats that are copied as they are, or that are rounded to pixels of another type.
class ChunksOnCuda {
public:
  static constexpr int count = 2;

  ChunksOnCuda(Context& context, std::size_t maxVoxels, std::size_t images)
      : context_(context), maxVoxels_(maxVoxels), clamped_(context, images)
  {
  }

  /// Takes the memory for the first so many chunks of this type.
  void reserve(PixelType type, std::size_t chunks)
  {
    const MemoryPart part(context_, "chunks of the result");
    for (int turn = 0; turn < count && static_cast<std::size_t>(turn) < chunks; ++turn) {
      pixels(turn, type);
      values(turn, type);
    }
  }
  /// The array for the floats of the next chunk.
  float* values(int turn, PixelType type)
  {
    return type == PixelType::float32 ? reinterpret_cast<float*>(pixels(turn, type))
                                      : grown(context_, values_, maxVoxels_);
  }
  /// To be called before the first rounding.
  void countFromZero() { clamped_.fromHost(context_, std::vector<unsigned long long>(clamped_.size())); }
  /// The numbers of values of each image that were clamped. Waits for the device.
  std::vector<unsigned long long> clamped() const { return clamped_.toHost(context_); }
  /// Enqueues the rounding of those floats, and returns the array to copy.
  const std::byte* rounded(int turn, PixelType type, std::size_t count, std::size_t image)
  {
    std::byte* const out = pixels(turn, type);
    if (type != PixelType::float32)
      toPixelsOnCuda(context_, values_.span().data(), count, type, out, clamped_.span().data() + image);
    return out;
  }

private:
  std::byte* pixels(int turn, PixelType type)
  {
    return grown(context_, pixels_[turn], maxVoxels_ * pixelTypeSize(type));
  }

  Context& context_;
  std::size_t maxVoxels_;
  Buffer<float> values_;
  Buffer<std::byte> pixels_[count];
  Buffer<unsigned long long> clamped_;
};

/// Copies chunks to the host in pieces while kernels compute the next chunk.
class ChunkCopies {
public:
  explicit ChunkCopies(const Context& context) : copies_(context) {}

  /// Waits for the chunk before, then enqueues the first pieces of a chunk behind the kernels in the stream.
  /// Must follow drain().
  void start(std::byte* host, const std::byte* device, std::size_t bytes)
  {
    finishPieces();
    host_ = host;
    device_ = device;
    left_ = bytes;
    for (int piece = 0; piece < CopiesToHost::pieces && left_ > 0; ++piece)
      begin(piece, CopiesToHost::After::allGiven);
  }
  /// Enqueues the last pieces of the chunk; they do not wait for kernels that were enqueued after start().
  void drain()
  {
    for (int piece = 0; left_ > 0; piece = (piece + 1) % CopiesToHost::pieces) {
      copies_.finish(piece);
      begin(piece, CopiesToHost::After::itsLast);
    }
  }
  void finish()
  {
    drain();
    finishPieces();
  }

private:
  void begin(int piece, CopiesToHost::After after)
  {
    const std::size_t bytes = std::min(left_, CopiesToHost::usualBytes);
    copies_.begin(piece, host_, device_, bytes, after);
    host_ += bytes;
    device_ += bytes;
    left_ -= bytes;
  }
  void finishPieces()
  {
    for (int piece = 0; piece < CopiesToHost::pieces; ++piece)
      copies_.finish(piece);
  }

  CopiesToHost copies_;
  std::byte* host_ = nullptr;
  const std::byte* device_ = nullptr;
  std::size_t left_ = 0; // bytes
};

/// Takes all arrays on a device for a result of `slicesOfResult` slices that is computed `slices` at a time.
template <int D>
ChunksOnCuda takeChunks(Context& context, ResamplingOnCuda<D>& resampling,
                        std::span<const MovingToResample<D>> images, std::span<const PixelsOut> results,
                        std::size_t sliceVoxels, std::size_t slicesOfResult, std::size_t slices)
{
  ChunksOnCuda chunks(context, slices * sliceVoxels, images.size());
  const std::size_t count = images.size() * ((slicesOfResult + slices - 1) / slices);
  for (std::size_t i = 0; i < images.size(); ++i) {
    resampling.reserve(context, images[i], slices);
    chunks.reserve(results[i].type, count);
  }
  return chunks;
}

}

template <int D>
void resampleInChunks(Context& context, const TransformChain<D>& chain,
                      std::span<const MovingToResample<D>> images, const ImageGeometry<D>& output,
                      const SliceRange& slices, std::span<const PixelsOut> results)
{
  const std::size_t first = std::min(slices.first, output.size[D - 1]);
  const std::size_t end = first + std::min(slices.count, output.size[D - 1] - first);
  const std::size_t sliceVoxels = voxelsOfSlice(output);
  if (first == end || sliceVoxels == 0 || images.empty())
    return;
  std::size_t bytesOfPixel = 1;
  for (const PixelsOut& out : results)
    bytesOfPixel = std::max(bytesOfPixel, pixelTypeSize(out.type));
  const auto chunkOf = [&](std::size_t bytes) {
    return std::min(slicesOfChunk<D>(output, bytesOfPixel, bytes), end - first);
  };
  ResamplingOnCuda<D> resampling(context, chain, output);
  const auto take = [&](Context& on, ResamplingOnCuda<D>& by, std::size_t slicesAtOnce) {
    return takeChunks<D>(on, by, images, results, sliceVoxels, end - first, slicesAtOnce);
  };
  const auto fit = [&](std::size_t slicesAtOnce) {
    constexpr double plenty = 1 << 30; // bytes: more than the arrays of any chain need for a chunk
    const double usable = usableDeviceMemory(context);
    if (usable >= plenty)
      return true;
    MemoryCount count;
    ResamplingOnCuda<D> counted(count.context(), chain, output);
    take(count.context(), counted, slicesAtOnce);
    return count.peak().bytes() <= usable;
  };
  const bool inSlices =
      std::any_of(images.begin(), images.end(), [](const auto& image) { return image.inSlices != nullptr; });
  std::size_t chunkSlices = chunkOf(shortChunk);
  if (const std::size_t more = chunkOf(longChunk);
      !inSlices && more > chunkSlices && !onlyCountsMemory(context) && fit(more))
    chunkSlices = more;
  std::vector<SlicesOnCuda<D>> inputs;
  for (const MovingToResample<D>& image : images)
    chunkSlices = inputs.emplace_back(image, chain, output).outputSlices(chunkSlices);
  ChunksOnCuda chunks = take(context, resampling, chunkSlices);
  if (onlyCountsMemory(context))
    return;
  chunks.countFromZero();
  ChunkCopies copies(context);
  int turn = 0;
  for (std::size_t slice = first; slice < end; slice += chunkSlices)
    for (std::size_t i = 0; i < images.size(); ++i) {
      const PixelsOut& out = results[i];
      const std::size_t count = std::min(chunkSlices, end - slice), voxels = count * sliceVoxels;
      const MovingToResample<D>& input = inputs[i].preparedFor(context, {slice, count});
      std::byte* const to = out.at((slice - first) * sliceVoxels);
      markPart(context, nullptr);
      resampling.resample(context, input, slice, count, chunks.values(turn, out.type));
      markPart(context, "kernels");
      const std::byte* const pixels = chunks.rounded(turn, out.type, voxels, i);
      markPart(context, "cast");
      copies.drain();
      copies.start(to, pixels, voxels * pixelTypeSize(out.type));
      turn = (turn + 1) % ChunksOnCuda::count;
    }
  copies.finish();
  if (std::ranges::none_of(results, [](const PixelsOut& out) { return out.clamped != nullptr; }))
    return;
  const std::vector<unsigned long long> clamped = chunks.clamped();
  for (std::size_t i = 0; i < images.size(); ++i)
    *results[i].clamped += clamped[i];
}

TESSERA_INSTANTIATE_FUNCTIONS(resampleInChunks<D>);

}
