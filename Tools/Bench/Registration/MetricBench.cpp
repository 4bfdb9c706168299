#include "Tools/Bench/Registration/MetricBench.h"

#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/AdvancedNormalizedCorrelation.h"
#include "Components/Metrics/NormalizedMutualInformation.h"
#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Parallel.h"
#include "Core/Registration/Samples/Samples.h"
#include "Core/Registration/Terms/MetricOnCuda.h"
#include "Tools/Bench/BenchClock.h"

#include <algorithm>
#include <string>

namespace tessera {
namespace {

constexpr LevelFacts facts{0, 100, 0, 100};

/// The passes of a metric over arrays on the context's device.
class Passes {
public:
  virtual ~Passes() = default;
  virtual void begin() = 0;
  virtual void accumulate() = 0;
  virtual void finish() = 0;
  virtual void slopes() = 0;
};

/// Arrays on the context's device.
struct Arrays {
  Buffer<float> fixed, moving;
  Buffer<float> slopes;
  std::size_t count = 0;
  bool fixedStays = false;
};

class PassesOnCuda final : public Passes {
public:
  PassesOnCuda(Context& context, const Metric& metric, Arrays& arrays)
      : context_(context), metric_(metric.onCuda(context)),
        result_(context, 1), pairs_{arrays.fixed.span().data(), arrays.moving.span().data(), arrays.count,
                                    arrays.fixedStays},
        slopes_(arrays.slopes.span().data())
  {
  }
  void begin() override { metric_->begin(context_); }
  void accumulate() override { metric_->accumulate(context_, pairs_); }
  void finish() override { metric_->finish(context_, result_.span().data()); }
  void slopes() override { metric_->slopes(context_, pairs_, slopes_); }

private:
  Context& context_;
  std::unique_ptr<MetricOnCuda> metric_;
  Buffer<MetricResult> result_;
  IntensityPairs pairs_;
  float* slopes_;
};

/// Runs the passes in batches and stripes, as image terms do on the CPU.
class PassesOnCpu final : public Passes {
public:
  PassesOnCpu(Context& context, Metric& metric, Arrays& arrays)
      : context_(context), metric_(metric), arrays_(arrays), stripes_(std::min<std::size_t>(64, arrays.count))
  {
  }
  void begin() override { metric_.begin(stripes_); }
  void accumulate() override
  {
    forEachBatch([&](std::size_t stripe, std::size_t first, std::size_t count) {
      metric_.accumulate(stripe, arrays_.fixed.span().data() + first, arrays_.moving.span().data() + first,
                         count);
    });
  }
  void finish() override { metric_.finish(arrays_.count); }
  void slopes() override
  {
    forEachBatch([&](std::size_t, std::size_t first, std::size_t count) {
      metric_.slopes(arrays_.fixed.span().data() + first, arrays_.moving.span().data() + first, count,
                     arrays_.slopes.span().data() + first);
    });
  }

private:
  template <class Body>
  void forEachBatch(const Body& body)
  {
    forEachChunk(context_, stripes_, [&](std::size_t stripe) {
      const std::size_t end = arrays_.count * (stripe + 1) / stripes_;
      for (std::size_t first = arrays_.count * stripe / stripes_; first < end; first += batchCapacity)
        body(stripe, first, std::min(batchCapacity, end - first));
    });
  }

  Context& context_;
  Metric& metric_;
  Arrays& arrays_;
  std::size_t stripes_;
};

template <class Formula>
std::unique_ptr<Metric> metricOf(const std::string& parameterText)
{
  std::vector<std::string> notes;
  const auto map = std::make_shared<ParameterMap>(parseParameterText(parameterText, "benchmark", notes));
  auto metric = std::make_unique<MetricOf<Formula>>(Parameters(map, "Metric0", 3, 1));
  metric->prepareForLevel(0, facts);
  return metric;
}

/// Fills fixed intensities with numbers from 0 to 100 and moving ones with similar numbers. With
/// `background`, seven of ten are 0, in runs of hundreds.
void fillPairs(Context& context, Arrays& arrays, bool background)
{
  std::vector<float> fixed(arrays.count), moving(arrays.count);
  forEachRange(context, arrays.count, 1 << 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const auto words = randomWords(Draw{1}, static_cast<std::uint32_t>(i), 0);
      const bool outside = background && i % 512 >= 154;
      fixed[i] = outside ? 0 : static_cast<float>(100 * unitUniform(words[0]));
      moving[i] = outside ? 0 : 0.6f * fixed[i] + static_cast<float>(40 * unitUniform(words[1]));
    }
  });
  arrays.fixed.fromHost(context, fixed);
  arrays.moving.fromHost(context, moving);
}

class Run {
public:
  Run(Context& context, const MetricSettings& settings)
      : context_(context), settings_(settings), clock_(context, settings.repeats),
        device_(measuredDevice(context))
  {
  }

  std::vector<BenchResult> all()
  {
    for (const std::size_t count : settings_.samples) {
      arrays_.count = count;
      arrays_.fixed = Buffer<float>(context_, count);
      arrays_.moving = Buffer<float>(context_, count);
      arrays_.slopes = Buffer<float>(context_, count);
      measureLimits();
      for (const bool background : {false, true}) {
        fillPairs(context_, arrays_, background);
        caseName_ = std::to_string(count) + (background ? " background" : " noise");
        measureMetric("MeanSquares", *metricOf<AdvancedMeanSquares>(""));
        measureMetric("Correlation", *metricOf<AdvancedNormalizedCorrelation>(""));
        for (const int bins : settings_.bins)
          measureHistograms(bins);
      }
    }
    return results_;
  }

private:
  /// Measures short work on CUDA several times in a row, so that the launches do not dominate the time.
  BenchTimes time(const std::function<void()>& work)
  {
    const int calls = context_.onCuda() && arrays_.count < 1000000 ? 20 : 1;
    BenchTimes times = clock_.time([&] {
      for (int call = 0; call < calls; ++call)
        work();
    });
    return {times.ms / calls, times.msWarm / calls};
  }

  void add(const std::string& method, const BenchTimes& times, double bytesASample)
  {
    const auto samples = static_cast<double>(arrays_.count);
    BenchResult result{
        caseName_, method, device_, times.ms, times.msWarm, samples, bytesASample * samples, {},
        {},        {},     {},      {}};
    if (copyBytesAMs_ > 0 && bytesASample > 0) {
      result.share = result.bytes / copyBytesAMs_ / times.ms;
      result.shareOf = "copy";
    }
    results_.push_back(result);
  }

  void measureLimits()
  {
    caseName_ = std::to_string(arrays_.count);
    copyBytesAMs_ = 0;
    const std::size_t bytes = arrays_.count * sizeof(float);
    float* const to = arrays_.fixed.span().data();
    float* const from = arrays_.moving.span().data();
    Context& context = context_;
    add("fill of 4 bytes", time([&] {
          if (context.onCuda())
            context.stream->fill(to, 0, bytes);
          else
            forEachRange(context, arrays_.count, 1 << 18, [&](std::size_t first, std::size_t last) {
              std::fill(to + first, to + last, 0.0f);
            });
        }),
        sizeof(float));
    const BenchTimes copy = time([&] { copyBytes(context, to, from, bytes); });
    add("copy of 4 bytes", copy, 2 * sizeof(float));
    copyBytesAMs_ = 2 * static_cast<double>(bytes) / copy.ms;
  }

  void measureHistograms(int bins)
  {
    const std::string text = "(NumberOfHistogramBins " + std::to_string(bins) + ")";
    const auto mattes = metricOf<AdvancedMattesMutualInformation>(text);
    measureMetric("Mattes " + std::to_string(bins), *mattes);
    measureMetric("NMI " + std::to_string(bins), *metricOf<NormalizedMutualInformation>(text));
    if (!context_.onCuda() || arrays_.count <= IntensityPairs::maxRecorded)
      return;
    arrays_.fixedStays = true;
    measureMetric("Mattes " + std::to_string(bins), *mattes, ", fixed bins kept", bins > 255 ? 2 : 1);
    arrays_.fixedStays = false;
  }

  /// `fixedBytes`: bytes of fixed intensities that are read for each sample.
  void measureMetric(const std::string& name, Metric& metric, const std::string& suffix = "",
                     double fixedBytes = sizeof(float))
  {
    std::unique_ptr<Passes> passes;
    if (context_.onCuda())
      passes = std::make_unique<PassesOnCuda>(context_, metric, arrays_);
    else
      passes = std::make_unique<PassesOnCpu>(context_, metric, arrays_);
    passes->begin();
    for (int call = 0; call < 2; ++call) // the second call finds the bins that the first one kept
      passes->accumulate();
    passes->begin();
    add(name + " accumulate" + suffix, time([&] { passes->accumulate(); }), fixedBytes + sizeof(float));
    passes->begin();
    passes->accumulate();
    add(name + " finish" + suffix, time([&] { passes->finish(); }), 0);
    add(name + " slopes" + suffix, time([&] { passes->slopes(); }), fixedBytes + 2 * sizeof(float));
    const BenchTimes all = time([&] {
      passes->begin();
      passes->accumulate();
      passes->finish();
      passes->slopes();
    });
    add(name + " all" + suffix, all, 2 * fixedBytes + 3 * sizeof(float));
  }

  Context& context_;
  const MetricSettings& settings_;
  BenchClock clock_;
  std::string device_, caseName_;
  Arrays arrays_;
  double copyBytesAMs_ = 0;
  std::vector<BenchResult> results_;
};

}

std::vector<BenchResult> metricBench(Context& context, const MetricSettings& settings)
{
  return Run(context, settings).all();
}

}
