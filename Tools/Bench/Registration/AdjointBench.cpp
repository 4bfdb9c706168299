#include "Core/Compute/Log.h"
#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Registration/Fields/FieldAdjoint.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Benches.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr std::pair<GradientSummation, const char*> summations[] = {
    {GradientSummation::doublePrecision, "Double"},
    {GradientSummation::fusedMultiplyAdd, "FusedMultiplyAdd"},
    {GradientSummation::kahan, "Kahan"},
    {GradientSummation::pichat, "Pichat"}};

/// A field whose first tile begins at voxel 0.
AlignedField<3> adjointField(const std::array<int, 3>& volume, double tile)
{
  AlignedField<3> field;
  for (int d = 0; d < 3; ++d)
    field.axes[d] = {1, 1 / tile, static_cast<int>(std::ceil(volume[d] / tile)) + 3, volume[d]};
  return field;
}

std::vector<float> covectorsOf(const Context& context, std::size_t count)
{
  std::vector<float> values(count);
  forEachRange(context, count, 1 << 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      values[i] =
          static_cast<float>(2 * unitUniform(randomWords(Draw{1}, static_cast<std::uint32_t>(i), 0)[0]) - 1);
  });
  return values;
}

/// Mean and largest error of sums relative to the mean magnitude of the exact ones.
void addRelativeErrors(BenchResult& result, const std::vector<double>& sums, const std::vector<double>& exact)
{
  double magnitude = 0;
  for (const double sum : exact)
    magnitude += std::abs(sum) / static_cast<double>(exact.size());
  result.meanError = result.largestError = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = std::abs(sums[i] - exact[i]) / magnitude;
    *result.meanError += error / static_cast<double>(exact.size());
    result.largestError = std::max(*result.largestError, error);
  }
}

}

std::vector<BenchResult> adjointBench(Context& context, const BsiSettings& settings)
{
  BenchClock clock(context, settings.repeats);
  std::vector<BenchResult> results;
  for (const auto& volume : settings.volumes) {
    const std::size_t voxels = adjointField(volume, 1).voxelCount(), count = 3 * voxels;
    const auto bytes = static_cast<double>(count * sizeof(float));
    const std::vector<float> host = covectorsOf(context, count);
    Buffer<float> covectors;
    covectors.fromHost(context, host);
    const BenchTimes copy = clock.timeCopy(count * sizeof(float));
    results.push_back(measuredRow(context, extentsName(volume), "copy of 12 bytes", copy,
                                  static_cast<double>(voxels), 2 * bytes));
    for (const double tile : settings.tiles) {
      const AlignedField<3> field = adjointField(volume, tile);
      const auto planes = [&](const float* values) {
        return std::array<const float*, 3>{values, values + voxels, values + 2 * voxels};
      };
      const std::string name = extentsName(volume) + " tile " + significant(tile, 6);
      std::vector<double> exact(3 * field.pointCount());
      Context cpu = context.onCpu();
      pullBackAlignedField<3>(cpu, field, planes(host.data()), nullptr, GradientSummation::doublePrecision,
                              exact.data(), GradientBefore::goes);
      double doubleMs = 0;
      for (const auto& [summation, method] : summations) {
        if (!context.onCuda() && summation != GradientSummation::doublePrecision)
          continue; // the CPU always sums in double precision
        Buffer<double> gradient(context, exact.size());
        const BenchTimes times = clock.time([&] {
          pullBackAlignedField<3>(context, field, planes(covectors.span().data()), nullptr, summation,
                                  gradient.span().data(), GradientBefore::goes);
        });
        BenchResult result = measuredRow(context, name, method, times, static_cast<double>(voxels), bytes);
        result.besideLimit(copy.ms / 2, "copy, one way");
        doubleMs = summation == GradientSummation::doublePrecision ? times.ms : doubleMs;
        result.ratio = doubleMs / times.ms;
        addRelativeErrors(result, gradient.toHost(context), exact);
        results.push_back(result);
      }
    }
  }
  return results;
}

}
