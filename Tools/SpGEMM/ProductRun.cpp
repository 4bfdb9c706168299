#include "Tools/SpGEMM/ProductRun.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/Median.h"
#include "Core/Compute/NumberIn.h"
#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/Analysis/Reordering.h"
#include "Core/Sparse/Analysis/TileStatistics.h"
#include "Core/Sparse/Files/MatrixFormats.h"
#include "Core/Sparse/Files/MatrixOutput.h"
#include "Core/Sparse/SpGemm.h"
#include "Core/Sparse/SpGemmOnDevices.h"
#include "Tools/Common/Process.h"
#include "Tools/SpGEMM/OperandFile.h"
#include "Tools/SpGEMM/PlainProduct.h"
#include "Tools/SpGEMM/ProductDevice.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t mostCountedProducts = 2'000'000'000; // some ten seconds on one thread

template <class V>
class ProductRun {
public:
  ProductRun(const SpGemmArguments& asked, int threads, bool half, std::vector<MatrixFile> files, RunLog& log)
      : asked_(asked), context_{{}, threads}, log_(log)
  {
    for (std::size_t i = 0; i < asked.operands.size(); ++i) {
      factors_.push_back(convertedOperand<V>(context_, asked.operands[i], files[i]));
      files[i] = {};
    }
    options_.semiring = asked.semiring;
    options_.algorithm = asked.algorithm;
    options_.half = half;
    options_.maxMemoryBytes = asked.maxMemoryBytes;
    options_.transposeA = asked.transposeA || asked.transposedTimes;
    options_.transposeB = asked.transposeB || asked.timesTransposed;
    last_ = options_;
    addLastOptions(files);
    takeDevices();
  }

  int run()
  {
    multiplyFirst();
    reorder();
    if (asked_.info)
      return printInfo();
    if (goesOutAlone() && asked_.maxMemoryBytes > 0
        && formatOfMatrix(asked_.output) == MatrixFormat::matrixMarket)
      return writeInRanges();
    CsrMatrix<V> c;
    for (int repeat = 0; repeat < asked_.repeats; ++repeat) {
      c = {};
      const auto start = Clock::now();
      c = orderedProduct();
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

  /// Throws before the first product, and names the file, if the mask or D does not fit C.
  void checkLast(const std::string& path) const
  {
    withContext(path, [&] {
      checkOptionsOf(context_, options_.transposeA ? left().columns : left().rows,
                     options_.transposeB ? factors_.back().rows : factors_.back().columns, last_);
    });
  }

  CsrMatrix<V> product(const CsrMatrix<V>& a, const CsrMatrix<V>& b, const SpGemmOptions<V>& options,
                       SpGemmReport* report = nullptr) const
  {
    try {
      return devices_.size() > 1 ? multiplyOnDevices(devices_, a, b, options, report)
                                 : multiply(context_, a, b, options, report);
    } catch (const Error& error) {
      std::string text = error.what();
      const std::string advice = ", or C in ranges of rows";
      if (const std::size_t at = text.find(advice); at != std::string::npos)
        text.replace(at, advice.size(),
                     report && goesOutAlone()
                         ? ", or --max-memory with -o C.mtx, which is written in ranges of rows"
                         : "");
      throw Error(error.code(), text);
    }
  }

  /// Whether C is written once and nothing else is wanted of it.
  bool goesOutAlone() const
  {
    return !asked_.output.empty() && asked_.repeats == 1 && !asked_.check && !asked_.sum
           && devices_.size() == 1;
  }

  /// Numbers the rows of a matrix anew whose product with itself or its transpose is wanted, if that fills
  /// the tiles. "auto" does so on the CPU, and elsewhere for products that are made often.
  void reorder()
  {
    constexpr int often = 20;
    const bool isAuto = asked_.reorder == Reorder::automatic, isOften = asked_.repeats >= often;
    if (asked_.reorder == Reorder::none || (isAuto && context_.onCuda() && !isOften))
      return;
    const bool byRows = asked_.algorithm == SpGemmAlgorithm::rows || asked_.semiring == Semiring::minPlus
                        || asked_.semiring == Semiring::maxMin;
    const bool canBe = factors_.size() == 1 && left().rows == left().columns && devices_.size() == 1
                       && asked_.power < 3 && !asked_.triple && !last_.mask && !last_.accumulate
                       && asked_.maxMemoryBytes == 0 && !byRows;
    if (!canBe && !isAuto)
      failCommandLine("--reorder rcm", "the product cannot be made so",
                      "a square matrix A alone, also with --aat and --ata, by tiles, on one device, without "
                      "--mask, --accumulate and --max-memory");
    if (!canBe)
      return;
    const auto start = Clock::now();
    checkMatrix(context_, left(), asked_.operands.front());
    reordering_ = reorderForTiles(context_, left(), !isAuto, reordered_);
    log_.info("Order: " + reordering_.choice + ". This was found in " + decimals(secondsSince(start), 3)
              + " s.");
  }

  CsrMatrix<V> orderedProduct()
  {
    const auto& numbering = reordering_.numbering;
    if (!numbering)
      return product(left(), right(), last_, &report_);
    return renumbered(context_, product(reordered_, reordered_, last_, &report_), numbering->newOfOld,
                      numbering->oldOfNew);
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

  void addLastOptions(const std::vector<MatrixFile>& files)
  {
    if (!asked_.accumulate.empty()) {
      last_.accumulate = convertedOperand<V>(context_, asked_.accumulate, files[asked_.operands.size()]);
      checkLast(asked_.accumulate);
    }
    if (!asked_.mask.empty()) {
      last_.mask = patternOf(files.back().matrix);
      checkLast(asked_.mask);
    }
    last_.complementMask = asked_.complement;
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
      failAs(ExitCode::usage, "--scale " + asked_.scaleText,
             "not a whole number of 64 bits, but the matrices hold integers",
             "whole numbers, or --precision f64");
    return static_cast<V>(*asked_.scale);
  }

  int printInfo()
  {
    const bool isReordered = reordering_.numbering.has_value();
    const CsrMatrix<V>&first = isReordered ? reordered_ : left(),
          &second = isReordered ? reordered_ : right();
    report_ = describeProduct(context_, first, second, last_);
    const CsrMatrix<V> a = turned(first, options_.transposeA), b = turned(second, options_.transposeB);
    if (report_.products <= mostCountedProducts && std::max(a.columns, b.columns) <= largestTiledColumns)
      tiles_ = countProductTiles({{}, context_.threads}, a, b);
    if (asked_.json)
      return printJson();
    log_.info("A: " + sizeText(left()) + ", density " + density(left()) + ".");
    log_.info("B: " + sizeText(right()) + ", density " + density(right()) + ".");
    log_.info("Products: " + std::to_string(report_.products) + ".");
    if (!tiles_)
      log_.info("Tiles are not counted: with so many products or columns it would take long.");
    for (std::size_t s = 0; tiles_ && s < countedSides.size(); ++s)
      log_.info("Tiles of " + std::to_string(countedSides[s]) + " x " + std::to_string(countedSides[s])
                + (isReordered ? " by the new numbers" : "")
                + ", with median, mean and deviation of their entries: A " + tilesText(tiles_->a[s]) + "; B "
                + tilesText(tiles_->b[s]) + (last_.mask ? "; A B without the mask " : "; A B ")
                + tilesText(tiles_->product[s]) + "; " + std::to_string(tiles_->pairs[s])
                + " pairs of A and B meet.");
    log_.info("Method: " + report_.choice + ".");
    log_.info("C has at most " + std::to_string(report_.entriesBound) + " entries ("
              + std::to_string((report_.entriesBound * (sizeof(V) + sizeof(std::uint32_t))) >> 20)
              + " MiB), made in " + rangesText() + ".");
    if (asked_.mask.empty())
      log_.info(predictedTimeText(a, b, context_.threads));
    return 0;
  }

  std::string rangesText() const
  {
    return std::to_string(report_.ranges) + (report_.ranges == 1 ? " range of rows" : " ranges of rows");
  }

  static std::string tilesText(const TileStatistics& tiles)
  {
    return std::to_string(tiles.tiles) + " (" + significant(tiles.median, 4) + ", " + decimals(tiles.mean, 2)
           + ", " + decimals(tiles.deviation, 2) + ")";
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
              + " entries, " + std::to_string(report_.products) + " products, in " + rangesText()
              + ", written to " + asked_.output + ", " + timeText() + ".");
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
      failAs(ExitCode::registrationFailed, "--check",
             std::to_string(comparison_->misplaced)
                 + " entries are misplaced, and the largest relative error is "
                 + significant(comparison_->largestError, 3),
             "none, and " + significant(allowed, 3));
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
    const std::string middle = decimals(median(milliseconds_), 3) + " ms";
    return milliseconds_.size() == 1
               ? middle
               : "median " + middle + ", least " + decimals(std::ranges::min(milliseconds_), 3) + " ms of "
                     + std::to_string(milliseconds_.size());
  }

  /// In the order of the entries. Throws Error(usage) beyond the range of 64-bit integers.
  void addUp(const CsrMatrix<V>& c)
  {
    PlusTimes<std::conditional_t<std::is_same_v<V, float>, double, V>> ring;
    auto sum = ring.zero;
    for (const V value : c.value)
      sum = ring.add(sum, value);
    if (ring.overflowed)
      failAs(ExitCode::usage, "--sum", "it is beyond 64 bits", "smaller integers, or precision f64");
    if (const auto number = static_cast<double>(sum); std::isfinite(number))
      sum_ = sum;
    else // JSON has no such number
      sum_ = std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
    if (!asked_.json)
      printText("Sum of the entries: " + (sum_.is_string() ? std::string(sum_) : sum_.dump()) + ".\n");
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
    for (std::size_t s = 0; tiles_ && s < countedSides.size(); ++s) {
      nlohmann::json counted{{"side", countedSides[s]}, {"pairs", tiles_->pairs[s]}};
      for (const auto& [name, of] : {std::pair("a", tiles_->a[s]), std::pair("b", tiles_->b[s]),
                                     std::pair("product", tiles_->product[s])})
        counted[name] = {
            {"tiles", of.tiles}, {"median", of.median}, {"mean", of.mean}, {"deviation", of.deviation}};
      json["tiles"].push_back(counted);
    }
    if (!reordering_.choice.empty())
      json["reordering"] = {{"isTaken", reordering_.numbering.has_value()},
                            {"nodes", reordering_.nodes},
                            {"productsPerPairBefore", reordering_.perPairBefore},
                            {"productsPerPairAfter", reordering_.perPairAfter}};
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
  Reordering reordering_;
  std::optional<ProductTiles> tiles_;
  CsrMatrix<V> reordered_; // the factor by these numbers
  SpGemmReport report_;
  std::uint64_t entries_ = 0;
  std::vector<double> milliseconds_;
  std::optional<PlainComparison> comparison_;
  nlohmann::json sum_;
};

}

template <class V>
int runProduct(const SpGemmArguments& asked, int threads, bool half, std::vector<MatrixFile> files,
               RunLog& log)
{
  return ProductRun<V>(asked, threads, half, std::move(files), log).run();
}

TESSERA_INSTANTIATE_FOR_NUMBERS(runProduct<V>);

}
