#pragma once

namespace tessera {

/// values[at] for an array in registers. An index that is not constant would put the array into local memory.
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
