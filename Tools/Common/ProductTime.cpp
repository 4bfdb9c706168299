#include "Tools/Common/ProductTime.h"

namespace tessera {
namespace {

/// A product's waits for the host, launches and allocations, which do not depend on its size.
constexpr double cudaProductSeconds = 1e-3;
/// The share of a copy that several devices cannot do at the same time, because the host's memory limits it.
constexpr double sharedCopies = 0.5;

}

double cpuSeconds(const Calibration& calibration, const ProductWork& work, int threads)
{
  const ProductRates& rates = calibration.products;
  const auto nanoseconds = [&](const ThreadRate& rate) {
    return rate.nanoseconds(calibration.threads, threads);
  };
  return 1e-9
         * (work.rows * nanoseconds(rates.row) + work.rowProducts * nanoseconds(rates.product)
            + work.entries * nanoseconds(rates.entry) + work.tilePairs * nanoseconds(rates.tilePair));
}

double cudaSeconds(const Calibration& calibration, const ProductWork& work, int threads, int devices)
{
  const auto nanoseconds = [&](const ThreadRate& rate) {
    return rate.nanoseconds(calibration.threads, threads);
  };
  const double copies = work.factorBytes * nanoseconds(calibration.products.upload)
                        + work.productBytes * nanoseconds(calibration.products.download),
               kernels = work.rowProducts * calibration.products.cudaProduct
                         + work.tilePairs * calibration.products.cudaTilePair;
  return cudaProductSeconds
         + 1e-9 * (copies * (sharedCopies + (1 - sharedCopies) / devices) + kernels / devices);
}

}
