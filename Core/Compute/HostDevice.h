#pragma once

// The mathematics of one item stands once and is compiled by g++ and nvcc.
#ifdef __CUDACC__
#define TESSERA_HOST_DEVICE __host__ __device__
#else
#define TESSERA_HOST_DEVICE
#endif

// Batch kernels are compiled for the baseline and for x86-64-v3; the loader picks one.
// The build forbids contraction (-ffp-contract=off), so both give the same bits.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) \
  && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(TESSERA_NO_MULTIVERSION)
#define TESSERA_MULTIVERSION __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define TESSERA_MULTIVERSION
#endif

#define TESSERA_ALWAYS_INLINE inline __attribute__((always_inline))
