#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/LaunchShape.cuh"
#include "Core/Image/Filters/LineFilterKernels.cuh"

#include <algorithm>
#include <cmath>
#include <string>

namespace tessera {
namespace {

using namespace linefilter;

constexpr int lanesAcross = 16; // neighbouring lines of a block: 64 bytes
constexpr int usualThreads = 256;

ComplexFloat toNumber(std::complex<double> z, ComplexFloat)
{
  return {static_cast<float>(z.real()), static_cast<float>(z.imag())};
}
float toNumber(std::complex<double> z, float)
{
  return static_cast<float>(z.real());
}

/// pole^exponent, also for the pole 0 of very small sigmas.
std::complex<double> power(std::complex<double> p, int exponent)
{
  std::complex<double> product = 1;
  for (int i = 0; i < exponent; ++i)
    product *= p;
  return product;
}

template <class F>
F filterOf(const ExponentialFilter& terms)
{
  using Number = typename F::Pole;
  const auto number = [](std::complex<double> z) { return toNumber(z, Number{}); };
  F filter;
  for (int t = 0; t < F::count; ++t) {
    const std::complex<double> p = terms[t].pole;
    filter.pole[t] = number(p);
    filter.amplitude[t] = number(terms[t].amplitude);
    filter.amplitudeAhead[t] = number(terms[t].amplitude * p);
    filter.ofConstant[t] = number(1.0 / (1.0 - p));
    filter.segmentPower[t] = number(power(p, segmentLength));
    for (int k = 0; k < segmentLength / 2; ++k) {
      const std::complex<double> near = power(p, k), far = power(p, segmentLength - 1 - k);
      filter.evenWeight[t][k] = number(0.5 * (near + far));
      filter.oddWeight[t][k] = number(0.5 * (near - far));
    }
  }
  return filter;
}

/// The number of segments after which a pole's power is below 1e-9, which single precision cannot add to 1.
int reachOf(const ExponentialFilter& terms)
{
  double slowest = 0;
  for (const ExponentialTerm& term : terms)
    slowest = std::max(slowest, std::abs(term.pole));
  const double segments = slowest > 0 ? std::ceil(std::log(1e-9) / (segmentLength * std::log(slowest))) : 1;
  return static_cast<int>(std::clamp(segments, 1.0, 1e6));
}

/// The number of threads of a block with so much shared memory for each.
int threadsThatFit(std::size_t bytesAThread)
{
  int device = 0, bytes = 0;
  checkCuda(cudaGetDevice(&device), "asking for the device");
  checkCuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
            "asking for shared memory");
  return std::min(maxThreads, static_cast<int>(bytes / bytesAThread));
}

template <class F>
class Launch {
public:
  Launch(const ExponentialFilter& terms, const LinesOnCuda& lines, const KeptPlaces* kept, const float* in,
         float* out)
      : filter_(filterOf<F>(terms)), alongRows_(!lines.sideBySide), maxThreads_(threadsThatFit(bytesAThread))
  {
    const int leastLanes = alongRows_ ? 1 : lanesAcross, reach = reachOf(terms),
              warm = F::mirrors ? reach : 0;
    const int maxSegments = maxThreads_ / leastLanes - 2 * warm;
    const std::size_t all = ceilDiv<std::size_t>(lines.length, segmentLength);
    const int written = static_cast<int>(std::min<std::size_t>(all, maxSegments));
    work_.in = in;
    work_.out = out;
    work_.lineCount = static_cast<unsigned>(lines.lineCount());
    work_.stride = static_cast<unsigned>(lines.stride);
    work_.length = static_cast<int>(lines.length);
    work_.segments = written + 2 * warm;
    work_.reach = reach;
    work_.warmPlaces = warm * segmentLength;
    work_.placesPerChunk = written * segmentLength;
    work_.chunkStates = nullptr;
    work_.chunks = static_cast<unsigned>(ceilDiv<std::size_t>(all, written));
    setLanes(wantedThreads());
    if (kept)
      keep(*kept);
  }

  bool isOneChunk() const { return work_.chunks == 1; }

  RowsLaunch alongRows() const
  {
    const int threads = work_.lanes * work_.segments;
    return {shapeOf(threads <= threadsOfTwoBlocks ? filterLines<F, true, Output::all, 0, threadsOfTwoBlocks>
                                                  : filterLines<F, true, Output::all, 0>,
                    std::ceil(1.0 * work_.lineCount / work_.lanes), threads, threads * bytesAThread),
            work_.segments, work_.reach};
  }

  void run(Context& context, Output output)
  {
    Buffer<typename F::State> states;
    if constexpr (!F::mirrors)
      if (!isOneChunk()) {
        states = Buffer<typename F::State>(context, std::size_t{2} * work_.chunks * work_.lineCount);
        work_.chunkStates = states.span().data();
        launch<Output::chunkStates>(context);
        join(context);
      }
    if constexpr (!F::mirrors)
      if (output == Output::kept)
        return pairStep_ == 2   ? launch<Output::kept, 2>(context)
               : pairStep_ == 4 ? launch<Output::kept, 4>(context)
               : pairStep_ == 8 ? launch<Output::kept, 8>(context)
                                : launch<Output::kept>(context);
    launch<Output::all>(context);
  }

private:
  /// Gives a block as many lines as so many threads can work on.
  void setLanes(int threads)
  {
    const int leastLanes = alongRows_ ? 1 : lanesAcross;
    work_.lanes = leastLanes * std::max(1, std::min(threads, maxThreads_) / (leastLanes * work_.segments));
  }

  int wantedThreads() const
  {
    if (!F::mirrors || F::count != 1 || !alongRows_ || !isOneChunk())
      return BlockThreads::orUsual(usualThreads);
    int device = 0;
    checkCuda(cudaGetDevice(&device), "asking for the device");
    return blockThreads(device, "prefilter", std::size_t{work_.lineCount} * work_.length, 128);
  }

  static constexpr std::size_t bytesAThread =
      2 * sizeof(typename F::State) + (segmentLength + 1) * sizeof(float);

  /// Sets up the kept values. Every second, fourth or eighth place lies in the middle of a part of a segment:
  /// two neighbours, one of which may have the weight 0.
  void keep(const KeptPlaces& kept)
  {
    work_.kept = kept;
    const std::size_t middle = kept.step / 2;
    const bool isSecond = kept.first == middle && kept.weights[1] == 0;
    const bool isPair = (kept.step == 2 || kept.step == 4 || kept.step == 8)
                        && (isSecond || kept.first + 1 == middle)
                        && middle + kept.step * (kept.count - 1) < static_cast<std::size_t>(work_.length);
    if (!isPair)
      return;
    pairStep_ = static_cast<int>(kept.step);
    if (isSecond)
      work_.kept.weights = {0, kept.weights[0]};
  }

  template <Output output, int pairStep = 0>
  void launch(const Context& context)
  {
    if constexpr (F::mirrors)
      if (work_.lanes * work_.segments <= threadsOfTwoBlocks)
        return launchKernel(context, alongRows_
                                         ? filterLines<F, true, output, pairStep, threadsOfTwoBlocks>
                                         : filterLines<F, false, output, pairStep, threadsOfTwoBlocks>);
    launchKernel(context, alongRows_ ? filterLines<F, true, output, pairStep>
                                     : filterLines<F, false, output, pairStep>);
  }

  void launchKernel(const Context& context, void (*kernel)(const F, const Work))
  {
    const dim3 blocks(ceilDiv<unsigned>(work_.lineCount, work_.lanes), work_.chunks);
    const unsigned threads = work_.lanes * work_.segments;
    const std::size_t sharedBytes = threads * bytesAThread;
    const cudaStream_t stream = cudaStreamOf(context);
    checkCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(sharedBytes)),
              "asking for shared memory");
    kernel<<<blocks, threads, sharedBytes, stream>>>(filter_, work_);
    checkLaunch("filtering lines");
  }

  void join(const Context& context)
  {
    typename F::State chunkPower;
    for (int t = 0; t < F::count; ++t) {
      const std::complex<double> p{filter_.pole[t].re, filter_.pole[t].im};
      chunkPower.of[t] = toNumber(power(p, work_.placesPerChunk), ComplexFloat{});
    }
    constexpr unsigned threads = 128;
    joinChunks<F><<<ceilDiv(work_.lineCount, threads), threads, 0, cudaStreamOf(context)>>>(filter_, work_,
                                                                                            chunkPower);
    checkLaunch("joining chunks of lines");
  }

  F filter_;
  bool alongRows_;
  int maxThreads_, pairStep_ = 0;
  Work work_{};
};

AxisTaps tapsOf(const KeptPlaces& kept)
{
  return {{kept.weights.begin(), kept.weights.end()},
          static_cast<std::ptrdiff_t>(kept.first),
          kept.step,
          kept.count};
}

template <class F>
void filterAs(Context& context, const ExponentialFilter& terms, const LinesOnCuda& lines,
              const KeptPlaces* kept, const float* in, float* out)
{
  cudaStreamOf(context); // selects the device whose shared memory Launch asks for
  Launch<F> launch(terms, lines, kept, in, out);
  const std::size_t count = lines.lineCount() * lines.length;
  if (kept && !launch.isOneChunk()) { // a kept value may need elements of two chunks
    Buffer<float> whole(context, count);
    Launch<F>(terms, lines, nullptr, in, whole.span().data()).run(context, Output::all);
    tapLinesOnCuda(context, lines, tapsOf(*kept), whole.span().data(), out);
  } else if (F::mirrors && in == out
             && !launch.isOneChunk()) { // a chunk reads elements that its neighbours write
    Buffer<float> before(context, count);
    context.stream->copyOnDevice(before.span().data(), in, count * sizeof(float));
    Launch<F>(terms, lines, nullptr, before.span().data(), out).run(context, Output::all);
  } else {
    launch.run(context, kept ? Output::kept : Output::all);
  }
}

void filterLines(Context& context, const ExponentialFilter& terms, LineEnds ends, const LinesOnCuda& lines,
                 const KeptPlaces* kept, const float* in, float* out)
{
  requireManageable(lines);
  if (lines.lineCount() == 0 || lines.length == 0)
    return;
  if (ends == LineEnds::constant && terms.size() == 2)
    filterAs<Filter<ComplexFloat, 2>>(context, terms, lines, kept, in, out);
  else if (ends == LineEnds::mirrored && terms.size() == 1 && !kept)
    filterAs<Filter<float, 1>>(context, terms, lines, kept, in, out);
  else if (ends == LineEnds::mirrored && terms.size() == 2 && !kept)
    filterAs<Filter<float, 2>>(context, terms, lines, kept, in, out);
  else
    throw Error(ExitCode::device,
                "line filter on CUDA: " + std::to_string(terms.size())
                    + " terms: there is no kernel for them. Allowed: two with constant ends, or one or two "
                      "with mirrored ends of which all values are kept.");
}

}

RowsLaunch filterRowsLaunch(const Context& context, const ExponentialFilter& terms, const LinesOnCuda& lines)
{
  cudaStreamOf(context); // selects the device whose shared memory Launch asks for
  return Launch<Filter<float, 1>>(terms, lines, nullptr, nullptr, nullptr).alongRows();
}

void filterLinesOnCuda(Context& context, const ExponentialFilter& terms, LineEnds ends,
                       const LinesOnCuda& lines, const float* in, float* out)
{
  filterLines(context, terms, ends, lines, nullptr, in, out);
}

void filterLinesOnCuda(Context& context, const ExponentialFilter& terms, LineEnds ends,
                       const LinesOnCuda& lines, const KeptPlaces& kept, const float* in, float* out)
{
  filterLines(context, terms, ends, lines, &kept, in, out);
}

}
