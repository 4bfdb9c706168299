#include "Tools/Bench/Calibration/ProductRatesBench.h"

#include "Core/Sparse/Analysis/ProductWork.h"
#include "Core/Sparse/SpGemm.h"
#include "Core/Sparse/SpGemmOnCuda.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Matrices/BenchmarkMatrices.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t repeats = 5;

/// The square of a benchmark matrix.
struct Square {
  CsrMatrix<double> a;
  ProductWork work;

  Square(const Context& context, const char* name)
      : a(makeBenchmarkMatrix(context, name)), work(productWork(context, a, a, sizeof(double)))
  {
  }

  double nanoseconds(Context& context, SpGemmAlgorithm algorithm) const
  {
    if (!context.onCuda()) {
      SpGemmOptions<double> options;
      options.algorithm = algorithm;
      return 1e6 * timesOfLongRuns(repeats, [&] { multiply(context, a, a, options); }).ms;
    }
    BenchClock clock(context, repeats);
    const CsrOnCuda<double> onCuda = broughtToCuda(context, a, "A");
    SpGemmOnCuda product(context);
    SpGemmOnCudaOptions options;
    options.algorithm = algorithm;
    return 1e6 * clock.time([&] { product.multiply(onCuda, onCuda, options); }).msWarm;
  }
};

/// Nanoseconds of the CPU for a row, a product and an entry of rows, and for a pair of tiles. The matrices
/// have 20 products for an entry and few rows, less than 2 and many entries a row, and less than 2 and few.
struct CpuRates {
  double row, product, entry, tilePair;

  CpuRates(const Square& dense, const Square& scattered, const Square& thin, int threads)
  {
    Context context{{}, threads};
    const auto byRows = [&](const Square& square) {
      return square.nanoseconds(context, SpGemmAlgorithm::rows);
    };
    const double nsOfDense = byRows(dense), nsOfScattered = byRows(scattered), nsOfThin = byRows(thin);
    row = entry = product = 0;
    // Each time is that of all three; a few rounds find the rates, none of which is negative.
    constexpr int rounds = 50;
    for (int round = 0; round < rounds; ++round) {
      product =
          std::max(0.0, nsOfDense - entry * dense.work.entries - row * dense.work.rows) / dense.work.products;
      entry = std::max(0.0, nsOfScattered - product * scattered.work.products - row * scattered.work.rows)
              / scattered.work.entries;
      row =
          std::max(0.0, nsOfThin - product * thin.work.products - entry * thin.work.entries) / thin.work.rows;
    }
    tilePair = std::max(0.0, dense.nanoseconds(context, SpGemmAlgorithm::tiles) - entry * dense.work.entries
                                 - row * dense.work.rows)
               / dense.work.tilePairs;
  }
};

/// Nanoseconds of a byte that goes to a device, and of one that comes back.
struct CopyRates {
  double upload, download;

  CopyRates(const Context& context, const CsrMatrix<double>& matrix)
  {
    const auto bytes = static_cast<double>(matrix.bytes());
    const auto nanosecondsAByte = [&](auto&& copy) {
      return 1e6 / bytes * timesOfLongRuns(repeats, copy).ms;
    };
    const CsrOnCuda<double> onCuda = broughtToCuda(context, matrix, "A");
    upload = nanosecondsAByte([&] {
      broughtToCuda(context, matrix, "A");
      context.stream->wait();
    });
    download = nanosecondsAByte([&] { broughtToHost(context, onCuda); });
  }
};

}

void measureProducts(Context* cudaWithOne, Context* cudaWithAll, Calibration& calibration)
{
  const Context host{{}, calibration.threads};
  const Square dense(host, "lock3491_like"), scattered(host, "cage12_like"), thin(host, "mc2depi");
  const CpuRates one(dense, scattered, thin, 1),
      all = calibration.threads > 1 ? CpuRates(dense, scattered, thin, calibration.threads) : one;
  ProductRates& rates = calibration.products;
  rates.row = {one.row, all.row};
  rates.product = {one.product, all.product};
  rates.entry = {one.entry, all.entry};
  rates.tilePair = {one.tilePair, all.tilePair};
  if (!cudaWithAll)
    return;
  const Square large(host, "pcrystk03");
  const CopyRates withOne(*cudaWithOne, large.a), withAll(*cudaWithAll, large.a);
  rates.upload = {withOne.upload, withAll.upload};
  rates.download = {withOne.download, withAll.download};
  rates.cudaProduct = scattered.nanoseconds(*cudaWithAll, SpGemmAlgorithm::rows) / scattered.work.products;
  rates.cudaTilePair = large.nanoseconds(*cudaWithAll, SpGemmAlgorithm::tiles) / large.work.tilePairs;
}

}
