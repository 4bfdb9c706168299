#pragma once

namespace tessera {

/// The same on every device, so that sums are added in the same order.
constexpr unsigned maxBlocksOfSums = 1056;

/// Bytes of device memory that SumsOnCuda takes: a partial sum and a count for each block, and the table.
template <class Formula>
constexpr double sumsOnCudaBytes()
{
  return maxBlocksOfSums * (sizeof(typename Formula::Sums) + sizeof(double))
         + sizeof(typename Formula::Table);
}

}
