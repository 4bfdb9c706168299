#include "Core/Compute/DeviceList.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/NumberIn.h"
#include "Core/Sparse/Array.h"
#include "Core/Sparse/Files/MatrixFormats.h"
#include "Core/Sparse/Files/MatrixOutput.h"
#include "Core/Sparse/MatrixFile.h"
#include "Core/Sparse/SpGemm.h"
#include "Core/Sparse/SpGemmOnDevices.h"
#include "Tools/Bench/Matrices/BenchmarkMatrices.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Tools/SpGEMM/PlainProduct.h"
#include "Tools/SpGEMM/ProductDevice.h"
#include "Tools/SpGEMM/SpGemmArguments.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <unistd.h>

using namespace tessera;

namespace {

using Clock = std::chrono::steady_clock;

MatrixFile readOperand(const Context& context, const std::string& path, RunLog& log)
{
  const auto start = Clock::now();
  MatrixFile file = readMatrix(context, path);
  const char* const numbers = file.pattern ? "pattern only, no values"
                              : std::holds_alternative<CsrMatrix<std::int64_t>>(file.matrix) ? "integers"
                                                                                             : "real";
  log.info(path + ": " + sizeText(file.matrix) + ", " + numbers + ", read in "
           + decimals(secondsSince(start), 3) + " s.");
  if (file.duplicates > 0)
    log.warning(path + ": " + std::to_string(file.duplicates) + " entries stand where another one does; "
                + (file.pattern ? "each place counts once." : "they are added."));
  for (const std::string& note : file.notes)
    log.warning(path + ": " + note + ".");
  return file;
}

/// The pattern of a matrix from a file, for use as a mask. The columns of each row rise in matrices from
/// files.
MatrixPattern patternOf(const AnyCsrMatrix& matrix)
{
  return std::visit([](const auto& typed) { return static_cast<const MatrixPattern&>(typed); }, matrix);
}

/// int64 if some files hold integers and all others integers or no values; f64 otherwise.
Precision naturalPrecision(const std::vector<MatrixFile>& files)
{
  bool integers = false;
  for (const MatrixFile& file : files) {
    const bool isInteger = std::holds_alternative<CsrMatrix<std::int64_t>>(file.matrix);
    if (!isInteger && !file.pattern)
      return Precision::f64;
    integers |= isInteger;
  }
  return integers ? Precision::int64 : Precision::f64;
}

template <class V>
class Run {
public:
  Run(const SpGemmArguments& asked, int threads, bool half, std::vector<MatrixFile> files, RunLog& log)
      : asked_(asked), context_{{}, threads}, log_(log)
  {
    for (MatrixFile& file : files) {
      factors_.push_back(converted<V>(context_, file.matrix));
      file = {};
    }
    options_.semiring = asked.semiring;
    options_.algorithm = asked.algorithm;
    options_.half = half;
    options_.maxMemoryBytes = asked.maxMemoryBytes;
    options_.transposeA = asked.transposeA || asked.transposedTimes;
    options_.transposeB = asked.transposeB || asked.timesTransposed;
    takeDevices();
  }

  int run()
  {
    multiplyFirst();
    last_ = options_;
    addLastOptions();
    if (asked_.info)
      return printInfo();
    if (!asked_.output.empty() && asked_.maxMemoryBytes > 0 && asked_.repeats == 1 && !asked_.check
        && !asked_.sum && devices_.size() == 1 && formatOfMatrix(asked_.output) == MatrixFormat::matrixMarket)
      return writeInRanges();
    CsrMatrix<V> c;
    for (int repeat = 0; repeat < asked_.repeats; ++repeat) {
      c = {};
      const auto start = Clock::now();
      c = product(left(), right(), last_, &report_);
      milliseconds_.push_back(1e3 * secondsSince(start));
    }
    entries_ = c.entries();
    log_.info("C: " + sizeText(c) + ", " + std::to_string(report_.products) + " products, " + timeText()
              + ".");
    log_.info("Method: " + report_.choice + ".");
    if (asked_.check)
      check(c);
    if (asked_.sum)
      addUp(c);
    if (!asked_.output.empty())
      write(c);
    return printJson();
  }

private:
  void takeDevices()
  {
    ProductRequest request{asked_.device, asked_.algorithm, asked_.repeats, context_.threads};
    if (asked_.triple || asked_.power > 2)
      request.products += asked_.triple ? 1 : asked_.power - 2;
    const bool goesByTime = request.device == "auto";
    for (const DeviceChoice& choice :
         chooseProductDevices(request, turned(left(), goesByTime && options_.transposeA),
                              turned(right(), goesByTime && options_.transposeB))) {
      log_.info("Device: " + choice.reason + ", " + threadsText(request.threads) + ".");
      devices_.push_back(makeContext(choice.device, request.threads));
    }
    context_ = devices_.front();
  }

  CsrMatrix<V> turned(const CsrMatrix<V>& matrix, bool transpose) const
  {
    return transpose ? transposed(context_, matrix) : matrix;
  }

  const CsrMatrix<V>& left() const { return factors_[0]; }
  const CsrMatrix<V>& right() const { return factors_.size() > 1 ? factors_[1] : factors_[0]; }

  CsrMatrix<V> product(const CsrMatrix<V>& a, const CsrMatrix<V>& b, const SpGemmOptions<V>& options,
                       SpGemmReport* report = nullptr) const
  {
    return devices_.size() > 1 ? multiplyOnDevices(devices_, a, b, options, report)
                               : multiply(context_, a, b, options, report);
  }

  /// Computes the products before the last one: R A for R A P, and the lower powers.
  void multiplyFirst()
  {
    if (asked_.triple) {
      factors_[0] = product(factors_[0], factors_[1], options_);
      factors_.erase(factors_.begin() + 1);
      log_.info("R A: " + sizeText(factors_[0]) + ".");
    }
    if (asked_.power < 3)
      return;
    factors_.push_back(factors_[0]);
    for (int power = 2; power < asked_.power; ++power) {
      factors_[0] = product(factors_[0], factors_[1], options_);
      log_.info("Power " + std::to_string(power) + ": " + sizeText(factors_[0]) + ".");
    }
  }

  void addLastOptions()
  {
    if (!asked_.mask.empty())
      last_.mask = patternOf(readOperand(context_, asked_.mask, log_).matrix);
    last_.complementMask = asked_.complement;
    if (!asked_.accumulate.empty())
      last_.accumulate = converted<V>(context_, readOperand(context_, asked_.accumulate, log_).matrix);
    if (asked_.scale)
      last_.scale = scale();
    last_.dropTolerance = asked_.dropTolerance;
  }

  V scale() const
  {
    if constexpr (std::is_floating_point_v<V>)
      return static_cast<V>(*asked_.scale);
    if (const auto whole = numberIn<V>(asked_.scaleText))
      return *whole;
    constexpr double exact = 0x1p53; // 1e3 and 2.0 are whole numbers as well
    if (!(std::abs(*asked_.scale) <= exact) || *asked_.scale != std::nearbyint(*asked_.scale))
      throw Error(
          ExitCode::usage,
          "--scale " + asked_.scaleText
              + ": not a whole number of 64 bits, but the matrices hold integers. Allowed: whole numbers, or "
                "--precision f64.");
    return static_cast<V>(*asked_.scale);
  }

  int printInfo()
  {
    report_ = describeProduct(context_, left(), right(), last_);
    if (asked_.json)
      return printJson();
    log_.info("A: " + sizeText(left()) + ", density " + density(left()) + ".");
    log_.info("B: " + sizeText(right()) + ", density " + density(right()) + ".");
    log_.info("Products: " + std::to_string(report_.products) + ".");
    if (report_.entriesPerTileA > 0)
      log_.info("Entries a tile of 8 x 8: " + decimals(report_.entriesPerTileA, 1) + " in A, "
                + decimals(report_.entriesPerTileB, 1) + " in B.");
    log_.info("Method: " + report_.choice + ".");
    log_.info("C has at most " + std::to_string(report_.entriesBound) + " entries ("
              + std::to_string((report_.entriesBound * (sizeof(V) + sizeof(std::uint32_t))) >> 20)
              + " MiB), made in " + std::to_string(report_.ranges)
              + (report_.ranges == 1 ? " range of rows." : " ranges of rows."));
    if (asked_.mask.empty())
      log_.info(predictedTimeText(turned(left(), options_.transposeA), turned(right(), options_.transposeB),
                                  context_.threads));
    return 0;
  }

  static std::string density(const CsrMatrix<V>& matrix)
  {
    const double cells = static_cast<double>(matrix.rows) * static_cast<double>(matrix.columns);
    return cells > 0 ? significant(static_cast<double>(matrix.entries()) / cells, 3) : "0";
  }

  /// Writes C in ranges of rows, so that it need not fit into memory. The file begins with the number of
  /// entries, so C is computed twice: first to count them.
  int writeInRanges()
  {
    const auto start = Clock::now();
    const SpGemmReport expected = describeProduct(context_, left(), right(), last_);
    const std::size_t rows = options_.transposeA ? left().columns : left().rows;
    const std::size_t columns = options_.transposeB ? right().rows : right().columns;
    if (expected.ranges > 1)
      multiplyInRanges<V>(context_, left(), right(), last_,
                          [&](std::size_t, CsrMatrix<V>&& range) { entries_ += range.entries(); });
    MatrixOutput output(context_, asked_.output);
    const ByteSink sink = [&](std::string_view bytes) { output.put(bytes); };
    std::size_t ranges = 0;
    multiplyInRanges<V>(
        context_, left(), right(), last_,
        [&](std::size_t firstRow, CsrMatrix<V>&& range) {
          if (expected.ranges == 1)
            entries_ = range.entries();
          if (ranges++ == 0)
            sink(matrixMarketHead(CsrMatrix<V>(), false, rows, columns, entries_));
          writeMatrixMarketRows(context_, std::move(range), false, firstRow, sink);
        },
        &report_);
    output.finish();
    milliseconds_.push_back(1e3 * secondsSince(start));
    log_.info("C: " + std::to_string(rows) + " x " + std::to_string(columns) + ", " + std::to_string(entries_)
              + " entries, " + std::to_string(report_.products) + " products, in "
              + std::to_string(report_.ranges) + " ranges of rows, written to " + asked_.output + ", "
              + timeText() + ".");
    return printJson();
  }

  void check(const CsrMatrix<V>& c)
  {
    comparison_ = compareWithPlain(context_, left(), right(), last_, c);
    // Each product and each sum is rounded once, and the longest sum has a product for each column of A.
    const double unit = std::is_same_v<V, float> ? 0x1p-24 : 0x1p-53;
    const double allowed = options_.half           ? 2e-3
                           : std::is_integral_v<V> ? 0
                                                   : unit * (4 + static_cast<double>(right().rows));
    if (comparison_->misplaced > 0 || !(comparison_->largestError <= allowed))
      throw Error(ExitCode::registrationFailed,
                  "--check: " + std::to_string(comparison_->misplaced) + " entries are misplaced, and the "
                      + "largest relative error is " + significant(comparison_->largestError, 3)
                      + ". Allowed: none, and " + significant(allowed, 3) + ".");
    log_.info("Check: equal to a plain product in " + std::string(std::is_integral_v<V> ? "int64" : "double")
              + " but for a relative error of " + significant(comparison_->largestError, 3) + ".");
  }

  void write(const CsrMatrix<V>& c)
  {
    const auto start = Clock::now();
    writeMatrix(context_, asked_.output, c);
    log_.info("Written to " + asked_.output + " in " + decimals(secondsSince(start), 3) + " s.");
  }

  std::string timeText() const
  {
    std::vector<double> sorted = milliseconds_;
    std::sort(sorted.begin(), sorted.end());
    const std::string median = decimals(sorted[sorted.size() / 2], 3) + " ms";
    return sorted.size() == 1 ? median
                              : "median " + median + ", least " + decimals(sorted.front(), 3) + " ms of "
                                    + std::to_string(sorted.size());
  }

  /// In the order of the entries. Throws Error(usage) beyond the range of 64-bit integers.
  void addUp(const CsrMatrix<V>& c)
  {
    PlusTimes<std::conditional_t<std::is_same_v<V, float>, double, V>> ring;
    auto sum = ring.zero;
    for (const V value : c.value)
      sum = ring.add(sum, value);
    if (ring.overflowed)
      throw Error(ExitCode::usage,
                  "--sum: it is beyond 64 bits. Allowed: smaller integers, or precision f64.");
    log_.info("Sum of the entries: " + (sum_ = sum).dump() + ".");
  }

  int printJson() const
  {
    if (!asked_.json)
      return 0;
    const auto matrix = [](const CsrMatrix<V>& m) {
      return nlohmann::json{{"rows", m.rows}, {"columns", m.columns}, {"entries", m.entries()}};
    };
    nlohmann::json json{{"a", matrix(left())},
                        {"b", matrix(right())},
                        {"products", report_.products},
                        {"entriesBound", report_.entriesBound},
                        {"entriesPerTileA", report_.entriesPerTileA},
                        {"entriesPerTileB", report_.entriesPerTileB},
                        {"groups", report_.groups},
                        {"tileGroups", report_.tileGroups},
                        {"ranges", report_.ranges},
                        {"method", report_.choice},
                        {"threads", context_.threads}};
    if (!milliseconds_.empty()) {
      json["entries"] = entries_;
      json["milliseconds"] = milliseconds_;
    }
    if (comparison_)
      json["largestError"] = comparison_->largestError;
    if (asked_.sum)
      json["sum"] = sum_;
    return printText(json.dump(2) + "\n");
  }

  const SpGemmArguments& asked_;
  std::vector<Context> devices_; // several devices share the rows of C
  Context context_;
  RunLog& log_;
  std::vector<CsrMatrix<V>> factors_;
  SpGemmOptions<V> options_, last_; // options of every product, and of the last product
  SpGemmReport report_;
  std::uint64_t entries_ = 0;
  std::vector<double> milliseconds_;
  std::optional<PlainComparison> comparison_;
  nlohmann::json sum_;
};

int generate(const SpGemmArguments& asked, const Context& context, RunLog& log)
{
  const CsrMatrix<double> matrix = makeBenchmarkMatrix(context, asked.generate);
  writeMatrix(context, asked.output, matrix);
  log.info(asked.generate + ": " + sizeText(matrix) + ", written to " + asked.output + ".");
  return 0;
}

/// Reads the matrices, multiplies, checks and writes. Returns the exit code.
int runSpGemm(const SpGemmArguments& asked, int threads, RunLog& log)
{
  if (asked.output == "-" || asked.json)
    log.setConsoleLevel(LogLevel::warning);
  if (asked.device != "auto")
    chooseDevices(asked.device, "--device"); // reports a device that is not there before the work begins
  const Context host{{}, threads};
  if (!asked.output.empty() && asked.output != "-")
    AtomicFile(asked.output); // reports a place that cannot be written to before the work begins
  if (!asked.generate.empty())
    return generate(asked, host, log);

  std::vector<MatrixFile> files;
  for (const std::string& path : asked.operands)
    files.push_back(readOperand(host, path, log));
  const Precision precision = asked.precision.value_or(naturalPrecision(files));
  switch (precision) {
  case Precision::int64:
    return Run<std::int64_t>(asked, threads, false, std::move(files), log).run();
  case Precision::f16:
  case Precision::f32:
    return Run<float>(asked, threads, precision == Precision::f16, std::move(files), log).run();
  case Precision::f64:
    break;
  }
  return Run<double>(asked, threads, false, std::move(files), log).run();
}

void put(const char* text)
{
  static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text)));
}

/// Ends the program with an error instead of a signal if another program cuts off a mapped matrix.
extern "C" void endOnTruncatedFile(int signal, siginfo_t* info, void*)
{
  const char* const path = mappedFileAt(info->si_addr);
  if (!path) {
    std::signal(signal, SIG_DFL); // the instruction is tried again and ends the program
    return;
  }
  static std::atomic_flag isTold; // several threads may read there
  while (isTold.test_and_set())
    pause();
  put("ERROR: ");
  put(path);
  put(": the file was cut off while it was read. Allowed: files that stay as they are during the run.\n");
  _exit(static_cast<int>(ExitCode::unreadableInput));
}

void watchMappedFiles()
{
  struct sigaction action {};
  action.sa_sigaction = endOnTruncatedFile;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

int run(int count, char** words, RunLog& log)
{
  const std::vector<std::string> tokens(words + 1, words + count);
  Arguments arguments({});
  if (tokens.empty())
    return printText(helpText(spGemmText()));
  const SpGemmArguments asked = spGemmArguments(tokens, arguments);
  if (arguments.has("help"))
    return printText(helpText(spGemmText()));
  if (const std::string text = versionText(arguments, "tessera-spgemm"); !text.empty())
    return printText(text);

  watchMappedFiles();
  const EndOnSignals ending(log);
  setVerbosity(arguments, log);
  setPriority(arguments, log);
  return runSpGemm(asked, threadCount(arguments), log);
}

}

int main(int count, char** words)
{
  return runProgram([&](RunLog& log) { return run(count, words, log); });
}
