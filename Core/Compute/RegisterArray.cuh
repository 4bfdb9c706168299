#pragma once

namespace tessera {

/// values[at] of an array in registers: an index that is not constant would put it into memory.
template <class Value, int Count>
__device__ __forceinline__ Value fromRegisters(const Value (&values)[Count], int at)
{
  Value value = values[0];
#pragma unroll
  for (int k = 1; k < Count; ++k)
    value = k == at ? values[k] : value;
  return value;
}

}
