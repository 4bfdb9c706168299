#include "Components/Interpolators/Shared/SplineOverTime.h"

#include "Components/Interpolators/Shared/LinearBatch.h"
#include "Components/Interpolators/Shared/SplineSupport.h"
#include "Core/Compute/Math/SplinePolynomials.h"
#include "Core/Compute/Math/WithConstant.h"
#include "Core/Registration/Samples/TimeSlices.h"

namespace tessera {
namespace {

/// The knots over time around each point, and their weights.
template <int Order>
struct TimeTaps {
  std::size_t volume[Order + 1];
  double weight[Order + 1] = {}, slope[Order + 1] = {};

  TimeTaps(double index, std::size_t times, EdgeRule edges, bool lastVoxelClosesCell)
  {
    static constexpr WeightPolynomials<Order, double> polynomials;
    const KnotCell cell = knotCell<Order>(index, static_cast<int>(times), lastVoxelClosesCell);
    for (int k = 0; k <= Order; ++k) {
      volume[k] = folded(cell.first + k, times, edges);
      for (int power = Order; power >= 0; --power)
        weight[k] = weight[k] * cell.fraction + polynomials.value[power][k];
      for (int power = Order - 1; power >= 0; --power)
        slope[k] = slope[k] * cell.fraction + polynomials.slope[power][k];
    }
  }
};

template <class Coefficient>
SplineImage<3, Coefficient> volumeOf(const SplineImage<4, Coefficient>& image, std::size_t time)
{
  SplineImage<3, Coefficient> volume;
  volume.size = {image.size[0], image.size[1], image.size[2]};
  volume.coefficients = image.coefficients + time * volume.size[0] * volume.size[1] * volume.size[2];
  volume.pointToIndex.fromOffset = identityMatrix<3>();
  volume.edges = image.edges;
  volume.lastVoxelClosesCell = image.lastVoxelClosesCell;
  return volume;
}

/// Value, three slopes in the volume and the slope along time, by index, of some points.
struct SumsOverTime {
  std::array<std::vector<double>, 5> sums;
  std::array<std::vector<float>, 4> ofVolume; // value and slopes in one volume
  std::vector<std::uint8_t> inside;

  void resize(std::size_t count)
  {
    for (std::vector<double>& sum : sums)
      sum.assign(count, 0);
    for (std::vector<float>& one : ofVolume)
      one.resize(count);
    inside.resize(count);
  }
};

template <int Order, class Coefficient>
void sumOverTime(const SplineImage<4, Coefficient>& image, const ListSamples<4>& indices,
                 float* const* slopes, std::uint8_t* inside, SumsOverTime& s)
{
  thread_local SlicedSamples<4> sorted;
  std::vector<TimeTaps<Order>> taps;
  std::vector<std::size_t> volumeOfPoint(indices.count);
  const std::size_t times = image.size[3];
  const auto isInTime = [&](std::size_t i) {
    return isInVoxels(indices.pointMm[3][i], static_cast<int>(times));
  };
  for (std::size_t i = 0; i < indices.count; ++i)
    taps.emplace_back(isInTime(i) ? indices.pointMm[3][i] : 0, times, image.edges, image.lastVoxelClosesCell);
  std::fill_n(inside, indices.count, std::uint8_t(0));
  for (int k = 0; k <= Order; ++k) {
    for (std::size_t i = 0; i < indices.count; ++i)
      volumeOfPoint[i] = isInTime(i) ? taps[i].volume[k] : times;
    sorted.sort(indices, volumeOfPoint, times);
    sorted.forEachSlice([&](const SlicedSamples<4>::Slice& slice) {
      const SplineImage<3, Coefficient> volume = volumeOf(image, slice.number);
      float* const ofSlice[3] = {s.ofVolume[1].data(), s.ofVolume[2].data(), s.ofVolume[3].data()};
      if constexpr (Order == 1)
        LinearBatch<3, double>::evaluate(volume, slice.samples, s.ofVolume[0].data(),
                                         slopes ? ofSlice : nullptr, s.inside.data());
      else
        evaluateSpline<3>(volume, Order, slice.samples, s.ofVolume[0].data(), slopes ? ofSlice : nullptr,
                          s.inside.data());
      for (std::size_t j = 0; j < slice.samples.count; ++j) {
        const std::size_t i = slice.places[j];
        inside[i] = s.inside[j];
        for (std::size_t c = 0; c < (slopes ? 4 : 1); ++c)
          s.sums[c][i] += taps[i].weight[k] * s.ofVolume[c][j];
        s.sums[4][i] += taps[i].slope[k] * s.ofVolume[0][j];
      }
    });
  }
}

}

template <class Coefficient>
void evaluateOverTime(const SplineImage<4, Coefficient>& image, int order, const ListSamples<4>& points,
                      float* values, float* const* gradients, std::uint8_t* inside)
{
  thread_local SumsOverTime s;
  thread_local std::array<std::vector<double>, 4> indices;
  s.resize(points.count);
  for (int d = 0; d < 4; ++d) {
    indices[d].resize(points.count);
    for (std::size_t i = 0; i < points.count; ++i)
      indices[d][i] = image.pointToIndex.along(d, points.at(i));
  }
  const ListSamples<4> list{pointersTo<4>(std::as_const(indices)), points.count};
  constexpr int least = std::is_same_v<Coefficient, float> ? 1 : 2;
  withConstant<least, 5>(order, [&]<int Order>() { sumOverTime<Order>(image, list, gradients, inside, s); });
  for (std::size_t i = 0; i < points.count; ++i) {
    values[i] = inside[i] ? static_cast<float>(s.sums[0][i]) : 0;
    for (int d = 0; d < 4 && gradients; ++d) {
      double slope = 0; // d value / d point = (d index / d point)^T d value / d index
      for (int j = 0; j < 4; ++j)
        slope += image.pointToIndex.fromOffset[j][d] * s.sums[j + 1][i];
      gradients[d][i] = inside[i] ? static_cast<float>(slope) : 0;
    }
  }
}

template void evaluateOverTime(const SplineImage<4>&, int, const ListSamples<4>&, float*, float* const*,
                               std::uint8_t*);
template void evaluateOverTime(const SplineImage<4, double>&, int, const ListSamples<4>&, float*,
                               float* const*, std::uint8_t*);

}
