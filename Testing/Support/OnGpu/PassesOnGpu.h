#pragma once

// Passes through chains of transforms on CUDA beside those on the CPU.

#include "Core/Registration/Samples/SamplesForCuda.h"
#include "Testing/Support/Checks/TermChecks.h"
#include "Testing/Support/OnGpu/GpuTest.h"

namespace tessera::testing {

struct PassResults {
  std::vector<double> mappedMm; // T(x), D planar arrays
  std::vector<float> field;     // T(x) - x, D planar arrays
  std::vector<double> gradient; // J^T v for covectors of random numbers
  std::size_t samples = 0;
};

inline std::vector<float> covectorsOf(std::size_t numbers)
{
  const std::vector<double> values = checks::randomVector(numbers, 81);
  return {values.begin(), values.end()};
}

template <int D>
PassResults passesOf(const TransformChain<D>& chain, const ImagePointer<D>& fixed, const SampleSet<D>& set)
{
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  const auto passes = passesOnCuda<D>(context, chain);
  SamplesForCuda<D> forCuda(context, fixed);
  const SamplesOnCuda<D> samples = forCuda.of(context, set);
  Buffer<double> mapped(context, D * samples.count), parameters, gradient;
  parameters.fromHost(context, chain.parameters);
  gradient.fromHost(context, std::vector<double>(chain.parameters.size(), 0.25));
  Buffer<float> field, covectors;
  field.fromHost(context, std::vector<float>(D * samples.count));
  covectors.fromHost(context, covectorsOf(D * samples.count));
  std::array<float*, D> fieldArrays;
  std::array<const float*, D> covectorArrays;
  for (int d = 0; d < D; ++d) {
    fieldArrays[d] = field.span().data() + d * samples.count;
    covectorArrays[d] = std::as_const(covectors).span().data() + d * samples.count;
  }
  passes->moveTo(context, std::as_const(parameters).span());
  passes->map(context, samples, mapped.span().data());
  passes->addDisplacements(context, samples, fieldArrays);
  passes->pullBack(context, samples, covectorArrays, nullptr, gradient.span(), {true});
  return {mapped.toHost(context), field.toHost(context), gradient.toHost(context), samples.count};
}

/// In batches of points, as the CPU's terms go.
template <int D>
PassResults passesOnCpu(const TransformChain<D>& chain, const PointList<D>& points)
{
  PassResults result;
  result.samples = points.positions();
  result.field.resize(D * result.samples);
  result.mappedMm.resize(D * result.samples);
  result.gradient.resize(chain.parameters.size());
  const std::vector<float> covectors = covectorsOf(D * result.samples);
  for (std::size_t first = 0; first < result.samples; first += batchCapacity) {
    ListSamples<D> batch;
    batch.count = std::min(batchCapacity, result.samples - first);
    checks::Points<D> mapped(batch.count), at(batch.count);
    PointBatch<D> values;
    Covectors<D> v;
    for (int d = 0; d < D; ++d) {
      batch.pointMm[d] = points.mm[d].data() + first;
      for (std::size_t i = 0; i < batch.count; ++i)
        values.mm[d][i] = covectors[d * result.samples + first + i];
      v[d] = values.mm[d].data();
    }
    mapChain<D>(host, chain, batch, mapped.out());
    mapInitial<D>(host, chain, batch, at.out());
    optimizable<D>(*chain.transform).pullBack(host, at.list(), chain.parameters, v, result.gradient);
    for (int d = 0; d < D; ++d)
      for (std::size_t i = 0; i < batch.count; ++i) {
        result.mappedMm[d * result.samples + first + i] = mapped.mm[d][i];
        result.field[d * result.samples + first + i] =
            static_cast<float>(mapped.mm[d][i] - batch.pointMm[d][i]);
      }
  }
  return result;
}

/// Points of some 50 mm are sums of at most some hundred products: their roundings stay below `withinMm`.
template <int D>
void expectTheCpusPasses(const TransformChain<D>& chain, const ImagePointer<D>& fixed,
                         const SampleSet<D>& set, const std::string& what, double withinMm = 1e-12)
{
  const PassResults expected = passesOnCpu<D>(chain, allSamples<D>(set)),
                    found = passesOf<D>(chain, fixed, set);
  ASSERT_EQ(found.samples, expected.samples) << what;
  EXPECT_LE(largestDifference(found.mappedMm, expected.mappedMm), withinMm) << what;
  EXPECT_LE(largestDifference(found.field, expected.field), 1e-5) << what;
  EXPECT_LE(largestDifference(found.gradient, expected.gradient),
            1e-9 * checks::norm(expected.gradient) + 1e-7)
      << what;
  const PassResults again = passesOf<D>(chain, fixed, set);
  EXPECT_EQ(again.mappedMm, found.mappedMm) << what << ": not the same bits again";
  EXPECT_EQ(again.field, found.field) << what << ": not the same bits again";
  EXPECT_EQ(again.gradient, found.gradient) << what << ": not the same bits again";
}

}
