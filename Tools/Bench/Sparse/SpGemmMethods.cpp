#include "Tools/Bench/Sparse/SpGemmMethods.h"

#include "Core/Sparse/PreparedProductOnCuda.h"
#include "Core/Sparse/SpGemm.h"
#include "Core/Sparse/SpGemmOnDevices.h"
#include "Core/Sparse/SpGemmPlanOnCuda.h"
#include "Core/Sparse/TSparse/TSparseProduct.h"
#include "Tools/Bench/Rivals/CusparseProduct.h"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <ranges>

namespace tessera {
namespace {

template <class V>
class OnCpu final : public SpGemmMethod<V> {
public:
  OnCpu(const SpGemmFactor<V>& factor, SpGemmOptions<V> options)
      : factor_(factor), options_(std::move(options))
  {
  }
  void run() override
  {
    c_ = {};
    c_ = multiply(factor_.context, factor_.host, factor_.host, options_, &report_);
  }
  CsrMatrix<V> result() override { return c_; }
  void drop() override { c_ = {}; }
  SpGemmReport report() const override { return report_; }

private:
  SpGemmFactor<V> factor_;
  SpGemmOptions<V> options_;
  SpGemmReport report_;
  CsrMatrix<V> c_;
};

/// The base of methods whose C is a CsrOnCuda.
template <class V>
class OnCuda : public SpGemmMethod<V> {
public:
  explicit OnCuda(const SpGemmFactor<V>& factor) : factor_(factor) {}
  void run() final
  {
    c_.reset();
    c_ = multiplied(report_);
  }
  CsrMatrix<V> result() final { return broughtToHost(factor_.context, *c_); }
  void drop() final { c_.reset(); }
  SpGemmReport report() const final { return report_; }

protected:
  virtual CsrOnCuda<V> multiplied(SpGemmReport&) = 0;
  const SpGemmFactor<V> factor_;

private:
  SpGemmReport report_;
  std::optional<CsrOnCuda<V>> c_;
};

template <class V>
class TilesOrRows final : public OnCuda<V> {
public:
  TilesOrRows(const SpGemmFactor<V>& factor, SpGemmAlgorithm algorithm)
      : OnCuda<V>(factor), spGemm_(factor.context)
  {
    options_.algorithm = algorithm;
  }

private:
  CsrOnCuda<V> multiplied(SpGemmReport& report) override
  {
    return spGemm_.multiply(this->factor_.onCuda, this->factor_.onCuda, options_, &report);
  }
  SpGemmOnCuda spGemm_;
  SpGemmOnCudaOptions options_;
};

/// With all options; A is copied to the device before the measurement, and C stays there.
template <class V>
class WithOptions final : public SpGemmMethod<V> {
public:
  WithOptions(const SpGemmFactor<V>& factor, const SpGemmOptions<V>& options)
      : product_(factor.context, factor.host, factor.host, options)
  {
  }
  void run() override
  {
    drop();
    made_ = product_.multiplyWithinMemory(0, product_.rows());
  }
  CsrMatrix<V> result() override
  {
    CsrMatrix<V> c = memoryOnHost<V>(product_.rows(), product_.columns(), made_.entries());
    product_.place(made_, c, 0, 0);
    return c;
  }
  void drop() override { made_ = {}; }
  SpGemmReport report() const override { return product_.report(); }

private:
  PreparedProductOnCuda<V> product_;
  RowsOfProduct<V> made_;
};

/// Computes values alone, on the kept pattern of a plan.
template <class V>
class ByPlan final : public SpGemmMethod<V> {
public:
  explicit ByPlan(const SpGemmFactor<V>& factor)
      : factor_(factor), plan_(factor.context, factor.onCuda, factor.onCuda)
  {
  }
  void run() override
  {
    const V* const numbers = factor_.onCuda.value.span().data();
    numbers_.reset();
    numbers_ = plan_.execute(numbers, numbers);
  }
  CsrMatrix<V> result() override
  {
    CsrMatrix<V> c = emptyMatrix<V>(factor_.host.rows, factor_.host.columns);
    const CsrOnCuda<V>& pattern = plan_.pattern();
    c.rowStart = pattern.rowStart.toHost(factor_.context);
    c.column = Array<std::uint32_t>(pattern.entries);
    c.value = Array<V>(pattern.entries);
    factor_.context.stream->copyToHost(c.column.data(), pattern.column.span().data(),
                                       pattern.entries * sizeof(std::uint32_t));
    factor_.context.stream->copyToHost(c.value.data(), numbers_->span().data(), pattern.entries * sizeof(V));
    return c;
  }
  void drop() override { numbers_.reset(); }
  SpGemmReport report() const override { return plan_.report(); }

private:
  const SpGemmFactor<V> factor_;
  SpGemmPlanOnCuda<V> plan_;
  std::optional<Buffer<V>> numbers_;
};

/// A is copied to every device before the measurement; C stays distributed.
template <class V>
class OnSeveralDevices final : public SpGemmMethod<V> {
public:
  explicit OnSeveralDevices(const SpGemmFactor<V>& factor) : columns_(factor.host.columns)
  {
    for (const Device& device : factor.devices)
      contexts_.push_back(makeContext(device, factor.context.threads));
    for (const Context& context : contexts_)
      copies_.push_back(broughtToCuda(context, factor.host, "A"));
    for (const CsrOnCuda<V>& copy : copies_)
      factors_.push_back(&copy);
    products_ = std::make_unique<SpGemmOnDevices>(contexts_);
  }
  void run() override
  {
    parts_.clear();
    parts_ = products_->multiply(factors_, factors_);
  }
  CsrMatrix<V> result() override
  {
    std::uint64_t entries = 0;
    for (const PartOnCuda<V>& part : parts_)
      entries += part.c.entries;
    CsrMatrix<V> c = memoryOnHost<V>(parts_.back().firstRow + parts_.back().c.rows, columns_, entries);
    for (std::size_t i = 0; i < parts_.size(); ++i)
      placeOnHost(contexts_[i], parts_[i].c, c, parts_[i].firstRow, c.rowStart[parts_[i].firstRow]);
    return c;
  }
  void drop() override { parts_.clear(); }
  SpGemmReport report() const override { return parts_.empty() ? SpGemmReport{} : parts_.back().report; }

private:
  std::size_t columns_;
  std::vector<Context> contexts_;
  std::vector<CsrOnCuda<V>> copies_;
  std::vector<const CsrOnCuda<V>*> factors_;
  std::unique_ptr<SpGemmOnDevices> products_;
  std::vector<PartOnCuda<V>> parts_;
};

/// Leaves zeros out of C, as the published program does.
class ByTSparse final : public OnCuda<float> {
public:
  ByTSparse(const SpGemmFactor<float>& factor, bool tensorCores)
      : OnCuda(factor), product_(factor.context), options_{.tensorCores = tensorCores, .withoutZeros = true}
  {
  }

  PartTimes timesOfParts() override
  {
    PartTimes times;
    factor_.context.stream->wait();
    auto before = std::chrono::steady_clock::now();
    options_.listener = [&](const char* part) {
      factor_.context.stream->wait();
      const auto now = std::chrono::steady_clock::now();
      times.emplace_back(part, std::chrono::duration<double, std::milli>(now - before).count());
      before = now;
    };
    run();
    options_.listener = {};
    return times;
  }

private:
  CsrOnCuda<float> multiplied(SpGemmReport& report) override
  {
    return product_.multiply(factor_.onCuda, factor_.onCuda, options_, &report);
  }
  TSparseProduct product_;
  TSparseOptions options_;
};

constexpr int reuse = 0; // in place of cuSPARSE's variant: compute values alone, on a kept pattern

template <class V>
class ByCusparse final : public SpGemmMethod<V> {
public:
  ByCusparse(const SpGemmFactor<V>& factor, int variant)
      : product_(factor.context, factor.onCuda, factor.onCuda), variant_(variant)
  {
    if (variant == reuse)
      product_.keepPattern();
  }
  void run() override
  {
    if (variant_ == reuse)
      return product_.recompute();
    c_.reset();
    c_ = product_.multiply(variant_);
  }
  CsrMatrix<V> result() override { return product_.broughtToHost(variant_ == reuse ? product_.kept() : *c_); }
  void drop() override { c_.reset(); }

private:
  CusparseProduct<V> product_;
  int variant_;
  std::optional<typename CusparseProduct<V>::Result> c_;
};

template <class V>
using Maker = std::function<std::unique_ptr<SpGemmMethod<V>>(const SpGemmFactor<V>&)>;

constexpr std::pair<const char*, SpGemmAlgorithm> algorithms[] = {
    {"auto", SpGemmAlgorithm::automatic}, {"tiles", SpGemmAlgorithm::tiles}, {"rows", SpGemmAlgorithm::rows}};

template <class V>
std::map<std::string, Maker<V>> makers(bool onCuda)
{
  std::map<std::string, Maker<V>> all;
  for (const auto& [name, algorithm] : algorithms)
    all[name] = [onCuda, algorithm](const SpGemmFactor<V>& factor) -> std::unique_ptr<SpGemmMethod<V>> {
      if (onCuda)
        return std::make_unique<TilesOrRows<V>>(factor, algorithm);
      return std::make_unique<OnCpu<V>>(factor, SpGemmOptions<V>{.algorithm = algorithm});
    };
  for (const bool masked : {false, true})
    all[masked ? "plus-pair-masked" : "plus-pair"] =
        [onCuda, masked](const SpGemmFactor<V>& factor) -> std::unique_ptr<SpGemmMethod<V>> {
      SpGemmOptions<V> options{.semiring = Semiring::plusPair};
      if (masked)
        options.mask = factor.host;
      if (onCuda)
        return std::make_unique<WithOptions<V>>(factor, options);
      return std::make_unique<OnCpu<V>>(factor, std::move(options));
    };
  if (!onCuda)
    return all;
  all["plan"] = [](const SpGemmFactor<V>& factor) { return std::make_unique<ByPlan<V>>(factor); };
  all["several-devices"] = [](const SpGemmFactor<V>& factor) {
    return std::make_unique<OnSeveralDevices<V>>(factor);
  };
  all["cusparse-reuse"] = [](const SpGemmFactor<V>& factor) {
    return std::make_unique<ByCusparse<V>>(factor, reuse);
  };
  for (int variant = 1; variant <= 3; ++variant)
    all["cusparse" + std::to_string(variant)] = [variant](const SpGemmFactor<V>& factor) {
      return std::make_unique<ByCusparse<V>>(factor, variant);
    };
  for (const bool tensorCores : {true, false})
    all[tensorCores ? "tsparse" : "tsparse-without-tensor-cores"] =
        [tensorCores](const SpGemmFactor<V>& factor) -> std::unique_ptr<SpGemmMethod<V>> {
      if constexpr (std::is_same_v<V, float>)
        return std::make_unique<ByTSparse>(factor, tensorCores);
      else
        throw Error(ExitCode::usage,
                    "--method tsparse: double precision: its sums are in single. Allowed: --precision f32.");
    };
  return all;
}

template <class V>
Maker<V> makerOf(const std::string& name, bool onCuda)
{
  const std::map<std::string, Maker<V>> known = makers<V>(onCuda);
  if (const auto found = known.find(name); found != known.end())
    return found->second;
  throw Error(ExitCode::usage, "--method: \"" + name
                                   + "\": no method of sparse products on this device. Allowed: "
                                   + joined(std::views::keys(known)) + ".");
}

}

void checkSpGemmMethod(const std::string& name, bool onCuda)
{
  makerOf<float>(name, onCuda);
}

template <class V>
std::unique_ptr<SpGemmMethod<V>> spGemmMethod(const std::string& name, const SpGemmFactor<V>& factor)
{
  return makerOf<V>(name, factor.context.onCuda())(factor);
}

template std::unique_ptr<SpGemmMethod<float>> spGemmMethod(const std::string&, const SpGemmFactor<float>&);
template std::unique_ptr<SpGemmMethod<double>> spGemmMethod(const std::string&, const SpGemmFactor<double>&);

}
