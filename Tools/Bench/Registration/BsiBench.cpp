#include "Tools/Bench/Benches.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Registration/FieldInterpolator.h"
#include "Core/Registry/Registry.h"
#include "Tools/Bench/BenchClock.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <sstream>

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

  std::vector<BenchResult> all()
  {
    for (const auto& volume : settings_.volumes) {
      measureLimits(volume);
      for (const double tile : settings_.tiles)
        measureTile(volume, tile);
    }
    return results_;
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
        throw Error(ExitCode::usage,
                    "--method: \"" + method.name() + "\": " + why + ". Allowed: " + able + ".");
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
    field_ = Buffer<float>(context_, 4 * voxels);
    for (const int channels : {1, 3, 4}) {
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
    std::ostringstream name;
    name << caseOfVolume_ << " tile " << tile;
    const Coefficients coefficients(context_, components * field.pointCount());
    const std::size_t first = results_.size();
    double baselineMs = 0;
    for (const auto& method : methods_) {
      if (!method->refusal(field).empty())
        continue;
      measureMethod(*method, name.str(), field, coefficients);
      if (method->name() == "ThreadPerVoxel")
        baselineMs = results_.back().ms;
    }
    for (std::size_t r = first; r < results_.size() && baselineMs > 0; ++r)
      results_[r].ratio = baselineMs / results_[r].ms;
    for (const auto& method : methods_)
      if (method->hasDerivatives() && method->refusal(field).empty())
        measureDerivatives(*method, name.str(), field, coefficients);
  }

  void measureMethod(const FieldInterpolator<3>& method, const std::string& caseName,
                     const AlignedField<3>& field, const Coefficients& coefficients)
  {
    const auto voxels = static_cast<double>(field.voxelCount());
    const auto measure = [&](FieldLayout layout, int channels, const std::string& suffix) {
      const FieldTarget target{field_.span().data(), layout, nullptr};
      const BenchTimes times =
          clock_.time([&] { method.displacements(context_, field, coefficients.view(), target); });
      add(caseName, method.name() + suffix, times, voxels, voxels * channels * sizeof(float),
          fillMs_[channels], "fill");
    };
    if (settings_.layouts) {
      measure(FieldLayout::interleaved, components, " interleaved");
      measure(FieldLayout::padded, 4, " padded");
    }
    measure(FieldLayout::planar, components, "");
    std::vector<float> values = field_.toHost(context_);
    values.resize(components * field.voxelCount());
    const Errors errors = errorsOf(field, coefficients.exact, values);
    results_.back().meanError = errors.mean;
    results_.back().largestError = errors.largest;
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
    const CudaDevices devices = context_.onCuda() ? findCudaDevices() : CudaDevices{};
    const double peak = devices.found.empty() ? 0 : devices.found[context_.device.ordinal].peakSingle();
    add(caseName, method.name() + " Jacobian determinant", times, voxels, voxels * sizeof(float),
        peak > 0 ? 1e3 * voxels * operationsAVoxel / peak : fillMs_[1], peak > 0 ? "fp32 peak" : "fill");
  }

  Context& context_;
  const BsiSettings& settings_;
  BenchClock clock_;
  std::vector<Method> methods_;
  std::vector<BenchResult> results_;
  Buffer<float> field_;
  std::string caseOfVolume_;
  double fillMs_[5] = {};
};

}

std::vector<BenchResult> bsiBench(const Registry& registry, Context& context, const BsiSettings& settings)
{
  return Run(registry, context, settings).all();
}

}
