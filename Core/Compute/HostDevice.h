#pragma once

// The mathematics of one item stands once and is compiled by g++ and nvcc.
#ifdef __CUDACC__
#define TESSERA_HOST_DEVICE __host__ __device__
#else
#define TESSERA_HOST_DEVICE
#endif

// Loops over what must stay in registers.
#ifdef __CUDA_ARCH__
#define TESSERA_UNROLL _Pragma("unroll")
#else
#define TESSERA_UNROLL
#endif

// Batch kernels are compiled for the baseline and for x86-64-v3, those that vectors of 64 bytes speed up for
// x86-64-v4 too; the loader picks one. The build forbids contraction (-ffp-contract=off), so all give the
// same bits.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)                  \
    && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(TESSERA_NO_MULTIVERSION)
#define TESSERA_MULTIVERSION __attribute__((target_clones("arch=x86-64-v3", "default")))
#define TESSERA_MULTIVERSION_TO_V4                                                                           \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// For functions written once for each: the other versions stand in #if defined(TESSERA_VERSIONS).
#define TESSERA_VERSIONS
#define TESSERA_VERSION_DEFAULT __attribute__((target("default")))
#else
#define TESSERA_VERSION_DEFAULT
#define TESSERA_MULTIVERSION
#define TESSERA_MULTIVERSION_TO_V4
#endif

#define TESSERA_ALWAYS_INLINE inline __attribute__((always_inline))
