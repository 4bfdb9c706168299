#include "Tools/Bench/Benches.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Log.h"
#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Registration/FieldInterpolator.h"
#include "Core/Registry/Registry.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Registration/BsiTables.h"

#include <cmath>
#include <cstring>
#include <memory>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tessera {
namespace {

constexpr int components = 3;
constexpr double largestVoxels = 20;

/// A B-spline field on voxels of 1 mm, whose first tile begins at voxel 0.
AlignedField<3> fieldOf(const std::array<int, 3>& volume, double tile)
{
  AlignedField<3> field;
  for (int d = 0; d < 3; ++d) {
    field.axes[d] = {1, 1 / tile, static_cast<int>(std::ceil(volume[d] / tile)) + 3, volume[d]};
    field.indexFromOffset[d][d] = 1 / tile;
  }
  return field;
}

/// Coefficients of a field on the context's device.
struct Coefficients {
  Buffer<double> onCpu;
  Buffer<float> onCuda;
  std::vector<double> exact; // the numbers that the device has

  Coefficients(const Context& context, std::size_t count) : exact(count)
  {
    for (std::size_t i = 0; i < count; ++i)
      exact[i] = static_cast<float>(
          largestVoxels * (2 * unitUniform(randomWords(Draw{1}, static_cast<std::uint32_t>(i), 0)[0]) - 1));
    if (context.onCuda())
      onCuda.fromHost(context, std::vector<float>(exact.begin(), exact.end()));
    else
      onCpu.fromHost(context, exact);
  }
  FieldCoefficients view() const { return {onCpu.span().data(), onCuda.span().data()}; }
};

/// A displacement as the direct sum over 64 control points, in double precision.
double exactDisplacement(const AlignedField<3>& field, const std::vector<double>& coefficients, int component,
                         const std::array<int, 3>& voxel)
{
  double w[3][4];
  int start[3];
  for (int d = 0; d < 3; ++d) {
    const AxisSupport support = supportOf(field.axes[d], voxel[d], field.order);
    if (!support.inside)
      return 0;
    start[d] = support.start;
    bsplineWeights<3, double>(support.distance, w[d]);
  }
  double sum = 0;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 4; ++i) {
        const std::size_t point =
            (static_cast<std::size_t>(start[2] + k) * field.axes[1].points + start[1] + j)
                * field.axes[0].points
            + start[0] + i;
        sum += w[2][k] * w[1][j] * w[0][i] * coefficients[component * field.pointCount() + point];
      }
  return sum;
}

struct Errors {
  double mean = 0, largest = 0;
};

/// The errors of a planar field in some hundred thousand of its voxels.
Errors errorsOf(const AlignedField<3>& field, const std::vector<double>& coefficients,
                const std::vector<float>& values)
{
  const std::size_t voxels = field.voxelCount(), samples = std::min<std::size_t>(voxels, 200000);
  Errors errors;
  for (std::size_t s = 0; s < samples; ++s) {
    const std::size_t v = s * (voxels / samples) + s % (voxels / samples);
    const int nx = field.axes[0].voxels, ny = field.axes[1].voxels;
    const std::array<int, 3> voxel{static_cast<int>(v % nx), static_cast<int>(v / nx % ny),
                                   static_cast<int>(v / nx / ny)};
    for (int c = 0; c < components; ++c) {
      const double error =
          std::abs(values[c * voxels + v] - exactDisplacement(field, coefficients, c, voxel));
      errors.mean += error / static_cast<double>(samples * components);
      errors.largest = std::max(errors.largest, error);
    }
  }
  return errors;
}

/// A planar field voxel by voxel, each by 64 products of weights from tables, without vectors by hand: the
/// form beside which the methods of the CPU are measured.
void plainLoop(Context& context, const AlignedField<3>& field, const float* coefficients, float* values)
{
  struct Entry {
    int start;
    float weights[4];
  };
  std::array<std::vector<Entry>, 3> tables;
  for (int d = 0; d < 3; ++d)
    for (int voxel = 0; voxel < field.axes[d].voxels; ++voxel) {
      const AxisSupport support = supportOf(field.axes[d], voxel, field.order);
      Entry& entry = tables[d].emplace_back(Entry{support.inside ? support.start : 0, {}});
      axisWeights<3, float>(support, entry.weights);
    }
  const std::size_t nx = field.axes[0].points, ny = field.axes[1].points, width = tables[0].size();
  forEachRange(context, tables[1].size() * tables[2].size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row)
      for (std::size_t x = 0; x < width; ++x)
        for (int c = 0; c < components; ++c) {
          const Entry &onX = tables[0][x], &onY = tables[1][row % tables[1].size()],
                      &onZ = tables[2][row / tables[1].size()];
          float sum = 0;
          for (int k = 0; k < 4; ++k)
            for (int j = 0; j < 4; ++j)
              for (int i = 0; i < 4; ++i)
                sum += onZ.weights[k] * onY.weights[j] * onX.weights[i]
                       * coefficients[c * field.pointCount() + ((onZ.start + k) * ny + onY.start + j) * nx
                                      + onX.start + i];
          values[c * field.voxelCount() + row * width + x] = sum;
        }
  });
}

/// Writes `bytes` bytes and does nothing else. Shares are relative to this time.
void fillBytes(Context& context, void* to, std::size_t bytes)
{
  if (context.onCuda())
    return context.stream->fill(to, 0, bytes);
  forEachRange(context, bytes, 1 << 20, [&](std::size_t first, std::size_t last) {
    std::memset(static_cast<char*>(to) + first, 0, last - first);
  });
}

#if defined(__SSE2__)
/// Writes `bytes` bytes past the caches, as fields larger than the caches are written. `to` must be a
/// multiple of 16 bytes.
void streamBytes(Context& context, void* to, std::size_t bytes)
{
  forEachRange(context, bytes / 16, 1 << 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      _mm_stream_si128(static_cast<__m128i*>(to) + i, _mm_setzero_si128());
    _mm_sfence();
  });
}
#endif

class Run {
public:
  Run(const Registry& registry, Context& context, const BsiSettings& settings)
      : context_(context), settings_(settings), clock_(context, settings.repeats)
  {
    const Parameters none(std::make_shared<ParameterMap>(), "", 3, 1);
    for (const ComponentDescription* description : registry.all())
      if (description->role == FieldInterpolator<3>::roleName) {
        auto method = registry.create<FieldInterpolator<3>>(description->name, none, "--method");
        if (method->runsOn(context.device.kind))
          methods_.push_back(std::move(method));
      }
    if (settings.methods.empty())
      return;
    std::vector<Method> named;
    for (const std::string& name : settings.methods) {
      named.push_back(registry.create<FieldInterpolator<3>>(name, none, "--method"));
      requireServed(*named.back());
    }
    methods_ = std::move(named);
  }

  BenchReport all()
  {
    for (const auto& volume : settings_.volumes) {
      measureLimits(volume);
      for (const double tile : settings_.tiles)
        measureTile(volume, tile);
    }
    BenchReport report{results_, {volumesTable(measured_)}};
    if (settings_.explain) {
      report.tables.push_back(trafficTable(settings_.tiles));
      report.tables.push_back(limitsTable(settings_.tiles, measured_, peakSingle()));
    }
    return report;
  }

private:
  using Method = std::unique_ptr<FieldInterpolator<3>>;

  /// Throws Error(usage), with the methods that can, if this method cannot compute every field that is asked
  /// for.
  void requireServed(const FieldInterpolator<3>& method) const
  {
    for (const auto& volume : settings_.volumes)
      for (const double tile : settings_.tiles) {
        const AlignedField<3> field = fieldOf(volume, tile);
        const bool runs = method.runsOn(context_.device.kind);
        const std::string why =
            runs ? method.refusal(field) : "it does not run on " + measuredDevice(context_);
        if (why.empty())
          continue;
        std::string able;
        for (const Method& other : methods_)
          if (other->refusal(field).empty())
            able += (able.empty() ? "" : ", ") + other->name();
        failAs(ExitCode::usage, "--method", "\"" + method.name() + "\": " + why, able);
      }
  }

  void add(const std::string& caseName, const std::string& method, const BenchTimes& times, double items,
           double bytes, double limitMs, const std::string& shareOf)
  {
    results_.push_back(
        measuredRow(context_, caseName, method, times, items, bytes).besideLimit(limitMs, shareOf));
  }

  void measureLimits(const std::array<int, 3>& volume)
  {
    caseOfVolume_ = extentsName(volume);
    const std::size_t voxels = static_cast<std::size_t>(volume[0]) * volume[1] * volume[2];
    field_ = Buffer<float>(context_, components * voxels);
    for (const int channels : {1, components}) {
      const std::size_t bytes = channels * voxels * sizeof(float);
      const BenchTimes times = clock_.time([&] { fillBytes(context_, field_.span().data(), bytes); });
      fillMs_[channels] = times.ms;
      add(caseOfVolume_, "fill of " + std::to_string(4 * channels) + " bytes", times,
          static_cast<double>(voxels), static_cast<double>(bytes), 0, "");
    }
    const std::size_t bytes = components * voxels * sizeof(float);
#if defined(__SSE2__)
    if (!context_.onCuda())
      add(caseOfVolume_, "streaming stores of 12 bytes",
          clock_.time([&] { streamBytes(context_, field_.span().data(), bytes); }),
          static_cast<double>(voxels), static_cast<double>(bytes), 0, "");
#endif
    add(caseOfVolume_, "copy of 12 bytes", clock_.timeCopy(bytes), static_cast<double>(voxels),
        2.0 * static_cast<double>(bytes), 0, "");
  }

  void measureTile(const std::array<int, 3>& volume, double tile)
  {
    const AlignedField<3> field = fieldOf(volume, tile);
    const std::string name = caseOfVolume_ + " tile " + significant(tile, 6);
    const Coefficients coefficients(context_, components * field.pointCount());
    const std::size_t first = results_.size(), firstMeasured = measured_.size();
    double baselineMs = 0;
    for (const auto& method : methods_) {
      if (!method->refusal(field).empty())
        continue;
      measured_.push_back({method->name(), tile, {}, fillMs_[components], {}});
      measureMethod(*method, name, field, coefficients);
      measured_.back().result = results_.back();
      if (method->name() == "ThreadPerVoxel")
        baselineMs = results_.back().ms;
    }
    if (!context_.onCuda() && settings_.methods.empty()) {
      measurePlainLoop(name, field, coefficients);
      measured_.push_back({"plain loop", tile, results_.back(), fillMs_[components], {}});
      baselineMs = results_.back().ms;
    }
    for (std::size_t r = first; r < results_.size() && baselineMs > 0; ++r)
      results_[r].ratio = baselineMs / results_[r].ms;
    for (std::size_t m = firstMeasured; m < measured_.size() && baselineMs > 0; ++m)
      measured_[m].result.ratio = baselineMs / measured_[m].result.ms;
    for (const auto& method : methods_)
      if (method->hasDerivatives() && method->refusal(field).empty())
        measureDerivatives(*method, name, field, coefficients);
  }

  void measureMethod(const FieldInterpolator<3>& method, const std::string& caseName,
                     const AlignedField<3>& field, const Coefficients& coefficients)
  {
    const auto voxels = static_cast<double>(field.voxelCount());
    const auto measure = [&](FieldLayout layout, const std::string& suffix) {
      const FieldTarget target{field_.span().data(), layout, nullptr};
      const BenchTimes times =
          clock_.time([&] { method.displacements(context_, field, coefficients.view(), target); });
      add(caseName, method.name() + suffix, times, voxels, voxels * components * sizeof(float),
          fillMs_[components], "fill");
    };
    if (settings_.layouts)
      measure(FieldLayout::interleaved, " interleaved");
    launchListener = &measured_.back().launch;
    method.displacements(context_, field, coefficients.view(),
                         {field_.span().data(), FieldLayout::planar, nullptr});
    launchListener = nullptr;
    measure(FieldLayout::planar, "");
    addErrors(field, coefficients);
  }

  void measurePlainLoop(const std::string& caseName, const AlignedField<3>& field,
                        const Coefficients& coefficients)
  {
    const std::vector<float> single(coefficients.exact.begin(), coefficients.exact.end());
    const auto voxels = static_cast<double>(field.voxelCount());
    const BenchTimes times = timesOfLongRuns(
        settings_.repeats, [&] { plainLoop(context_, field, single.data(), field_.span().data()); });
    add(caseName, "plain loop", times, voxels, voxels * components * sizeof(float), fillMs_[components],
        "fill");
    addErrors(field, coefficients);
  }

  /// The errors of the planar field that was just computed go into the last row.
  void addErrors(const AlignedField<3>& field, const Coefficients& coefficients)
  {
    std::vector<float> values = field_.toHost(context_);
    values.resize(components * field.voxelCount());
    const Errors errors = errorsOf(field, coefficients.exact, values);
    results_.back().meanError = errors.mean;
    results_.back().largestError = errors.largest;
  }

  double peakSingle() const
  {
    const CudaDevices devices = context_.onCuda() ? findCudaDevices() : CudaDevices{};
    return devices.found.empty() ? 0 : devices.found[context_.device.ordinal].peakSingle();
  }

  void measureDerivatives(const FieldInterpolator<3>& method, const std::string& caseName,
                          const AlignedField<3>& field, const Coefficients& coefficients)
  {
    // Operations for each voxel: 9 sums of 4 products, and 14 for the determinant, with two fused
    // multiply-adds for each term.
    constexpr double operationsAVoxel = 2 * 36 + 14;
    const auto voxels = static_cast<double>(field.voxelCount());
    const FieldTarget target{field_.span().data(), FieldLayout::planar, nullptr};
    const BenchTimes times =
        clock_.time([&] { method.jacobianDeterminants(context_, field, coefficients.view(), target); });
    const double peak = peakSingle();
    add(caseName, method.name() + " Jacobian determinant", times, voxels, voxels * sizeof(float),
        peak > 0 ? 1e3 * voxels * operationsAVoxel / peak : fillMs_[1], peak > 0 ? "fp32 peak" : "fill");
  }

  Context& context_;
  const BsiSettings& settings_;
  BenchClock clock_;
  std::vector<Method> methods_;
  std::vector<BenchResult> results_;
  std::vector<MeasuredField> measured_; // what the tables are made of
  Buffer<float> field_;
  std::string caseOfVolume_;
  double fillMs_[components + 1] = {};
};

}

BenchReport bsiBench(const Registry& registry, Context& context, const BsiSettings& settings)
{
  return Run(registry, context, settings).all();
}

}
