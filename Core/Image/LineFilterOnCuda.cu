#include "Core/Image/LineFilterKernels.cuh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace tessera {
namespace {

using namespace linefilter;

constexpr int lanesAcross = 16; // 64 bytes of neighbouring lines
constexpr int usualThreads = 256;

ComplexFloat toNumber(std::complex<double> z, ComplexFloat)
{
  return {static_cast<float>(z.real()), static_cast<float>(z.imag())};
}
float toNumber(std::complex<double> z, float)
{
  return static_cast<float>(z.real());
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
    filter.segmentPower[t] = number(std::pow(p, segmentLength));
    for (int k = 0; k < segmentLength; ++k)
      filter.power[t][k] = number(std::pow(p, k));
  }
  return filter;
}

/// Segments behind which a pole's power is below 1e-9, nothing beside 1 in single precision.
int reachOf(const ExponentialFilter& terms)
{
  double slowest = 0;
  for (const ExponentialTerm& term : terms)
    slowest = std::max(slowest, std::abs(term.pole));
  const double segments = slowest > 0 ? std::ceil(std::log(1e-9) / (segmentLength * std::log(slowest))) : 1;
  return static_cast<int>(std::clamp(segments, 1.0, 1e6));
}

/// Threads of a block that has so much shared memory a thread.
int threadsThatFit(std::size_t bytesAThread)
{
  int device = 0, bytes = 0;
  checkCuda(cudaGetDevice(&device), "asking for the device");
  checkCuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "asking for shared memory");
  return std::min(mostThreads, static_cast<int>(bytes / bytesAThread));
}

template <class F>
class Launch {
public:
  Launch(const ExponentialFilter& terms, const LinesOnCuda& lines, const KeptPlaces* kept, const float* in, float* out)
      : filter_(filterOf<F>(terms)), alongRows_(lines.stride == 1), mostThreads_(threadsThatFit(bytesAThread))
  {
    const int leastLanes = alongRows_ ? 1 : lanesAcross, reach = reachOf(terms), warm = F::mirrors ? reach : 0;
    const int mostSegments = mostThreads_ / leastLanes - 2 * warm;
    const std::size_t all = ceilDiv<std::size_t>(lines.length, segmentLength);
    const int written = static_cast<int>(std::min<std::size_t>(all, mostSegments));
    work_.in = in;
    work_.out = out;
    work_.lineCount = static_cast<unsigned>(lines.lineCount());
    work_.stride = static_cast<unsigned>(lines.stride);
    work_.length = static_cast<int>(lines.length);
    work_.segments = written + 2 * warm;
    work_.lanes = leastLanes * std::max(1, usualThreads / (leastLanes * work_.segments));
    work_.reach = reach;
    work_.warmPlaces = warm * segmentLength;
    work_.placesPerChunk = written * segmentLength;
    work_.rowLength = Divisor(work_.segments * segmentLength);
    work_.chunkStates = nullptr;
    work_.chunks = static_cast<unsigned>(ceilDiv<std::size_t>(all, written));
    if (kept) {
      work_.kept = *kept;
      work_.keptCount = Divisor(static_cast<unsigned>(kept->count));
    }
  }

  bool isOneChunk() const { return work_.chunks == 1; }

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
        return launch<Output::kept>(context);
    launch<Output::all>(context);
  }

private:
  static constexpr std::size_t bytesAThread = 2 * sizeof(typename F::State) + (segmentLength + 1) * sizeof(float);

  template <Output output>
  void launch(const Context& context)
  {
    if (alongRows_)
      launchKernel(context, filterLines<F, true, output>);
    else
      launchKernel(context, filterLines<F, false, output>);
  }

  void launchKernel(const Context& context, void (*kernel)(const F, const Work))
  {
    const dim3 blocks(ceilDiv<unsigned>(work_.lineCount, work_.lanes), work_.chunks);
    const unsigned threads = work_.lanes * work_.segments;
    const std::size_t sharedBytes = threads * bytesAThread;
    const cudaStream_t stream = cudaStreamOf(context);
    checkCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sharedBytes)),
              "asking for shared memory");
    kernel<<<blocks, threads, sharedBytes, stream>>>(filter_, work_);
    checkLaunch("filtering lines");
  }

  void join(const Context& context)
  {
    typename F::State chunkPower;
    for (int t = 0; t < F::count; ++t) {
      const std::complex<double> p{filter_.pole[t].re, filter_.pole[t].im};
      chunkPower.of[t] = toNumber(std::pow(p, work_.placesPerChunk), ComplexFloat{});
    }
    constexpr unsigned threads = 128;
    joinChunks<F><<<ceilDiv(work_.lineCount, threads), threads, 0, cudaStreamOf(context)>>>(filter_, work_, chunkPower);
    checkLaunch("joining chunks of lines");
  }

  F filter_;
  bool alongRows_;
  int mostThreads_;
  Work work_{};
};

void requireManageable(const LinesOnCuda& lines)
{
  constexpr std::size_t most = std::numeric_limits<int>::max();
  if (lines.lineCount() > most || lines.length > most - 2 * mostThreads * segmentLength)
    throw Error(ExitCode::device, "line filter on CUDA: " + std::to_string(lines.lineCount()) + " lines of "
                                      + std::to_string(lines.length)
                                      + " values: too many at a time. Allowed: fewer than 2^31 of either.");
}

template <class F>
void filterAs(Context& context, const ExponentialFilter& terms, const LinesOnCuda& lines, const KeptPlaces* kept, const float* in,
              float* out)
{
  cudaStreamOf(context); // its device is asked for its shared memory
  Launch<F> launch(terms, lines, kept, in, out);
  const std::size_t count = lines.lineCount() * lines.length;
  if (kept && !launch.isOneChunk()) { // a kept value may need elements of two chunks
    Buffer<float> whole(context, count);
    Launch<F>(terms, lines, nullptr, in, whole.span().data()).run(context, Output::all);
    keepOnCuda(context, lines, *kept, whole.span().data(), out);
  } else if (F::mirrors && in == out && !launch.isOneChunk()) { // chunks read what their neighbours write
    Buffer<float> before(context, count);
    context.stream->copyOnDevice(before.span().data(), in, count * sizeof(float));
    Launch<F>(terms, lines, nullptr, before.span().data(), out).run(context, Output::all);
  } else {
    launch.run(context, kept ? Output::kept : Output::all);
  }
}

void filterLines(Context& context, const ExponentialFilter& terms, LineEnds ends, const LinesOnCuda& lines, const KeptPlaces* kept,
                 const float* in, float* out)
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
    throw Error(ExitCode::device, "line filter on CUDA: " + std::to_string(terms.size())
                                      + " terms: there is no kernel for them. Allowed: two with constant ends, or one or two with "
                                        "mirrored ends of which all values are kept.");
}

}

void filterLinesOnCuda(Context& context, const ExponentialFilter& terms, LineEnds ends, const LinesOnCuda& lines, const float* in,
                       float* out)
{
  filterLines(context, terms, ends, lines, nullptr, in, out);
}

void filterLinesOnCuda(Context& context, const ExponentialFilter& terms, LineEnds ends, const LinesOnCuda& lines,
                       const KeptPlaces& kept, const float* in, float* out)
{
  filterLines(context, terms, ends, lines, &kept, in, out);
}

namespace {

/// A thread a kept value of neighbouring lines; along rows of neighbouring places. Reads 4 or 8 B, writes 4 B.
__global__ void keep(const float* in, float* out, unsigned lineCount, unsigned stride, int length, KeptPlaces kept)
{
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const std::size_t count = kept.count;
  if (thread >= lineCount * count)
    return;
  const std::size_t inner = thread % stride, row = thread / stride, i = row % count, outer = row / count;
  const float* const line = in + outer * length * stride + inner;
  const std::size_t place = kept.first + kept.step * i, last = length - 1;
  const float here = line[min(place, last) * stride];
  out[thread] = kept.weights[1] == 0 ? kept.weights[0] * here
                                     : fmaf(kept.weights[1], line[min(place + 1, last) * stride], kept.weights[0] * here);
}

}

void keepOnCuda(Context& context, const LinesOnCuda& lines, const KeptPlaces& kept, const float* in, float* out)
{
  requireManageable(lines);
  constexpr unsigned threads = 256;
  const std::size_t values = lines.lineCount() * kept.count;
  if (values == 0)
    return;
  keep<<<static_cast<unsigned>(ceilDiv<std::size_t>(values, threads)), threads, 0, cudaStreamOf(context)>>>(
      in, out, static_cast<unsigned>(lines.lineCount()), static_cast<unsigned>(lines.stride), static_cast<int>(lines.length), kept);
  checkLaunch("keeping places of lines");
}

}
