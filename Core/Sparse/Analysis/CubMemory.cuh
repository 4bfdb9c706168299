#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Memory/Buffer.h"

#include <bit>
#include <cstdint>

namespace tessera {

/// Calls a function of CUB twice: for the size of its scratch memory, then with that memory.
template <class Call>
void withCubMemory(const Context& context, const char* doing, Call&& call)
{
  std::size_t bytes = 0;
  checkCuda(call(nullptr, bytes), doing);
  Buffer<unsigned char> memory(context, bytes + 1);
  checkCuda(call(memory.span().data(), bytes), doing);
}

/// The number of bits that numbers below `count` need.
inline int bitsFor(std::uint64_t count)
{
  return static_cast<int>(std::bit_width(count > 0 ? count - 1 : 0));
}

}
