#include "Tools/Bench/Registration/AdjointBench.h"

#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Parallel.h"
#include "Core/Registration/Fields/FieldAdjoint.h"
#include "Tools/Bench/BenchClock.h"

#include <cmath>
#include <sstream>

namespace tessera {
namespace {

constexpr int components = 3;

struct Summation {
  GradientSummation how;
  const char* name;
  bool factored = false;
};
constexpr std::array<Summation, 5> summations{
    {{GradientSummation::fusedMultiplyAdd, "fused multiply-add"},
     {GradientSummation::fusedMultiplyAdd, "fused multiply-add, with factors", true},
     {GradientSummation::kahan, "Kahan"},
     {GradientSummation::pichat, "Pichat"},
     {GradientSummation::doublePrecision, "double precision"}}};

/// A B-spline field whose first tile begins at voxel 0.
AlignedField<3> fieldOf(const std::array<int, 3>& volume, double tile)
{
  AlignedField<3> field;
  for (int d = 0; d < components; ++d)
    field.axes[d] = {1, 1 / tile, static_cast<int>(std::ceil(volume[d] / tile)) + 3, volume[d]};
  return field;
}

class Run {
public:
  Run(Context& context, const AdjointSettings& settings)
      : context_(context), settings_(settings), clock_(context, settings.repeats),
        device_(measuredDevice(context))
  {
  }

  std::vector<BenchResult> all()
  {
    for (const auto& volume : settings_.volumes) {
      measureCopy(volume);
      for (const double tile : settings_.tiles)
        measureTile(fieldOf(volume, tile), tile);
    }
    return results_;
  }

private:
  void measureCopy(const std::array<int, 3>& volume)
  {
    caseOfVolume_ =
        std::to_string(volume[0]) + "x" + std::to_string(volume[1]) + "x" + std::to_string(volume[2]);
    const std::size_t count = components * static_cast<std::size_t>(volume[0]) * volume[1] * volume[2];
    const std::size_t bytes = count * sizeof(float);
    host_.resize(count);
    forEachRange(context_, count, 1 << 16, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        host_[i] = static_cast<float>(
            2 * unitUniform(randomWords(Draw{1}, static_cast<std::uint32_t>(i), 0)[0]) - 1);
    });
    covectors_.fromHost(context_, host_);
    factors_.fromHost(context_,
                      std::vector<float>(count / components, 1)); // factors of 1 leave the gradient as it is
    Buffer<float> other(context_, count);
    const BenchTimes times =
        clock_.time([&] { copyBytes(context_, other.span().data(), covectors_.span().data(), bytes); });
    readMs_ = times.ms / 2;
    results_.push_back({caseOfVolume_,
                        "copy of 12 bytes",
                        device_,
                        times.ms,
                        times.msWarm,
                        static_cast<double>(count / components),
                        2.0 * static_cast<double>(bytes),
                        {},
                        {},
                        {},
                        {},
                        {}});
  }

  std::array<const float*, components> planes(const AlignedField<3>& field, const float* values) const
  {
    return {values, values + field.voxelCount(), values + 2 * field.voxelCount()};
  }

  void measureTile(const AlignedField<3>& field, double tile)
  {
    std::ostringstream name;
    name << caseOfVolume_ << " tile " << tile;
    std::vector<double> exact(components * field.pointCount());
    Context cpu;
    cpu.threads = context_.threads;
    pullBackAlignedField<3>(cpu, field, planes(field, host_.data()), nullptr,
                            GradientSummation::doublePrecision, exact.data());
    const double voxels = static_cast<double>(field.voxelCount());
    for (const Summation& summation : summations) {
      if (!context_.onCuda() && summation.how != GradientSummation::doublePrecision)
        continue;
      Buffer<double> gradient(context_, exact.size());
      const float* factors = summation.factored ? factors_.span().data() : nullptr;
      const auto work = [&] {
        pullBackAlignedField<3>(context_, field, planes(field, covectors_.span().data()), factors,
                                summation.how, gradient.span().data());
      };
      const double bytes = (components + (factors ? 1 : 0)) * sizeof(float);
      const BenchTimes times = clock_.time(work);
      gradient.fromHost(context_, std::vector<double>(exact.size()));
      work();
      const std::vector<double> sums = gradient.toHost(context_);
      double mean = 0, largest = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const double error = std::abs(sums[i] - exact[i]);
        mean += error / static_cast<double>(exact.size());
        largest = std::max(largest, error);
      }
      results_.push_back({name.str(),
                          summation.name,
                          device_,
                          times.ms,
                          times.msWarm,
                          voxels,
                          voxels * bytes,
                          readMs_ * bytes / (components * sizeof(float)) / times.ms,
                          "copy, one way",
                          mean,
                          largest,
                          {}});
    }
  }

  Context& context_;
  const AdjointSettings& settings_;
  BenchClock clock_;
  std::string device_, caseOfVolume_;
  std::vector<BenchResult> results_;
  std::vector<float> host_;
  Buffer<float> covectors_, factors_;
  double readMs_ = 0;
};

}

std::vector<BenchResult> adjointBench(Context& context, const AdjointSettings& settings)
{
  return Run(context, settings).all();
}

}
