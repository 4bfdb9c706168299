#include "Core/Image/Filters/RecursiveGaussian.h"

#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Image/Filters/LineBlocks.h"

#include <cmath>
#include <vector>

namespace tessera {
namespace {

/// Deriche's exponential series: sum over two terms of (a cos(w x / sigma) + b sin(w x / sigma)) exp(l x /
/// sigma).
struct SeriesTerm {
  double a, b, w, l;
};
constexpr SeriesTerm slow{1.3530, 1.8151, 0.6681, -1.3932}, fast{-0.3531, 0.0902, 2.0787, -1.3732};

/// y = y+ + y-; y+[i] = sum_k n[k] x[i - k] - sum_k d[k] y+[i - k], y-[i] = sum_k m[k] x[i + k] - sum_k d[k]
/// y-[i + k].
struct RecursiveCoefficients {
  double n[4], m[5], d[5]; // m[0] and d[0] are unused
  double causalGain, anticausalGain;

  explicit RecursiveCoefficients(double sigma)
  {
    const double sin1 = std::sin(slow.w / sigma), cos1 = std::cos(slow.w / sigma),
                 exp1 = std::exp(slow.l / sigma);
    const double sin2 = std::sin(fast.w / sigma), cos2 = std::cos(fast.w / sigma),
                 exp2 = std::exp(fast.l / sigma);

    // Denominator (1 - 2 cos1 exp1 z + exp1^2 z^2)(1 - 2 cos2 exp2 z + exp2^2 z^2) with z the delay.
    const double p1 = -2 * cos1 * exp1, q1 = exp1 * exp1, p2 = -2 * cos2 * exp2, q2 = exp2 * exp2;
    d[0] = 1;
    d[1] = p1 + p2;
    d[2] = q1 + p1 * p2 + q2;
    d[3] = p1 * q2 + q1 * p2;
    d[4] = q1 * q2;

    // Each term is (a + e z) / (1 + p z + q z^2); over the common denominator:
    const double e1 = exp1 * (slow.b * sin1 - slow.a * cos1), e2 = exp2 * (fast.b * sin2 - fast.a * cos2);
    n[0] = slow.a + fast.a;
    n[1] = e1 + slow.a * p2 + e2 + fast.a * p1;
    n[2] = slow.a * q2 + e1 * p2 + fast.a * q1 + e2 * p1;
    n[3] = e1 * q2 + e2 * q1;

    const double sumD = d[0] + d[1] + d[2] + d[3] + d[4], sumN = n[0] + n[1] + n[2] + n[3];
    const double gain = 2 * sumN / sumD - n[0];
    for (double& coefficient : n)
      coefficient /= gain;
    m[0] = 0;
    for (int k = 1; k <= 4; ++k)
      m[k] = (k < 4 ? n[k] : 0) - d[k] * n[0];
    causalGain = sumN / gain / sumD;
    anticausalGain = (m[1] + m[2] + m[3] + m[4]) / sumD;
  }
};

class GaussianLines {
public:
  explicit GaussianLines(double sigmaVoxels) : c_(sigmaVoxels) {}

  TESSERA_MULTIVERSION void run(const LinePlan& plan, std::size_t firstBlock, std::size_t lastBlock,
                                const float* in, float* out) const
  {
    thread_local std::vector<float> lanes;
    thread_local std::vector<double>
        causal; // in double, so that only the sum of both passes is rounded to float, as in ITK
    lanes.resize(plan.length() * lineLanes);
    causal.resize(plan.length() * lineLanes);
    for (std::size_t index = firstBlock; index < lastBlock; ++index) {
      const LineBlock block = plan.block(index);
      gatherLines(in, block, lanes.data());
      for (std::size_t lane = 0; lane < lineLanes; lane += 4 * vectors) {
        filterForward(block.length, lanes.data() + lane, causal.data() + lane);
        filterBackward(block.length, causal.data() + lane, lanes.data() + lane);
      }
      scatterLines(lanes.data(), block, out);
    }
  }

private:
  // So many are filtered together: enough to hide the latency, few enough to stay in registers.
  static constexpr std::size_t vectors = 2;

  static TESSERA_ALWAYS_INLINE Double4 widen(const float* from)
  {
    return __builtin_convertvector(loadVector<Float4>(from), Double4);
  }

  // Both passes use transposed direct form II with four states. They start with the states after an endless
  // constant line.
  TESSERA_ALWAYS_INLINE void filterForward(std::size_t length, const float* in, double* causal) const
  {
    Double4 s1[vectors], s2[vectors], s3[vectors], s4[vectors];
    for (std::size_t v = 0; v < vectors; ++v) {
      const Double4 x = widen(in + 4 * v), y = c_.causalGain * x;
      s4[v] = -c_.d[4] * y;
      s3[v] = c_.n[3] * x - c_.d[3] * y + s4[v];
      s2[v] = c_.n[2] * x - c_.d[2] * y + s3[v];
      s1[v] = c_.n[1] * x - c_.d[1] * y + s2[v];
    }
    for (std::size_t i = 0; i < length; ++i)
      for (std::size_t v = 0; v < vectors; ++v) {
        const Double4 x = widen(in + i * lineLanes + 4 * v), y = c_.n[0] * x + s1[v];
        s1[v] = c_.n[1] * x + s2[v] - c_.d[1] * y;
        s2[v] = c_.n[2] * x + s3[v] - c_.d[2] * y;
        s3[v] = c_.n[3] * x + s4[v] - c_.d[3] * y;
        s4[v] = -c_.d[4] * y;
        storeVector(causal + i * lineLanes + 4 * v, y);
      }
  }

  TESSERA_ALWAYS_INLINE void filterBackward(std::size_t length, const double* causal, float* inOut) const
  {
    Double4 s1[vectors], s2[vectors], s3[vectors], s4[vectors];
    for (std::size_t v = 0; v < vectors; ++v) {
      const Double4 x = widen(inOut + (length - 1) * lineLanes + 4 * v), y = c_.anticausalGain * x;
      s4[v] = c_.m[4] * x - c_.d[4] * y;
      s3[v] = c_.m[3] * x - c_.d[3] * y + s4[v];
      s2[v] = c_.m[2] * x - c_.d[2] * y + s3[v];
      s1[v] = c_.m[1] * x - c_.d[1] * y + s2[v];
    }
    for (std::size_t i = length; i-- > 0;)
      for (std::size_t v = 0; v < vectors; ++v) {
        float* at = inOut + i * lineLanes + 4 * v;
        const Double4 x = widen(at), y = s1[v];
        s1[v] = c_.m[1] * x + s2[v] - c_.d[1] * y;
        s2[v] = c_.m[2] * x + s3[v] - c_.d[2] * y;
        s3[v] = c_.m[3] * x + s4[v] - c_.d[3] * y;
        s4[v] = c_.m[4] * x - c_.d[4] * y;
        storeVector(at,
                    __builtin_convertvector(loadVector<Double4>(causal + i * lineLanes + 4 * v) + y, Float4));
      }
  }

  RecursiveCoefficients c_;
};

}

ExponentialFilter gaussianFilter(double sigmaVoxels)
{
  ExponentialFilter filter;
  double gain = 0;
  for (const SeriesTerm& term : {slow, fast}) {
    const std::complex<double> amplitude(term.a, -term.b),
        exact = std::exp(std::complex(term.l, term.w) / sigmaVoxels);
    const std::complex<double> pole(static_cast<float>(exact.real()), static_cast<float>(exact.imag()));
    filter.push_back({amplitude, pole});
    gain += (amplitude * (2.0 / (1.0 - pole) - 1.0)).real();
  }
  for (ExponentialTerm& term : filter)
    term.amplitude /= gain;
  return filter;
}

template <int D>
Image<D> smoothRecursively(Context& context, const Image<D>& image, const Vec<D>& sigmaVoxels,
                           AxisOrder order)
{
  Image<D> result{image.geometry, largeVector<float>(context, image.voxels.size())};
  const float* from = image.voxels.data();
  for (int step = 0; step < D; ++step) {
    const int axis = order == AxisOrder::ascending ? step : (step + D - 1) % D;
    if (sigmaVoxels[axis] <= 0)
      continue;
    const GaussianLines lines(sigmaVoxels[axis]);
    forEachLineBlock(context, image.geometry.size, axis,
                     [&](const LinePlan& plan, std::size_t first, std::size_t last) {
                       lines.run(plan, first, last, from, result.voxels.data());
                     });
    from = result.voxels.data();
  }
  if (from == image.voxels.data())
    result.voxels = image.voxels;
  return result;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(smoothRecursively<D>);

}
