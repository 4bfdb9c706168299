#include "Core/Image/Scores/ImageScores.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr std::size_t voxelsAChunk = std::size_t(1) << 18;

/// Adds up the sums of all chunks in their order, so that they do not depend on the number of threads.
template <class Sums, class Add>
Sums sumOver(const Context& context, std::size_t voxels, const std::vector<std::uint8_t>& use, Add&& add)
{
  std::vector<Sums> chunks((voxels + voxelsAChunk - 1) / voxelsAChunk);
  forEachRangeByOpenMP(context, voxels, voxelsAChunk, [&](std::size_t first, std::size_t last) {
    Sums sums;
    for (std::size_t i = first; i < last; ++i)
      if (use.empty() || use[i] != 0)
        add(sums, i);
    chunks[first / voxelsAChunk] = std::move(sums);
  });
  Sums all;
  for (const Sums& chunk : chunks)
    all.add(chunk);
  return all;
}

struct Extremes {
  std::size_t count = 0;
  double sum[2] = {};
  float least[2] = {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
  float largest[2] = {-std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};

  void add(const Extremes& other)
  {
    count += other.count;
    for (int k = 0; k < 2; ++k) {
      sum[k] += other.sum[k];
      least[k] = std::min(least[k], other.least[k]);
      largest[k] = std::max(largest[k], other.largest[k]);
    }
  }
};

struct Moments {
  double squares[2] = {}, product = 0, absolute = 0, squaredError = 0;

  void add(const Moments& other)
  {
    for (int k = 0; k < 2; ++k)
      squares[k] += other.squares[k];
    product += other.product;
    absolute += other.absolute;
    squaredError += other.squaredError;
  }
};

struct Histogram {
  std::vector<std::uint64_t> counts =
      std::vector<std::uint64_t>(static_cast<std::size_t>(scoreHistogramBins * scoreHistogramBins));

  void add(const Histogram& other)
  {
    for (std::size_t i = 0; i < counts.size() && !other.counts.empty(); ++i)
      counts[i] += other.counts[i];
  }
};

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
    joint[i] = static_cast<double>(histogram.counts[i]) / count;
    ofA[i % bins] += joint[i];
    ofB[i / bins] += joint[i];
  }
  return (entropy(ofA) + entropy(ofB)) / entropy(joint);
}

}

template <int D>
ImageScores imageScores(const Context& context, const Image<D>& a, const Image<D>& b,
                        const std::vector<std::uint8_t>& use, double greyRange)
{
  const std::array<const float*, 2> values{a.voxels.data(), b.voxels.data()};
  const std::size_t voxels = a.voxels.size();
  const Extremes extremes = sumOver<Extremes>(context, voxels, use, [&](Extremes& sums, std::size_t i) {
    ++sums.count;
    for (int k = 0; k < 2; ++k) {
      const float value = values[k][i];
      sums.sum[k] += value;
      sums.least[k] = std::min(sums.least[k], value);
      sums.largest[k] = std::max(sums.largest[k], value);
    }
  });
  const double n = static_cast<double>(extremes.count);
  const double mean[2] = {extremes.sum[0] / n, extremes.sum[1] / n};
  const Moments moments = sumOver<Moments>(context, voxels, use, [&](Moments& sums, std::size_t i) {
    const double x = values[0][i] - mean[0], y = values[1][i] - mean[1];
    const double error = static_cast<double>(values[0][i]) - values[1][i];
    sums.squares[0] += x * x;
    sums.squares[1] += y * y;
    sums.product += x * y;
    sums.absolute += std::abs(error);
    sums.squaredError += error * error;
  });

  ImageScores scores;
  scores.voxels = extremes.count;
  scores.meanAbsoluteError = moments.absolute / n;
  scores.absoluteErrorDeviation = deviation(moments.squaredError, moments.absolute, n);
  scores.rootMeanSquareError = std::sqrt(moments.squaredError / n);
  scores.structuralSimilarity = structuralSimilarity<D>(context, a, b, use, greyRange);
  if (extremes.least[0] == extremes.largest[0] || extremes.least[1] == extremes.largest[1])
    return scores;

  scores.correlation = moments.product / std::sqrt(moments.squares[0] * moments.squares[1]);
  const double scale[2] = {1 / std::sqrt(moments.squares[0] / n), 1 / std::sqrt(moments.squares[1] / n)};
  const Moments standard = sumOver<Moments>(context, voxels, use, [&](Moments& sums, std::size_t i) {
    const double error = (values[0][i] - mean[0]) * scale[0] - (values[1][i] - mean[1]) * scale[1];
    sums.absolute += std::abs(error);
    sums.squaredError += error * error;
  });
  scores.standardized = {standard.absolute / n, deviation(standard.squaredError, standard.absolute, n),
                         standard.squaredError};
  double binsAValue[2];
  for (int k = 0; k < 2; ++k)
    binsAValue[k] = scoreHistogramBins / (static_cast<double>(extremes.largest[k]) - extremes.least[k]);
  const auto binOf = [&](int k, std::size_t i) {
    return std::min(static_cast<int>((static_cast<double>(values[k][i]) - extremes.least[k]) * binsAValue[k]),
                    scoreHistogramBins - 1);
  };
  scores.mutualInformation = mutualInformationOf(
      sumOver<Histogram>(
          context, voxels, use,
          [&](Histogram& sums, std::size_t i) {
            ++sums.counts[static_cast<std::size_t>(scoreHistogramBins * binOf(1, i) + binOf(0, i))];
          }),
      n);
  return scores;
}

template ImageScores imageScores<2>(const Context&, const Image<2>&, const Image<2>&,
                                    const std::vector<std::uint8_t>&, double);
template ImageScores imageScores<3>(const Context&, const Image<3>&, const Image<3>&,
                                    const std::vector<std::uint8_t>&, double);

}
