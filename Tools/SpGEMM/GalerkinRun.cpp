#include "Tools/SpGEMM/GalerkinRun.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/Median.h"
#include "Core/Sparse/GalerkinPlan.h"
#include "Tools/Common/Process.h"
#include "Tools/SpGEMM/OperandFile.h"
#include "Tools/SpGEMM/ProductDevice.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

/// Throws Error(unreadableInput) that names the first row in which the patterns differ.
void requirePattern(const MatrixPattern& wanted, const MatrixPattern& given, const std::string& path)
{
  const auto fail = [&](const std::string& what) {
    throw Error(ExitCode::unreadableInput,
                path + ": " + what
                    + " in A. Allowed: matrices with the pattern of A, for other numbers in it.");
  };
  if (given.rows != wanted.rows || given.columns != wanted.columns)
    fail(std::to_string(given.rows) + " x " + std::to_string(given.columns) + ", other than the "
         + std::to_string(wanted.rows) + " x " + std::to_string(wanted.columns));
  for (std::size_t row = 0; row < wanted.rows; ++row) {
    const auto columns = [row](const MatrixPattern& one) {
      return one.column.span().subspan(one.rowStart[row], one.rowEntries(row));
    };
    if (!std::ranges::equal(columns(wanted), columns(given)))
      fail("row " + std::to_string(row + 1) + " has entries at other places than");
  }
}

template <class V>
Context deviceOf(const SpGemmArguments& asked, int threads, const std::vector<CsrMatrix<V>>& factors,
                 RunLog& log)
{
  const ProductRequest request{asked.device, asked.algorithm,
                               2 * (asked.repeats + static_cast<int>(asked.values.size())), threads};
  const std::size_t a = factors.size() - 2;
  const DeviceChoice choice = chooseProductDevices(request, factors[a], factors[a + 1]).front();
  log.info("Device: " + choice.reason + ", " + threadsText(threads) + ".");
  return makeContext(choice.device, threads);
}

}

template <class V>
int runGalerkin(const SpGemmArguments& asked, int threads, std::vector<MatrixFile> files, RunLog& log)
{
  const Context host{{}, threads};
  std::vector<CsrMatrix<V>> factors;
  for (MatrixFile& file : files) {
    factors.push_back(converted<V>(host, file.matrix));
    file = {};
  }
  const Context context = deviceOf(asked, threads, factors, log);
  const CsrMatrix<V>&a = factors[factors.size() - 2], &p = factors.back();
  SpGemmOptions<V> options{
      .semiring = asked.semiring, .algorithm = asked.algorithm, .maxMemoryBytes = asked.maxMemoryBytes};
  if (!asked.values.empty())
    prepareOutputFolder(asked.output);
  for (const std::string& path : asked.values)
    if (std::error_code ignored; path != "-" && !std::filesystem::exists(path, ignored))
      readOperand(host, path, log); // throws before anything is written
  const auto write = [&](const CsrMatrix<V>& c, std::size_t number) {
    if (const std::string path = galerkinFile(asked, number); !path.empty())
      writeMatrix(context, path, c);
  };

  auto start = Clock::now();
  GalerkinPlan<V> plan = factors.size() == 3 ? GalerkinPlan<V>(context, factors[0], a, p, options)
                                             : GalerkinPlan<V>(context, a, p, options);
  const double planned = 1e3 * secondsSince(start);
  const std::string order = plan.startsWithR() ? "(R A) P" : "R (A P)";
  log.info("C: " + sizeText(plan.first()) + ", as " + order + " with " + std::to_string(plan.entriesBetween())
           + " entries between, " + decimals(planned, 3) + " ms with its plan.");
  write(plan.first(), 0);
  std::vector<double> again;
  const auto execute = [&](const Array<V>& values) {
    start = Clock::now();
    CsrMatrix<V> c = plan.execute(values);
    again.push_back(1e3 * secondsSince(start));
    return c;
  };
  for (int repeat = 1; repeat < asked.repeats; ++repeat)
    execute(a.value);
  for (std::size_t i = 0; i < asked.values.size(); ++i) {
    const CsrMatrix<V> other = converted<V>(host, readOperand(host, asked.values[i], log).matrix);
    requirePattern(a, other, asked.values[i]);
    write(execute(other.value), i + 1);
  }
  std::error_code ignored; // files of an earlier run with more matrices
  for (std::size_t old = asked.values.size() + 1; !asked.values.empty(); ++old)
    if (!std::filesystem::remove(galerkinFile(asked, old), ignored))
      break;
  if (!again.empty())
    log.info("Again: median " + decimals(median(again), 3) + ", least " + decimals(std::ranges::min(again), 3)
             + " ms of " + std::to_string(again.size()) + ".");
  return asked.json ? printText(nlohmann::json{{"order", order},
                                               {"rows", plan.first().rows},
                                               {"entries", plan.first().entries()},
                                               {"entriesBetween", plan.entriesBetween()},
                                               {"planMilliseconds", planned},
                                               {"milliseconds", again},
                                               {"threads", threads}}
                                    .dump(2)
                                + "\n")
                    : 0;
}

TESSERA_INSTANTIATE_FOR_NUMBERS(runGalerkin<V>);

}
