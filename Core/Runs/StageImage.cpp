#include "Core/Runs/StageImage.h"

#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Reporter.h"
#include "Core/Registration/Stage/ResamplingMemory.h"

#include <atomic>
#include <chrono>

namespace tessera {

template <int D>
Context StageImage<D>::contextFor(const Context& ofStage, const TransformChain<D>& chain, Log& log) const
{
  if (!ofStage.onCuda())
    return ofStage;
  const std::string why = interpolator.onCuda() ? whyNotResampledOnCuda<D>(chain)
                                                : "the interpolator \"" + interpolatorName + "\"";
  if (!why.empty()) {
    log.note("result image: " + why + " has no CUDA form: it is made on the CPU.");
    return ofStage.onCpu();
  }
  Interpolator<D>* const used = &interpolator;
  const DeviceMemory needed = memoryOfResampling<D>(
      resampler, chain,
      {{&used, 1}, moving->geometry, valid != nullptr, false, resampler.resultImage().pixelType}, fixed);
  const double usable = usableDeviceMemory(ofStage);
  if (needed.bytes() <= usable)
    return ofStage;
  log.note("result image: it needs " + memoryText(needed.bytes()) + " of " + deviceName(ofStage.device) + " ("
           + needed.text() + "), which has " + memoryText(usable) + " left: it is made on the CPU.");
  return ofStage.onCpu();
}

template <int D>
ResultImage<D> StageImage<D>::resampled(const Context& ofStage, const TransformChain<D>& chain, Log& log,
                                        bool mayStayOnCuda) const
{
  const auto start = std::chrono::steady_clock::now();
  Context context = contextFor(ofStage, chain, log);
  if (!context.onCuda())
    hostVoxels<D>(moving);
  interpolator.prepareForLevel(context, moving, 0);
  const double prepared = secondsSince(start);
  const PixelType type = resampler.resultImage().pixelType;
  const ResampleSource<D> source{&interpolator, valid};
  ResultImage<D> result{fixed, type};
  if (mayStayOnCuda && context.onCuda()
      && isSmallOnDevice(context, static_cast<double>(result.byteCount()))) {
    const auto there =
        std::make_shared<PixelsOnCuda>(context, Buffer<std::byte>(context, result.byteCount()));
    std::atomic<std::size_t> clamped = 0;
    PixelsOut out(there->pixels.span().data(), type);
    out.clamped = &clamped;
    resampler.resampleInto(context, chain, std::span(&source, 1), fixed, {}, std::span(&out, 1));
    result.clamped = clamped;
    result.onCuda = there;
  } else {
    std::vector<std::size_t> clamped;
    result.pixels = std::move(
        resampler
            .resamplePixels(context, chain, std::span(&source, 1), fixed, std::span(&type, 1), {}, &clamped)
            .front());
    result.clamped = clamped.front();
  }
  interpolator.endLevel();
  log.detail("  Resampling without reading and writing took " + decimals(secondsSince(start), 3) + " s on "
             + deviceName(context.device) + ", of which preparing the interpolator " + decimals(prepared, 3)
             + " s.");
  result.geometry.direction = fixedDirection;
  return result;
}

TESSERA_INSTANTIATE_CLASS_TO_4(StageImage);

}
