#pragma once

namespace tessera {

constexpr unsigned maxBlocksOfSums = 1056; // whatever the device, so that sums have one order

/// Bytes of device memory that SumsOnCuda takes: sums and a count for each block, and the table.
template <class Formula>
constexpr double sumsOnCudaBytes()
{
  return maxBlocksOfSums * (sizeof(typename Formula::Sums) + sizeof(double))
         + sizeof(typename Formula::Table);
}

}
