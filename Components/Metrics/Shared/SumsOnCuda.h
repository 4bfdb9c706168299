#pragma once

namespace tessera {

constexpr unsigned mostBlocksOfSums = 1056; // whatever the device, so that sums have one order

/// What SumsOnCuda takes of the device: sums and a count of each block, and the table.
template <class Formula>
constexpr double sumsOnCudaBytes()
{
  return mostBlocksOfSums * (sizeof(typename Formula::Sums) + sizeof(double))
         + sizeof(typename Formula::Table);
}

}
