#include "Tools/Bench/Benches.h"

#include "Core/Compute/Error.h"
#include "Core/Sparse/MatrixFile.h"
#include "Core/Sparse/Numbers/HalfPrecision.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Matrices/BenchmarkMatrices.h"
#include "Tools/Bench/Sparse/SpGemmMethods.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

namespace tessera {
namespace {

/// The benchmark matrix of that name, or else the matrix in that file.
CsrMatrix<double> matrixNamed(const Context& context, const std::string& name)
{
  const auto& known = benchmarkMatrices();
  if (std::any_of(known.begin(), known.end(),
                  [&](const BenchmarkMatrix& matrix) { return name == matrix.name; }))
    return makeBenchmarkMatrix(context, name);
  if (std::error_code ignored; !std::filesystem::exists(name, ignored)) {
    std::string names;
    for (const BenchmarkMatrix& matrix : known)
      names += ", " + std::string(matrix.name);
    failAs(ExitCode::usage, "--matrix", "\"" + name + "\": neither a benchmark matrix nor a file",
           "a matrix file" + names);
  }
  return converted<double>(context, readMatrix(context, name).matrix);
}

std::uint64_t productsOf(const MatrixPattern& a)
{
  std::uint64_t products = 0;
  for (const std::uint32_t k : a.column)
    products += a.rowEntries(k);
  return products;
}

template <class V>
class Run {
public:
  Run(Context& context, const SpGemmBenchSettings& settings)
      : context_(context), settings_(settings), clock_(context, settings.repeats), copyBytesAMs_(copyRate())
  {
  }

  BenchReport all()
  {
    for (const std::string& method : settings_.methods)
      checkSpGemmMethod(method, context_.onCuda()); // unknown names are reported before anything is measured
    if (!settings_.tables) {
      for (const std::string& name : settings_.matrices)
        measure(name);
      return {results_};
    }
    const auto places = placesOfPublished(settings_.folder, settings_.matrices);
    for (const auto& [name, place] : places)
      if (!place.empty()) {
        measure(place);
        if (expected_) // none of the methods could compute C otherwise, which was told
          facts_[name] = squareFacts({{}, context_.threads}, a_, expected_->entries());
        if (!partsOfOne_.empty())
          parts_[name] = partsOfOne_;
      }
    return {results_, spGemmTables(places, facts_, parts_, results_)};
  }

private:
  double copyRate()
  {
    constexpr std::size_t count = std::size_t{256} << 20;
    Buffer<unsigned char> from(context_, count), to(context_, count);
    const BenchTimes times = clock_.time([&] {
      if (context_.onCuda())
        context_.stream->copyOnDevice(to.span().data(), from.span().data(), count);
      else
        std::memcpy(to.span().data(), from.span().data(), count);
    });
    return 2.0 * count / times.msWarm;
  }

  void measure(const std::string& nameOrFile)
  {
    const std::string name = std::filesystem::path(nameOrFile).filename().string();
    a_ = converted<V>(context_, matrixNamed(context_, nameOrFile));
    if (settings_.half)
      for (V& value : a_.value)
        value = static_cast<V>(roundedToHalf(static_cast<double>(value)));
    if (context_.onCuda())
      onCuda_ = broughtToCuda(context_, a_, "A");
    expected_.reset();
    partsOfOne_.clear();
    const std::uint64_t products = productsOf(a_);
    for (const std::string& method : settings_.methods)
      if (const std::unique_ptr<SpGemmMethod<V>> ready = readyMethod(name, method))
        measure(name, method, products, *ready);
  }

  /// A method that has computed the product once. Null, with a message on standard error, if it cannot.
  std::unique_ptr<SpGemmMethod<V>> readyMethod(const std::string& name, const std::string& methodName) const
  {
    try {
      std::unique_ptr<SpGemmMethod<V>> method =
          spGemmMethod<V>(methodName, {context_, a_, onCuda_, settings_.devices});
      method->run();
      return method;
    } catch (const Error& error) {
      std::fprintf(stderr, "%s: %s: %s\n", name.c_str(), methodName.c_str(), error.what());
      return nullptr;
    }
  }

  void measure(const std::string& name, const std::string& methodName, std::uint64_t products,
               SpGemmMethod<V>& method)
  {
    CsrMatrix<V> c = method.result();
    const auto bytes = static_cast<double>(a_.bytes() + c.bytes());
    std::optional<double> error;
    if (expected_)
      error = largestDifference(c, *expected_, name + ": " + methodName);
    else
      expected_ = std::move(c);
    c = {};
    const BenchTimes times = clock_.time([&] { method.run(); });
    if (settings_.tables && methodName == "tsparse")
      partsOfOne_ = method.timesOfParts();
    method.drop();
    BenchResult result = measuredRow(context_, name, methodName, times, static_cast<double>(products), bytes);
    result.largestError = error;
    result.share = bytes / copyBytesAMs_ / times.msWarm;
    result.shareOf = "copy";
    results_.push_back(result);
    sayMore(result, method.report());
  }

  /// Prints to standard error what the table has no column for.
  void sayMore(const BenchResult& result, const SpGemmReport& report) const
  {
    const auto entries = static_cast<double>(expected_->entries());
    std::fprintf(stderr, "%s: %s: %.4f ms, C has %.0f entries, %.1f G products/s, compression %.2f",
                 result.caseName.c_str(), result.method.c_str(), result.msWarm, entries,
                 1e-6 * result.items / result.msWarm, result.items / std::max(entries, 1.0));
    if (report.bytesTaken > 0)
      std::fprintf(stderr, ", memory taken %.2f of A and C",
                   static_cast<double>(report.bytesTaken) / result.bytes);
    std::fprintf(stderr, ". %s\n", report.choice.c_str());
  }

  Context& context_;
  const SpGemmBenchSettings& settings_;
  BenchClock clock_;
  double copyBytesAMs_;
  CsrMatrix<V> a_;
  CsrOnCuda<V> onCuda_;
  std::optional<CsrMatrix<V>> expected_;
  std::vector<BenchResult> results_;
  PartTimes partsOfOne_; // of tsparse, for the matrix that is measured
  std::map<std::string, SquareFacts> facts_;
  std::map<std::string, PartTimes> parts_;
};

}

BenchReport spGemmBench(Context& context, const SpGemmBenchSettings& settings)
{
  return settings.singlePrecision ? Run<float>(context, settings).all()
                                  : Run<double>(context, settings).all();
}

}
