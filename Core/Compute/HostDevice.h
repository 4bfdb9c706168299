#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

// Functions of one item are written once, and compiled by g++ for the CPU and by nvcc for CUDA.
#ifdef __CUDACC__
#define TESSERA_HOST_DEVICE __host__ __device__
#else
#define TESSERA_HOST_DEVICE
#endif

// Unrolls loops whose arrays must stay in registers.
#ifdef __CUDA_ARCH__
#define TESSERA_UNROLL _Pragma("unroll")
#else
#define TESSERA_UNROLL
#endif

// Batch kernels are compiled for the baseline instruction set and for x86-64-v3, and for x86-64-v4 too if
// vectors of 64 bytes speed them up. The loader chooses one. The build forbids contraction
// (-ffp-contract=off), so all give the same bits.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)                  \
    && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(TESSERA_NO_MULTIVERSION)
#define TESSERA_MULTIVERSION __attribute__((target_clones("arch=x86-64-v3", "default")))
#define TESSERA_MULTIVERSION_TO_V4                                                                           \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// For functions that are written once for each instruction set: all versions but the default stand in
// #if defined(TESSERA_VERSIONS).
#define TESSERA_VERSIONS
#define TESSERA_VERSION_DEFAULT __attribute__((target("default")))
#else
#define TESSERA_VERSION_DEFAULT
#define TESSERA_MULTIVERSION
#define TESSERA_MULTIVERSION_TO_V4
#endif

#define TESSERA_ALWAYS_INLINE inline __attribute__((always_inline))

// Ends a .cpp file with the class template that it defines, for images of two and of three dimensions.
#define TESSERA_INSTANTIATE_CLASS(Name)                                                                      \
  template class Name<2>;                                                                                    \
  template class Name<3>

// Series need such a class for four dimensions, too: three of space and time.
#define TESSERA_INSTANTIATE_CLASS_TO_4(Name)                                                                 \
  TESSERA_INSTANTIATE_CLASS(Name);                                                                           \
  template class Name<4>

// Ends a .cpp file with its function templates: TESSERA_INSTANTIATE_FUNCTIONS(first<D>, second<D>);
// They are compiled, for two and three dimensions, because a function takes their addresses.
#define TESSERA_INSTANTIATE_FUNCTIONS(...) TESSERA_INSTANTIATE_NUMBERED(__COUNTER__, __VA_ARGS__)
#define TESSERA_INSTANTIATE_NUMBERED(number, ...)                                                            \
  template <int D>                                                                                           \
  [[gnu::used]] static auto addressesOf(std::integral_constant<int, number>)                                 \
  {                                                                                                          \
    return std::make_tuple(__VA_ARGS__);                                                                     \
  }                                                                                                          \
  template auto addressesOf<2>(std::integral_constant<int, number>);                                         \
  template auto addressesOf<3>(std::integral_constant<int, number>)

// Series need such functions for four dimensions, too: three of space and time.
#define TESSERA_INSTANTIATE_FUNCTIONS_TO_4(...) TESSERA_INSTANTIATE_NUMBERED_TO_4(__COUNTER__, __VA_ARGS__)
#define TESSERA_INSTANTIATE_NUMBERED_TO_4(number, ...)                                                       \
  TESSERA_INSTANTIATE_NUMBERED(number, __VA_ARGS__);                                                         \
  template auto addressesOf<4>(std::integral_constant<int, number>)

// Both for the numbers of sparse matrices: TESSERA_INSTANTIATE_FOR_NUMBERS(first<V>, second<V>);
#define TESSERA_INSTANTIATE_CLASS_FOR_NUMBERS(Name)                                                          \
  template class Name<double>;                                                                               \
  template class Name<float>;                                                                                \
  template class Name<std::int64_t>
#define TESSERA_INSTANTIATE_FOR_NUMBERS(...) TESSERA_INSTANTIATE_OF_NUMBERED(__COUNTER__, __VA_ARGS__)
#define TESSERA_INSTANTIATE_OF_NUMBERED(number, ...)                                                         \
  template <class V>                                                                                         \
  [[gnu::used]] static auto addressesFor(std::integral_constant<int, number>)                                \
  {                                                                                                          \
    return std::make_tuple(__VA_ARGS__);                                                                     \
  }                                                                                                          \
  template auto addressesFor<double>(std::integral_constant<int, number>);                                   \
  template auto addressesFor<float>(std::integral_constant<int, number>);                                    \
  template auto addressesFor<std::int64_t>(std::integral_constant<int, number>)
