#pragma once

#include "Core/Compute/Device.h"
#include "Core/Sparse/SpGemmOptions.h"

#include <string>
#include <vector>

namespace tessera {

/// The wishes and limits by which a device is chosen, beside the matrices.
struct ProductRequest {
  std::string device; // as --device names it
  SpGemmAlgorithm algorithm = SpGemmAlgorithm::automatic;
  int products = 1; // how many products follow each other, each taken to be as large as the first
  int threads = 1;
};

/// The devices for a product A B. "auto" takes the CPU, one GPU or several: what is predicted to take the
/// least time by the calibration of this machine, with the start of the devices and all copies. Throws as
/// chooseDevices, and Error(unreadableInput) for a matrix that is none.
template <class V>
std::vector<DeviceChoice> chooseProductDevices(const ProductRequest&, const CsrMatrix<V>& a,
                                               const CsrMatrix<V>& b);

/// The predicted time of a product on the CPU and on one GPU, by the calibration of this machine: "Time:
/// ...".
template <class V>
std::string predictedTimeText(const CsrMatrix<V>& a, const CsrMatrix<V>& b, int threads);

}
