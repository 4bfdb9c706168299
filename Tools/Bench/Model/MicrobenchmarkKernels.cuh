#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"

#include <cstdint>

// The kernels of Microbenchmarks.cu.
namespace tessera::microbenchmark {

constexpr int chainLength = 4096, rateThreads = 1024, unrolled = 64;

/// The work of each thread, between two reads of the clock. `seed` is 0, which the compiler does not know;
/// the result keeps it from leaving the work out.
struct Fp32Chain {
  __device__ unsigned operator()(unsigned seed) const
  {
    float x = static_cast<float>(seed);
    const float a = x + 1.5f;
#pragma unroll unrolled
    for (int i = 0; i < chainLength; ++i)
      x = fmaf(x, a, a);
    return __float_as_uint(x);
  }
};

struct Fp64Chain {
  __device__ unsigned operator()(unsigned seed) const
  {
    double x = static_cast<double>(seed);
    const double a = x + 1.5;
#pragma unroll unrolled
    for (int i = 0; i < chainLength; ++i)
      x = fma(x, a, a);
    return static_cast<unsigned>(__double2loint(x));
  }
};

__device__ __forceinline__ float special(float x)
{
  float y;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

struct SpecialChain {
  __device__ unsigned operator()(unsigned seed) const
  {
    float x = static_cast<float>(seed);
#pragma unroll unrolled
    for (int i = 0; i < chainLength; ++i)
      x = special(x);
    return __float_as_uint(x);
  }
};

/// The first approximation of a square root in double precision.
struct SpecialFp64Chain {
  __device__ unsigned operator()(unsigned seed) const
  {
    double x = static_cast<double>(seed) + 2;
#pragma unroll unrolled
    for (int i = 0; i < chainLength; ++i)
      asm volatile("rsqrt.approx.ftz.f64 %0, %0;" : "+d"(x));
    return static_cast<unsigned>(__double2hiint(x));
  }
};

/// Follows pointers through 32 words of shared memory, each with the address of the next.
struct SharedChase {
  __device__ unsigned operator()(unsigned seed) const
  {
    extern __shared__ unsigned words[];
    const unsigned first = static_cast<unsigned>(__cvta_generic_to_shared(words));
    for (unsigned i = 0; i < 32; ++i)
      words[i] = first + 4 * ((i + 5) % 32);
    unsigned at = first + seed;
#pragma unroll unrolled
    for (int i = 0; i < chainLength; ++i)
      asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
    return at;
  }
};

static __constant__ unsigned linkedConstants[64]; // word i holds the byte offset of word (i + 17) % 64

struct ConstantChase {
  __device__ unsigned operator()(unsigned seed) const
  {
    unsigned at = seed;
#pragma unroll unrolled
    for (int i = 0; i < chainLength; ++i)
      at = *reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(linkedConstants) + at);
    return at;
  }
};

enum class Level { l1, l2 };

/// Follows pointers that `linkPlaces` has made.
template <Level level>
struct GlobalChase {
  const void* first;
  int steps;

  __device__ unsigned operator()(unsigned seed) const
  {
    std::uint64_t at = reinterpret_cast<std::uint64_t>(first) + seed;
#pragma unroll 16
    for (int i = 0; i < steps; ++i) {
      if constexpr (level == Level::l1)
        asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at));
      else
        asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
    }
    return static_cast<unsigned>(at);
  }
};

struct Barriers {
  static constexpr int count = 256;
  __device__ unsigned operator()(unsigned seed) const
  {
#pragma unroll 16
    for (int i = 0; i < count; ++i)
      __syncthreads();
    return seed;
  }
};

/// Four chains side by side, enough for full rates with 32 warps.
struct Fp32Rate {
  static constexpr double instructions = 4.0 * chainLength;
  __device__ unsigned operator()(unsigned seed) const
  {
    float x[4] = {1.0f * seed, 2.0f * seed, 3.0f * seed, 4.0f * seed};
    const float a = x[0] + 1.5f;
#pragma unroll 16
    for (int i = 0; i < chainLength; ++i)
#pragma unroll
      for (float& each : x)
        each = fmaf(each, a, a);
    return __float_as_uint(x[0] + x[1] + x[2] + x[3]);
  }
};

struct Fp64Rate {
  static constexpr double instructions = 4.0 * (chainLength / 4);
  __device__ unsigned operator()(unsigned seed) const
  {
    double x[4] = {1.0 * seed, 2.0 * seed, 3.0 * seed, 4.0 * seed};
    const double a = x[0] + 1.5;
#pragma unroll 16
    for (int i = 0; i < chainLength / 4; ++i)
#pragma unroll
      for (double& each : x)
        each = fma(each, a, a);
    return static_cast<unsigned>(__double2loint(x[0] + x[1] + x[2] + x[3]));
  }
};

struct SpecialRate {
  static constexpr double instructions = 4.0 * (chainLength / 4);
  __device__ unsigned operator()(unsigned seed) const
  {
    float x[4] = {1.0f * seed, 2.0f * seed, 3.0f * seed, 4.0f * seed};
#pragma unroll 16
    for (int i = 0; i < chainLength / 4; ++i)
#pragma unroll
      for (float& each : x)
        each = special(each);
    return __float_as_uint(x[0] + x[1] + x[2] + x[3]);
  }
};

__device__ __forceinline__ void logic(unsigned& x, unsigned a, unsigned b)
{
  asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(x) : "r"(a), "r"(b));
}

struct IntegerRate {
  static constexpr double instructions = 4.0 * chainLength;
  __device__ unsigned operator()(unsigned seed) const
  {
    unsigned x[4] = {seed, seed + 1, seed + 2, seed + 3};
    const unsigned a = seed + threadIdx.x, b = seed + 5;
#pragma unroll 16
    for (int i = 0; i < chainLength; ++i)
#pragma unroll
      for (unsigned& each : x)
        logic(each, a, b);
    return x[0] + x[1] + x[2] + x[3];
  }
};

/// Two instructions of floats for each of integers: neither kind's own rate is in the way.
struct IssueRate {
  static constexpr double instructions = 6.0 * chainLength;
  __device__ unsigned operator()(unsigned seed) const
  {
    unsigned x[2] = {seed, seed + 1};
    float y[4] = {1.0f * seed, 2.0f * seed, 3.0f * seed, 4.0f * seed};
    const unsigned a = seed + threadIdx.x, b = seed + 5;
    const float c = y[0] + 1.5f;
#pragma unroll 16
    for (int i = 0; i < chainLength; ++i) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        y[2 * k] = fmaf(y[2 * k], c, c);
        logic(x[k], a, b);
        y[2 * k + 1] = fmaf(y[2 * k + 1], c, c);
      }
    }
    return x[0] + x[1] + __float_as_uint(y[0] + y[1] + y[2] + y[3]);
  }
};

constexpr int loads = 1024;

/// The words that are loaded are 0. Addresses depend on them, so that no load can be left out.
struct SharedRate {
  static constexpr double instructions = 4 * loads;
  __device__ unsigned operator()(unsigned seed) const
  {
    extern __shared__ unsigned words[];
    words[threadIdx.x] = 0;
    const unsigned first = static_cast<unsigned>(__cvta_generic_to_shared(words)) + 4 * threadIdx.x;
    unsigned at[4] = {first, first + seed, first + 2 * seed, first + 3 * seed};
#pragma unroll 4
    for (int i = 0; i < loads; ++i)
#pragma unroll
      for (unsigned& each : at) {
        unsigned word;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(each));
        each += word;
      }
    return at[0] + at[1] + at[2] + at[3];
  }
};

struct L1Rate {
  static constexpr double instructions = 4 * loads;
  const unsigned* from;
  __device__ unsigned operator()(unsigned seed) const
  {
    const std::uint64_t own = reinterpret_cast<std::uint64_t>(from + threadIdx.x);
    std::uint64_t at[4] = {own, own + seed, own + 2 * seed, own + 3 * seed};
#pragma unroll 4
    for (int i = 0; i < loads; ++i)
#pragma unroll
      for (std::uint64_t& each : at) {
        unsigned word;
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(word) : "l"(each));
        each += word;
      }
    return static_cast<unsigned>(at[0] + at[1] + at[2] + at[3]);
  }
};

struct SharedAtomicRate {
  static constexpr double instructions = loads;
  __device__ unsigned operator()(unsigned seed) const
  {
    extern __shared__ unsigned words[];
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(words)) + 4 * threadIdx.x + seed;
#pragma unroll 16
    for (int i = 0; i < loads; ++i)
      asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(seed) : "memory");
    return seed;
  }
};

template <class Work>
__global__ void __launch_bounds__(rateThreads) timeBlocks(Work work, unsigned seed, long long* cycles)
{
  __syncthreads();
  const long long start = clock64();
  const unsigned result = work(seed);
  __syncthreads();
  const long long taken = clock64() - start;
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = taken;
  if (result == 0x9e3779b9u) // hardly ever; the compiler cannot know
    cycles[blockIdx.x] += result & 1;
}

/// words[i] = the address of the word `step` further, around the end of `count` words of 8 bytes.
__global__ void linkPlaces(std::uint64_t* words, std::size_t count, std::size_t step)
{
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    words[i] = reinterpret_cast<std::uint64_t>(words + (i + step) % count);
}

constexpr int vectorThreads = 512, vectorsAhead = 8;

/// Reads vectors past the L1 cache, `rounds` times. `count` is a multiple of what the grid reads at once.
__global__ void __launch_bounds__(vectorThreads)
    readVectors(const uint4* from, std::size_t count, int rounds, unsigned* sink)
{
  unsigned sum = 0;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
         i += vectorsAhead * stride) {
      uint4 read[vectorsAhead];
#pragma unroll
      for (int k = 0; k < vectorsAhead; ++k)
        read[k] = __ldcg(from + i + k * stride);
#pragma unroll
      for (int k = 0; k < vectorsAhead; ++k)
        sum ^= read[k].x ^ read[k].y ^ read[k].z ^ read[k].w;
    }
  if (sum == 0x9e3779b9u)
    *sink = sum;
}

/// Each warp reads 128 bytes twice, waits for both, and goes on; the words are 0.
__global__ void __launch_bounds__(128) readAndWait(const unsigned* from, int rounds, unsigned* sink)
{
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  std::size_t at = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  for (int i = 0; i < rounds; ++i) {
    const unsigned one = __ldcs(from + at), other = __ldcs(from + at + stride);
    at += 2 * stride + one + other;
  }
  if (at == 1)
    *sink = 1;
}

__global__ void __launch_bounds__(vectorThreads) copyVectors(const uint4* from, std::size_t count, uint4* to)
{
  constexpr int ahead = 4;
  const std::size_t first = blockIdx.x * static_cast<std::size_t>(ahead * blockDim.x) + threadIdx.x;
  uint4 read[ahead];
#pragma unroll
  for (int k = 0; k < ahead; ++k)
    if (first + k * blockDim.x < count)
      read[k] = __ldcs(from + first + k * blockDim.x);
#pragma unroll
  for (int k = 0; k < ahead; ++k)
    if (first + k * blockDim.x < count)
      __stcs(to + first + k * blockDim.x, read[k]);
}

/// Each lane adds to words, `apart` words from its neighbours'. `count` is a power of two. With `meeting` all
/// blocks add to the same words.
__global__ void addToWords(unsigned long long* words, unsigned count, unsigned apart, bool meeting,
                           int additions)
{
  unsigned at = (meeting ? threadIdx.x : blockIdx.x * blockDim.x + threadIdx.x) * apart;
  for (int i = 0; i < additions; ++i) {
    atomicAdd(words + (at & (count - 1)), 1ull);
    at += meeting ? blockDim.x : 2654435769u & ~31u;
  }
}

__global__ void doNothing() {}

}
