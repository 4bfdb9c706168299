#include "Core/Image/Scores/ImageScores.h"

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Scores/ImageScoresOnCuda.h"
#include "Core/Image/Scores/SimilarityFormula.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

constexpr std::size_t voxelsAChunk = std::size_t(1) << 18;

void addTo(ScoreSums& all, const ScoreSums& part)
{
  all.add(part);
}

using Histogram = std::vector<std::uint64_t>;

void addTo(Histogram& all, const Histogram& part)
{
  all.resize(part.size());
  for (std::size_t i = 0; i < part.size(); ++i)
    all[i] += part[i];
}

double deviation(double sumOfSquares, double sum, double count)
{
  const double mean = sum / count;
  return std::sqrt(std::max(0.0, sumOfSquares / count - mean * mean));
}

double entropy(const std::vector<double>& shares)
{
  double sum = 0;
  for (const double share : shares)
    sum -= share > 0 ? share * std::log(share) : 0;
  return sum;
}

double mutualInformationOf(const Histogram& histogram, double count)
{
  constexpr auto bins = static_cast<std::size_t>(scoreHistogramBins);
  std::vector<double> joint(bins * bins), ofA(bins), ofB(bins);
  for (std::size_t i = 0; i < joint.size(); ++i) {
    joint[i] = static_cast<double>(histogram[i]) / count;
    ofA[i % bins] += joint[i];
    ofB[i / bins] += joint[i];
  }
  return (entropy(ofA) + entropy(ofB)) / entropy(joint);
}

/// The sums over two images on the CPU.
template <int D>
class SumsOnCpu {
public:
  SumsOnCpu(const Context& context, const Image<D>& a, const Image<D>& b,
            const std::vector<std::uint8_t>& use)
      : context_(context), a_(a), b_(b), use_(use)
  {
  }

  ScoreSums extremes() const
  {
    return sumOver<ScoreSums>({}, [](ScoreSums& sums, float a, float b) {
      ++sums.values[0];
      sums.values[1] += a;
      sums.values[2] += b;
      sums.least = {std::min(sums.least[0], a), std::min(sums.least[1], b)};
      sums.largest = {std::max(sums.largest[0], a), std::max(sums.largest[1], b)};
    });
  }
  ScoreSums moments(const std::array<double, 2>& mean) const
  {
    return sumOver<ScoreSums>({}, [&](ScoreSums& sums, float a, float b) {
      const double x = a - mean[0], y = b - mean[1], error = static_cast<double>(a) - b;
      sums.values[0] += x * x;
      sums.values[1] += y * y;
      sums.values[2] += x * y;
      sums.values[3] += std::abs(error);
      sums.values[4] += error * error;
    });
  }
  ScoreSums standard(const std::array<double, 2>& mean, const std::array<double, 2>& scale) const
  {
    return sumOver<ScoreSums>({}, [&](ScoreSums& sums, float a, float b) {
      const double error = (a - mean[0]) * scale[0] - (b - mean[1]) * scale[1];
      sums.values[0] += std::abs(error);
      sums.values[1] += error * error;
    });
  }
  Histogram histogram(const std::array<float, 2>& least, const std::array<double, 2>& binsAValue) const
  {
    constexpr int bins = scoreHistogramBins;
    return sumOver<Histogram>(Histogram(std::size_t{bins} * bins), [&](Histogram& counts, float a, float b) {
      const int cell = bins * similarity::binOf(b, least[1], binsAValue[1], bins)
                       + similarity::binOf(a, least[0], binsAValue[0], bins);
      ++counts[static_cast<std::size_t>(cell)];
    });
  }
  std::optional<double> structuralSimilarity(double greyRange) const
  {
    return tessera::structuralSimilarity<D>(context_, a_, b_, use_, greyRange);
  }

private:
  /// Adds up the sums of all chunks in their order, so that they do not depend on the number of threads.
  template <class Sums, class Add>
  Sums sumOver(const Sums& zero, Add&& add) const
  {
    const std::size_t voxels = a_.voxels.size();
    std::vector<Sums> chunks((voxels + voxelsAChunk - 1) / voxelsAChunk);
    forEachRangeByOpenMP(context_, voxels, voxelsAChunk, [&](std::size_t first, std::size_t last) {
      Sums sums = zero;
      for (std::size_t i = first; i < last; ++i)
        if (use_.empty() || use_[i] != 0)
          add(sums, a_.voxels[i], b_.voxels[i]);
      chunks[first / voxelsAChunk] = std::move(sums);
    });
    Sums all = zero;
    for (const Sums& chunk : chunks)
      addTo(all, chunk);
    return all;
  }

  const Context& context_;
  const Image<D>&a_, &b_;
  const std::vector<std::uint8_t>& use_;
};

/// The sums over two images on a CUDA device.
template <int D>
class SumsOnCuda {
public:
  SumsOnCuda(const Context& context, const Image<D>& a, const Image<D>& b,
             const std::vector<std::uint8_t>& use)
      : context_(context), a_(context, a.voxels.size()), b_(context, b.voxels.size())
  {
    copyLargeToDevice(context, a_.span().data(), a.voxels.data(), a.voxels.size() * sizeof(float));
    copyLargeToDevice(context, b_.span().data(), b.voxels.data(), b.voxels.size() * sizeof(float));
    if (!use.empty())
      use_.fromHost(context, use);
    images_ = {a_.span().data(), b_.span().data(), use.empty() ? nullptr : use_.span().data(), {1, 1, 1}};
    std::ranges::copy(a.geometry.size, images_.size.begin());
  }

  ScoreSums extremes() const { return scoreExtremesOnCuda(context_, images_); }
  ScoreSums moments(const std::array<double, 2>& mean) const
  {
    return scoreMomentsOnCuda(context_, images_, mean);
  }
  ScoreSums standard(const std::array<double, 2>& mean, const std::array<double, 2>& scale) const
  {
    return standardScoresOnCuda(context_, images_, mean, scale);
  }
  Histogram histogram(const std::array<float, 2>& least, const std::array<double, 2>& binsAValue) const
  {
    const std::vector<std::uint32_t> counts = scoreHistogramOnCuda(context_, images_, least, binsAValue);
    return Histogram(counts.begin(), counts.end());
  }
  std::optional<double> structuralSimilarity(double greyRange) const
  {
    for (std::size_t d = 0; d < D; ++d)
      if (images_.size[d] < similarity::taps)
        return {};
    if (!(greyRange > 0))
      return {};
    const auto [sum, windows] = similaritySumsOnCuda(context_, images_, similarity::Window::gaussian(),
                                                     similarity::c1(greyRange), similarity::c2(greyRange));
    return windows > 0 ? std::optional(sum / windows) : std::nullopt;
  }

private:
  const Context& context_;
  Buffer<float> a_, b_;
  Buffer<std::uint8_t> use_;
  ImagePairOnCuda images_;
};

template <class Sums>
ImageScores scoresOf(const Sums& images, double greyRange)
{
  const ScoreSums extremes = images.extremes();
  const double n = extremes.values[0];
  const std::array<double, 2> mean{extremes.values[1] / n, extremes.values[2] / n};
  const auto [squaresA, squaresB, product, absolute, squaredError] = images.moments(mean).values;

  ImageScores scores{.voxels = static_cast<std::size_t>(n),
                     .meanAbsoluteError = absolute / n,
                     .absoluteErrorDeviation = deviation(squaredError, absolute, n),
                     .rootMeanSquareError = std::sqrt(squaredError / n),
                     .structuralSimilarity = images.structuralSimilarity(greyRange)};
  if (extremes.least[0] == extremes.largest[0] || extremes.least[1] == extremes.largest[1])
    return scores;

  scores.correlation = product / std::sqrt(squaresA * squaresB);
  const auto standard =
      images.standard(mean, {1 / std::sqrt(squaresA / n), 1 / std::sqrt(squaresB / n)}).values;
  scores.standardized = {standard[0] / n, deviation(standard[1], standard[0], n), standard[1]};
  std::array<double, 2> binsAValue;
  for (std::size_t k = 0; k < 2; ++k)
    binsAValue[k] = scoreHistogramBins / (static_cast<double>(extremes.largest[k]) - extremes.least[k]);
  scores.mutualInformation = mutualInformationOf(images.histogram(extremes.least, binsAValue), n);
  return scores;
}

}

template <int D>
ImageScores imageScores(const Context& context, const Image<D>& a, const Image<D>& b,
                        const std::vector<std::uint8_t>& use, double greyRange)
{
  return context.onCuda() ? scoresOf(SumsOnCuda<D>(context, a, b, use), greyRange)
                          : scoresOf(SumsOnCpu<D>(context, a, b, use), greyRange);
}

TESSERA_INSTANTIATE_FUNCTIONS(imageScores<D>);

}
