#pragma once

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/Terms/MetricOnCuda.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace tessera {

/// The ranges of the level's images inside the masks.
struct LevelFacts {
  double fixedMin = 0, fixedMax = 0, movingMin = 0, movingMax = 0;
};

// clang-format 14 breaks the lines of concepts badly.
// clang-format off
/// A metric as a formula: what one pair of intensities adds to its sums, and the slope that follows from
/// them. It never sees an image, a transform or a coordinate.
template <class F>
concept MetricFormula =
    std::constructible_from<F, const Parameters&, std::size_t /*level*/, LevelFacts>
    && requires(const F f, typename F::Sums& sums, const typename F::Sums& others,
                const typename F::Table& table, float fixed, float moving, std::size_t valid) {
  { F::description() } -> std::same_as<const ComponentDescription&>;
  { f.zeroSums() } -> std::same_as<typename F::Sums>;
  f.accumulate(sums, fixed, moving); // pass 1
  sums.add(others);                  // merges the sums of stripes, always in the same order
  { f.finish(sums, valid) } -> std::same_as<typename F::Table>;
  { f.value(table) } -> std::same_as<double>;
  { f.slope(table, fixed, moving) } -> std::same_as<float>; // pass 2: d value / d moving intensity
};

/// A formula that has a CUDA form, with kernels in its .cu file. A formula without one runs on the CPU alone.
template <class F>
concept MetricFormulaOnCuda = requires(const F f, const Context& context) {
  { f.onCuda(context) } -> std::same_as<std::unique_ptr<MetricOnCuda>>; // as Metric::onCuda
};

/// A formula that also has functions for arrays of pairs. They are faster, and have the same bits as the
/// functions for one pair.
template <class F>
concept MetricBatches =
    requires(const F f, typename F::Sums& sums, const typename F::Table& table, const float* pairs,
             std::size_t count, float* slopes) {
  f.accumulate(sums, pairs, pairs, count);
  f.slopes(table, pairs, pairs, count, slopes);
};
// clang-format on

/// A metric between the intensities of the fixed image and those of the moving image under the chain. It is
/// either a PairMetric or a LatticeMetric.
class Metric {
public:
  virtual ~Metric() = default;

  virtual void prepareForLevel(std::size_t level, const LevelFacts&) = 0;
  /// Empty if there is a CUDA form; otherwise `the metric "..."`, which has none.
  virtual std::string whyNotOnCuda() const = 0;
  /// The same metric in kernels. Call it after prepareForLevel. It takes all its memory at once, also on the
  /// context of a MemoryCount; a LatticeMetric for a lattice of at most so many positions. Throws
  /// Error(device) if there is no CUDA form.
  virtual std::unique_ptr<MetricOnCuda> onCuda(const Context&, std::size_t latticePositions = 0) const = 0;
};

/// A formula over arrays. The drivers of batches on the CPU call it once a batch.
class PairMetric : public Metric {
public:
  /// Sets all sums to zero. There are `stripes` independent sums, which are merged in their order.
  virtual void begin(std::size_t stripes) = 0;
  virtual void accumulate(std::size_t stripe, const float* fixed, const float* moving, std::size_t count) = 0;
  /// The value over all that was accumulated.
  virtual double finish(std::size_t valid) = 0;
  /// slopes[i] = d value / d moving[i]. Call it after finish.
  virtual void slopes(const float* fixed, const float* moving, std::size_t count, float* slopes) const = 0;
};

/// Intensities at the positions of a lattice, the first axis fastest.
struct LatticeIntensities {
  std::array<std::size_t, 3> size{1, 1, 1}; // positions along each axis; the third is 1 for images of 2D
  const float* fixed = nullptr;
  const float* moving = nullptr; // NaN where a position does not count

  std::size_t positions() const { return size[0] * size[1] * size[2]; }
};

/// A metric whose value needs the neighbours of each sample. It sees the intensities of both images on the
/// whole lattice of samples, so its samplers must be those that give one. It never sees a transform or a
/// coordinate.
class LatticeMetric : public Metric {
public:
  /// Value and, unless null, slopes[i] = d value / d moving[i], which is 0 where a position does not count.
  /// Equal bits for any thread count.
  virtual double evaluate(const Context&, const LatticeIntensities&, float* slopes) = 0;
  /// Bytes of the host's memory that evaluate takes for each position.
  virtual std::size_t bytesAPosition() const = 0;
};

template <MetricFormula F>
class MetricOf final : public PairMetric {
public:
  /// Reads the parameters of every level, so that a bad value is reported before the first one runs.
  explicit MetricOf(const Parameters& parameters) : parameters_(parameters)
  {
    for (std::size_t level = 0; level < parameters.levelCount(); ++level)
      F(parameters, level, LevelFacts{});
  }

  void prepareForLevel(std::size_t level, const LevelFacts& facts) override
  {
    formula_.emplace(parameters_, level, facts);
    sums_.clear();
  }

  std::string whyNotOnCuda() const override
  {
    return MetricFormulaOnCuda<F> ? "" : "the metric \"" + F::description().name + "\"";
  }

  std::unique_ptr<MetricOnCuda> onCuda([[maybe_unused]] const Context& context,
                                       std::size_t /*latticePositions*/ = 0) const override
  {
    [[maybe_unused]] const MemoryPart part(context, "metric");
    if constexpr (MetricFormulaOnCuda<F>)
      return formula_->onCuda(context);
    else
      throw Error(ExitCode::device,
                  "CUDA: " + whyNotOnCuda() + ": has no CUDA form. Allowed: (Device \"cpu\").");
  }

  void begin(std::size_t stripes) override
  {
    const typename F::Sums zero = formula_->zeroSums();
    sums_.resize(std::max(stripes, sums_.size()), zero);
    std::fill(sums_.begin(), sums_.end(), zero);
    stripes_ = stripes;
  }

  void accumulate(std::size_t stripe, const float* fixed, const float* moving, std::size_t count) override
  {
    const F& formula = *formula_;
    typename F::Sums& sums = sums_[stripe];
    if constexpr (MetricBatches<F>)
      formula.accumulate(sums, fixed, moving, count);
    else
      for (std::size_t i = 0; i < count; ++i)
        formula.accumulate(sums, fixed[i], moving[i]);
  }

  double finish(std::size_t valid) override
  {
    for (std::size_t stripe = 1; stripe < stripes_; ++stripe)
      sums_[0].add(sums_[stripe]);
    table_ = formula_->finish(sums_[0], valid);
    return formula_->value(*table_);
  }

  void slopes(const float* fixed, const float* moving, std::size_t count, float* slopes) const override
  {
    const F& formula = *formula_;
    const typename F::Table& table = *table_;
    if constexpr (MetricBatches<F>)
      formula.slopes(table, fixed, moving, count, slopes);
    else
      for (std::size_t i = 0; i < count; ++i)
        slopes[i] = formula.slope(table, fixed[i], moving[i]);
  }

private:
  Parameters parameters_;
  std::optional<F> formula_;
  std::vector<typename F::Sums> sums_; // one a stripe; there may be more, left from earlier evaluations
  std::size_t stripes_ = 0;
  std::optional<typename F::Table> table_;
};

/// A metric of either kind: by its formula, or a LatticeMetric.
template <class Component>
std::unique_ptr<Metric> makeMetric(const Parameters& parameters)
{
  if constexpr (std::derived_from<Component, LatticeMetric>)
    return std::make_unique<Component>(parameters);
  else
    return std::make_unique<MetricOf<Component>>(parameters);
}

}
