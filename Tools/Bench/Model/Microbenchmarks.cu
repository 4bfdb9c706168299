#include "Tools/Bench/Model/Microbenchmarks.h"

#include "Core/Compute/Memory/Buffer.h"
#include "Tools/Bench/Model/GpuAttributes.h"
#include "Tools/Bench/Model/GpuRatesFile.h"
#include "Tools/Bench/Model/MicrobenchmarkKernels.cuh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace tessera {
namespace {

using namespace microbenchmark;

/// It gives the 80 % of the peak that Volkov measured where both bounds are equal.
constexpr double usualExponent = 3.1;

class Measurement {
public:
  explicit Measurement(Context& context) : context_(context), stream_(cudaStreamOf(context))
  {
    checkCuda(cudaGetDeviceProperties(&properties_, context.device.ordinal),
              "asking for a device's properties");
    cycles_ = Buffer<long long>(context, static_cast<std::size_t>(properties_.multiProcessorCount));
    const double quarter = context.stream->usableBytes() / 4;
    bytes_ = static_cast<std::size_t>(std::clamp(quarter, 32.0 * (1 << 20), 512.0 * (1 << 20))) / 4096 * 4096;
    memory_ = Buffer<char>(context, bytes_);
    other_ = Buffer<char>(context, bytes_);
    context.stream->fill(memory_.span().data(), 0, bytes_);
    context.stream->fill(other_.span().data(), 0, bytes_);
  }

  GpuRates run(std::vector<std::string>& assumed)
  {
    std::vector<std::string> ofAttributes;
    const GpuRates told = ratesByAttributes(attributesOfCudaDevice(context_.device.ordinal), ofAttributes);
    rates_ = told;
    measureClock();
    measureLatencies();
    measureRates();
    measureMemory();
    measureAtomics();
    measureLaunch();
    measureExponent();
    measureBus();
    for (const std::string& name : replaceUnusable(rates_, told))
      assumed.push_back(name
                        + ": no usable number was measured, so that of the driver or of an H100 is taken");
    return rates_;
  }

private:
  template <class Function>
  double milliseconds(Function&& work)
  {
    context_.stream->startTimer();
    work();
    return context_.stream->stopTimerMilliseconds();
  }

  /// The median over runs, the first of which does not count.
  template <class Function>
  double median(int runs, Function&& one)
  {
    one();
    std::vector<double> results;
    for (int i = 0; i < runs; ++i)
      results.push_back(one());
    std::nth_element(results.begin(), results.begin() + runs / 2, results.end());
    return results[static_cast<std::size_t>(runs / 2)];
  }

  /// Cycles that a block takes, the median over the blocks.
  template <class Work>
  double cycles(int blocks, int threads, const Work& work, std::size_t sharedBytes = 0)
  {
    timeBlocks<<<blocks, threads, sharedBytes, stream_>>>(work, 0u, cycles_.span().data());
    checkLaunch("microbenchmark");
    std::vector<long long> all = cycles_.toHost(context_);
    all.resize(static_cast<std::size_t>(blocks));
    std::nth_element(all.begin(), all.begin() + blocks / 2, all.end());
    return static_cast<double>(all[static_cast<std::size_t>(blocks / 2)]);
  }

  int multiprocessors() const { return properties_.multiProcessorCount; }

  /// The clock during arithmetic, after it had time to rise. The driver's number is a highest one, and 0 on
  /// some devices.
  void measureClock()
  {
    const auto work = [&] {
      timeBlocks<<<multiprocessors(), rateThreads, 0, stream_>>>(Fp32Rate{}, 0u, cycles_.span().data());
    };
    for (double busy = 0; busy < 150;) // milliseconds
      busy += std::max(0.01, milliseconds([&] {
                         for (int i = 0; i < 250; ++i)
                           work();
                       }));
    // The blocks of one launch take nearly as long as the launch.
    constexpr int launches = 20;
    const double ofBlock = cycles(multiprocessors(), rateThreads, Fp32Rate{}),
                 ms = median(5,
                             [&] {
                               return milliseconds([&] {
                                 for (int i = 0; i < launches; ++i)
                                   work();
                               });
                             })
                      / launches,
                 nothing = median(5,
                                  [&] {
                                    return milliseconds([&] {
                                      for (int i = 0; i < launches; ++i)
                                        doNothing<<<multiprocessors(), rateThreads, 0, stream_>>>();
                                    });
                                  })
                           / launches;
    checkLaunch("microbenchmark");
    int highestKiloHertz = 0;
    checkCuda(cudaDeviceGetAttribute(&highestKiloHertz, cudaDevAttrClockRate, context_.device.ordinal),
              "asking for a device's clock");
    const double measured = 1e-6 * ofBlock / std::max(1e-6, ms - nothing), highest = 1e-6 * highestKiloHertz;
    rates_.clockGHz = highest > 0 ? std::min(measured, highest) : measured;
  }

  void link(std::size_t bytes, std::size_t stepBytes)
  {
    linkPlaces<<<4 * multiprocessors(), 256, 0, stream_>>>(
        reinterpret_cast<std::uint64_t*>(memory_.span().data()), bytes / 8, stepBytes / 8);
    checkLaunch("microbenchmark");
  }

  /// Cycles a step through a cache that holds all places. A round through all of them, which fills the cache,
  /// is subtracted: the L1 cache is empty when a kernel begins. `bytes` is a power of two, and the step an
  /// odd number of words.
  template <Level level>
  double chaseInCache(std::size_t bytes, std::size_t stepBytes)
  {
    link(bytes, stepBytes);
    const void* const first = memory_.span().data();
    const int round = static_cast<int>(bytes / 8);
    const auto taken = [&](int steps) {
      return median(3, [&] { return cycles(1, 1, GlobalChase<level>{first, steps}); });
    };
    return (taken(round + chainLength) - taken(round)) / chainLength;
  }

  double chaseInDram()
  {
    constexpr std::size_t stepBytes = 8448;
    const int steps = static_cast<int>(std::min<std::size_t>(bytes_ / stepBytes, 8192));
    link(bytes_, stepBytes);
    return median(3,
                  [&] {
                    context_.stream->fill(other_.span().data(), 0, bytes_);
                    return cycles(1, 1, GlobalChase<Level::l2>{memory_.span().data(), steps});
                  })
           / steps;
  }

  void measureLatencies()
  {
    const auto chain = [&](auto work) { return median(3, [&] { return cycles(1, 1, work); }) / chainLength; };
    rates_.latencyFp32 = chain(Fp32Chain{});
    rates_.latencyFp64 = chain(Fp64Chain{});
    rates_.latencySpecial = chain(SpecialChain{});
    rates_.latencySpecialFp64 = chain(SpecialFp64Chain{});
    unsigned constants[64];
    for (unsigned i = 0; i < 64; ++i)
      constants[i] = 4 * ((i + 17) % 64);
    checkCuda(cudaMemcpyToSymbolAsync(linkedConstants, constants, sizeof constants, 0, cudaMemcpyHostToDevice,
                                      stream_),
              "copying constants");
    rates_.latencyConstant = chain(ConstantChase{});
    rates_.latencyShared = median(3, [&] { return cycles(1, 1, SharedChase{}, 1024); }) / chainLength;
    rates_.latencyL1 = chaseInCache<Level::l1>(4096, 264);
    rates_.latencyL2 = chaseInCache<Level::l2>(512 << 10, 1064);
    rates_.latencyDram = chaseInDram();
    rates_.latencyBarrier = median(3, [&] { return cycles(1, 256, Barriers{}); }) / Barriers::count;
  }

  template <class Work>
  double rate(const Work& work, std::size_t sharedBytes = 0)
  {
    constexpr double warps = rateThreads / 32;
    return warps * Work::instructions
           / median(3, [&] { return cycles(multiprocessors(), rateThreads, work, sharedBytes); });
  }

  void measureRates()
  {
    context_.stream->fill(memory_.span().data(), 0, bytes_);
    constexpr std::size_t words = rateThreads * sizeof(unsigned);
    rates_.fp32 = rate(Fp32Rate{});
    rates_.fp64 = rate(Fp64Rate{});
    rates_.special = rate(SpecialRate{});
    rates_.integer = rate(IntegerRate{});
    rates_.issue = std::max(rate(IssueRate{}), rates_.fp32);
    rates_.sharedWavefronts = rate(SharedRate{}, words);
    rates_.l1Wavefronts = rate(L1Rate{reinterpret_cast<const unsigned*>(memory_.span().data())});
    rates_.sharedAtomics = rate(SharedAtomicRate{}, words);
  }

  double readRate(std::size_t bytes, int rounds, int maxBlocks)
  {
    const auto* const from = reinterpret_cast<const uint4*>(memory_.span().data());
    constexpr std::size_t ofBlock = vectorThreads * vectorsAhead;
    const std::size_t vectors = std::min(std::max(bytes, ofBlock * sizeof(uint4)), bytes_) / sizeof(uint4),
                      blocks = std::min<std::size_t>(static_cast<std::size_t>(maxBlocks), vectors / ofBlock),
                      count = vectors / (blocks * ofBlock) * (blocks * ofBlock);
    const double ms = median(5, [&] {
      return milliseconds([&] {
        readVectors<<<static_cast<unsigned>(blocks), vectorThreads, 0, stream_>>>(
            from, count, rounds, reinterpret_cast<unsigned*>(cycles_.span().data()));
      });
    });
    checkLaunch("microbenchmark");
    return static_cast<double>(count) * sizeof(uint4) * rounds / (1e-3 * std::max(ms, 1e-6));
  }

  void measureMemory()
  {
    context_.stream->fill(memory_.span().data(), 0, bytes_);
    rates_.l2Bytes = readRate(static_cast<std::size_t>(properties_.l2CacheSize) / 4, 40, multiprocessors());
    rates_.l2BytesOfOne = readRate(1 << 20, 20, 1);
    rates_.dramReadBytes = readRate(bytes_, 1, 4 * multiprocessors());
    const double fillMs = median(
        5, [&] { return milliseconds([&] { context_.stream->fill(other_.span().data(), 0, bytes_); }); });
    rates_.dramWriteBytes = static_cast<double>(bytes_) / (1e-3 * std::max(fillMs, 1e-6));
    const std::size_t vectors = bytes_ / sizeof(uint4);
    const double ms = median(5, [&] {
      return milliseconds([&] {
        copyVectors<<<static_cast<unsigned>(ceilDiv<std::size_t>(vectors, 4 * vectorThreads)), vectorThreads,
                      0, stream_>>>(reinterpret_cast<const uint4*>(memory_.span().data()), vectors,
                                    reinterpret_cast<uint4*>(other_.span().data()));
      });
    });
    checkLaunch("microbenchmark");
    rates_.dramCopyBytes = 2.0 * static_cast<double>(bytes_) / (1e-3 * std::max(ms, 1e-6));
  }

  void measureAtomics()
  {
    auto* const words = reinterpret_cast<unsigned long long*>(memory_.span().data());
    constexpr unsigned count = 1 << 19; // 4 MB
    constexpr int additions = 64, threads = 256;
    const unsigned blocks = 16u * static_cast<unsigned>(multiprocessors());
    const auto perSecond = [&](unsigned ofBlocks, unsigned apart, bool meeting) {
      const double ms = median(3, [&] {
        return milliseconds(
            [&] { addToWords<<<ofBlocks, threads, 0, stream_>>>(words, count, apart, meeting, additions); });
      });
      return 1.0 * ofBlocks * threads * additions / (1e-3 * std::max(ms, 1e-6));
    };
    constexpr double wordsASector = 4;
    rates_.atomicSectors = perSecond(blocks, 4099, false);
    rates_.meetingSectors = perSecond(static_cast<unsigned>(multiprocessors()), 1, true) / wordsASector;
    checkLaunch("microbenchmark");
  }

  void measureLaunch()
  {
    // The device is busy before it, so that the host is not waited for.
    rates_.launchSeconds =
        1e-3 * median(21, [&] {
          context_.stream->fill(other_.span().data(), 0, bytes_);
          return milliseconds([&] { doNothing<<<multiprocessors(), 256, 0, stream_>>>(); });
        });
    constexpr unsigned blocks = 1 << 18;
    const double ms =
        median(5, [&] { return milliseconds([&] { doNothing<<<blocks, 32, 0, stream_>>>(); }); });
    checkLaunch("microbenchmark");
    rates_.blocksPerSecond = blocks / std::max(1e-9, 1e-3 * ms - rates_.launchSeconds);
  }

  /// The exponent by which the bounds of bandwidth and of latency are joined: that with which a kernel that
  /// reads and waits takes the times measured with 8 to 40 warps a multiprocessor. A warp alone is timed
  /// with 4.
  void measureExponent()
  {
    constexpr int threads = 128, maxBlocks = 10;
    const std::size_t words = bytes_ / sizeof(unsigned),
                      aRound = 2 * static_cast<std::size_t>(maxBlocks * threads * multiprocessors());
    const int rounds = static_cast<int>(std::clamp<std::size_t>(words / aRound, 1, 64));
    const auto seconds = [&](int blocksAMultiprocessor) {
      const std::size_t shared = (static_cast<std::size_t>(properties_.sharedMemPerMultiprocessor)
                                      / static_cast<std::size_t>(blocksAMultiprocessor)
                                  - properties_.reservedSharedMemPerBlock)
                                 & ~std::size_t{1023};
      const std::size_t most = properties_.sharedMemPerBlockOptin;
      checkCuda(cudaFuncSetAttribute(readAndWait, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(std::min(shared, most))),
                "asking for shared memory");
      const double ms = median(5, [&] {
        context_.stream->fill(other_.span().data(), 0, bytes_);
        return milliseconds([&] {
          readAndWait<<<blocksAMultiprocessor * multiprocessors(), threads, std::min(shared, most),
                        stream_>>>(reinterpret_cast<const unsigned*>(memory_.span().data()), rounds,
                                   reinterpret_cast<unsigned*>(cycles_.span().data()));
        });
      });
      checkLaunch("microbenchmark");
      return std::max(1e-9, 1e-3 * ms - rates_.launchSeconds);
    };
    context_.stream->fill(memory_.span().data(), 0, bytes_);
    const double alone = seconds(1);
    std::vector<double> exponents;
    for (const int blocks : {2, 4, 6, 8, maxBlocks}) {
      const double bytes = 2.0 * sizeof(unsigned) * rounds * threads * blocks * multiprocessors(),
                   bandwidth = bytes / rates_.dramReadBytes, taken = seconds(blocks);
      const double smaller = std::min(alone, bandwidth), larger = std::max(alone, bandwidth);
      if (smaller < 0.4 * larger)
        continue; // one bound alone says nothing about the exponent
      double low = 1, high = 8;
      for (int i = 0; i < 40; ++i) {
        const double p = (low + high) / 2;
        (std::pow(std::pow(smaller / larger, p) + 1, 1 / p) * larger > taken ? low : high) = p;
      }
      exponents.push_back(low);
    }
    std::sort(exponents.begin(), exponents.end());
    rates_.exponent = exponents.empty() ? usualExponent : exponents[exponents.size() / 2];
  }

  void measureBus()
  {
    const std::size_t bytes = std::min<std::size_t>(bytes_, 32 << 20);
    char* const device = memory_.span().data();
    const auto perSecond = [&](auto copy) {
      const double seconds = median(3, [&] {
        const auto start = std::chrono::steady_clock::now();
        copy();
        checkCuda(cudaStreamSynchronize(stream_), "waiting for the device");
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      });
      return static_cast<double>(bytes) / std::max(seconds, 1e-9);
    };
    const auto copyTo = [&](void* to, const void* from) {
      checkCuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copying");
    };
    std::vector<char> pageable(bytes);
    rates_.pageableUpload = perSecond([&] { copyTo(device, pageable.data()); });
    rates_.pageableDownload = perSecond([&] { copyTo(pageable.data(), device); });
    const auto release = [&](void* memory) { context_.stream->releasePinned(memory); };
    const std::unique_ptr<void, decltype(release)> pinned(context_.stream->allocatePinned(bytes), release);
    std::memset(pinned.get(), 0, bytes);
    rates_.pinnedUpload = perSecond([&] { copyTo(device, pinned.get()); });
    rates_.pinnedDownload = perSecond([&] { copyTo(pinned.get(), device); });
  }

  Context& context_;
  cudaStream_t stream_;
  cudaDeviceProp properties_{};
  Buffer<long long> cycles_;
  std::size_t bytes_ = 0;
  Buffer<char> memory_, other_;
  GpuRates rates_;
};

}

GpuRates measureGpuRates(Context& context, std::vector<std::string>& assumed)
{
  return Measurement(context).run(assumed);
}

}
