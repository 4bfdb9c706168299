#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Math/Median.h"
#include "Core/Sparse/GalerkinPlan.h"
#include "Tools/Common/Process.h"
#include "Tools/SpGEMM/OperandFile.h"
#include "Tools/SpGEMM/ProductDevice.h"
#include "Tools/SpGEMM/ProductRun.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

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

void requirePatternOfA(const MatrixPattern& wanted, const MatrixPattern& given, const std::string& path)
{
  const auto fail = [&](const std::string& what) {
    failAs(ExitCode::unreadableInput, path, what + " in A",
           "matrices with the pattern of A, for other numbers in it");
  };
  if (given.rows != wanted.rows || given.columns != wanted.columns)
    fail(std::to_string(given.rows) + " x " + std::to_string(given.columns) + ", other than the "
         + std::to_string(wanted.rows) + " x " + std::to_string(wanted.columns));
  for (std::size_t row = 0; row < wanted.rows; ++row)
    if (!std::ranges::equal(wanted.columnsOf(row), given.columnsOf(row)))
      fail("row " + std::to_string(row + 1) + " has entries at other places than");
}

template <class V>
int runGalerkin(const SpGemmArguments& asked, int threads, std::vector<MatrixFile> files, RunLog& log)
{
  const Context host{{}, threads};
  std::vector<CsrMatrix<V>> factors;
  for (std::size_t i = 0; i < asked.operands.size(); ++i) {
    factors.push_back(convertedOperand<V>(host, asked.operands[i], files[i]));
    files[i] = {};
  }
  const Context context = deviceOf(asked, threads, factors, log);
  const CsrMatrix<V>&a = factors[factors.size() - 2], &p = factors.back();
  SpGemmOptions<V> options{
      .semiring = asked.semiring, .algorithm = asked.algorithm, .maxMemoryBytes = asked.maxMemoryBytes};
  std::error_code ignored; // AtomicFile tells what is wrong with the folder
  const fs::path folder = fs::path(galerkinFile(asked.output, 0)).parent_path();
  const bool isNew = !asked.values.empty() && fs::create_directories(folder, ignored);
  const std::shared_ptr<void> atTheEnd(nullptr, [&](void*) {
    if (isNew)
      fs::remove(folder, ignored); // unless something is in it
  });
  std::optional<AtomicFile> results; // of --values: all of them lie in its hidden folder until they are whole
  if (!asked.values.empty())
    results.emplace(galerkinFile(asked.output, 0));
  const auto write = [&](const CsrMatrix<V>& c, std::size_t number) {
    if (const std::string path = galerkinFile(asked.output, number); results)
      withContext(path, [&] {
        writeMatrix(context, galerkinFile(fs::path(results->temporaryPath()).parent_path(), number), c);
      });
    else if (!asked.output.empty())
      writeMatrix(context, asked.output, c);
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
    const std::string& path = asked.values[i];
    const MatrixFile file = path == "-" ? std::move(files.back()) : readMatrix(host, path);
    requirePatternOfA(a, patternOf(file.matrix), path); // another program may have changed the file
    const CsrMatrix<V> other = convertedOperand<V>(host, path, file);
    write(withContext(path, [&] { return execute(other.value); }), i + 1);
  }
  if (results)
    results->commit();
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
