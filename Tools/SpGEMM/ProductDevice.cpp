#include "Tools/SpGEMM/ProductDevice.h"
#include "Tools/Common/CalibrationFile.h"

#include "Core/Compute/Cuda/Stream.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/ProductTime.h"

#include <algorithm>

namespace tessera {
namespace {

/// The seconds of all products on the CPU if each pair of entries that meets made an entry of its own, and no
/// tile were used.
double maxSecondsOnCpu(const ProductRequest& request, const Calibration& calibration, const Context& host,
                       const MatrixPattern& a, const MatrixPattern& b)
{
  const double products = productCount(host, a, b);
  const ProductWork most{.rows = static_cast<double>(a.rows), .rowProducts = products, .entries = products};
  return request.products * cpuSeconds(calibration, most, request.threads);
}

/// Predicted seconds of all products on the CPU, and on each number of GPUs.
class ProductPrediction {
public:
  ProductPrediction(const ProductRequest& request, const ProductWork& work) : request_(request), work_(work)
  {
  }

  double onCpu(const Calibration& calibration) const
  {
    return request_.products * cpuSeconds(calibration, work_, request_.threads);
  }
  double onCuda(const Calibration& calibration, int devices) const
  {
    return devices * calibration.cudaStartSeconds // one after the other
           + request_.products * cudaSeconds(calibration, work_, request_.threads, devices);
  }
  std::string text(const Calibration& calibration, int most) const
  {
    std::string line = "predicted " + decimals(onCpu(calibration), 3) + " s on the CPU, "
                       + decimals(onCuda(calibration, 1), 3) + " s on CUDA";
    if (most > 1)
      line += ", " + decimals(onCuda(calibration, most), 3) + " s on " + std::to_string(most) + " GPUs";
    return line + " (of it " + decimals(calibration.cudaStartSeconds, 3) + " to start "
           + (most > 1 ? "each" : "it") + "; " + calibration.source + ")";
  }

private:
  const ProductRequest& request_;
  const ProductWork& work_;
};

}

template <class V>
std::vector<DeviceChoice> chooseProductDevices(const ProductRequest& request, const CsrMatrix<V>& a,
                                               const CsrMatrix<V>& b)
{
  if (request.device != "auto" || !builtWithCuda || request.algorithm == SpGemmAlgorithm::tsparse)
    return chooseDevices(request.device, "--device");
  const Context host{{}, request.threads};
  checkPattern(host, a, "A");
  if (!b.isSame(a))
    checkPattern(host, b, "B");
  const Calibration calibration = storedCalibration();
  const double most = maxSecondsOnCpu(request, calibration, host, a, b);
  if (most <= calibration.cudaStartSeconds) // neither samples nor the driver are worth their time
    return {{Device{}, "cpu: predicted at most " + decimals(most, 3) + " s on the CPU, "
                           + decimals(calibration.cudaStartSeconds, 3) + " s to start CUDA ("
                           + calibration.source + ")"}};
  const ProductWork work = productWork(host, a, b, sizeof(V));
  const ProductPrediction predicted(request, work);
  const auto onCpu = [&](int devices) {
    return std::vector<DeviceChoice>{{Device{}, "cpu: " + predicted.text(calibration, devices)}};
  };
  if (predicted.onCpu(calibration) <= predicted.onCuda(calibration, 1))
    return onCpu(1); // the driver is not started, which would take longer than the product
  const DeviceChoice first = chooseDevice("auto", "--device", "");
  if (first.device.kind == DeviceKind::cpu)
    return {first};
  const double usable = usableDeviceMemory(makeContext(first.device, 1));
  if (work.factorBytes > usable)
    return {{Device{}, "cpu: A and B take " + memoryText(work.factorBytes) + " of the GPU's memory, "
                           + memoryText(usable) + " are free"}};
  const std::vector<CudaDevice> all = findCudaDevices().found;
  const auto equal = static_cast<int>(
      std::count_if(all.begin(), all.end(), [&](const CudaDevice& one) { return one.name == all[0].name; }));
  int best = 1;
  for (int devices = 2; devices <= equal; ++devices)
    if (predicted.onCuda(calibration, devices) < predicted.onCuda(calibration, best))
      best = devices;
  std::vector<DeviceChoice> choices;
  for (int ordinal = 0; ordinal < best; ++ordinal)
    choices.push_back({{DeviceKind::cuda, ordinal},
                       "cuda:" + std::to_string(ordinal) + " (" + calibration.gpu
                           + "): " + predicted.text(calibration, equal)});
  return choices;
}

template <class V>
std::string predictedTimeText(const CsrMatrix<V>& a, const CsrMatrix<V>& b, int threads)
{
  const Calibration calibration = storedCalibration();
  const Context host{{}, threads};
  const ProductWork work = productWork(host, a, b, sizeof(V));
  return "Time: about " + decimals(cpuSeconds(calibration, work, threads), 4) + " s on the CPU with "
         + threadsText(threads) + ", " + decimals(cudaSeconds(calibration, work, threads), 4) + " s on an "
         + calibration.gpu + " and " + decimals(calibration.cudaStartSeconds, 1) + " s to start it ("
         + calibration.source + ").";
}

TESSERA_INSTANTIATE_FOR_NUMBERS(predictedTimeText<V>, chooseProductDevices<V>);

}
