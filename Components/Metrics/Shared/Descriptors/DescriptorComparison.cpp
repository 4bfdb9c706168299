#include "Components/Metrics/Shared/Descriptors/DescriptorComparison.h"

#include "Components/Metrics/Shared/Descriptors/DescriptorCell.h"

#include <cstring>

namespace tessera {
namespace {

constexpr float perNumber = 1.0f / 255;

/// Vectors of as many numbers of each type, of which the compiler makes one register or several.
template <int D>
struct VectorsOf;
template <>
struct VectorsOf<2> {
  static constexpr int lanes = 4, parts = 1;
  using Bytes = std::uint8_t __attribute__((vector_size(4)));
  using Shorts = std::uint16_t __attribute__((vector_size(8)));
  using Words = std::int32_t __attribute__((vector_size(16)));
  using Floats = float __attribute__((vector_size(16)));
};
template <>
struct VectorsOf<3> {
  static constexpr int lanes = 8, parts = 2;
  using Bytes = std::uint8_t __attribute__((vector_size(8)));
  using Shorts = std::uint16_t __attribute__((vector_size(16)));
  using Words = std::int32_t __attribute__((vector_size(32)));
  using Floats = float __attribute__((vector_size(32)));
};

/// The numbers of a voxel. In 3D the second vector begins with four channels that the first has, too, so that
/// nothing is read beyond the voxel; `once` sets them to 0.
template <int D>
struct Channels : VectorsOf<D> {
  using VectorsOf<D>::lanes, VectorsOf<D>::parts;
  using typename VectorsOf<D>::Bytes, typename VectorsOf<D>::Shorts, typename VectorsOf<D>::Words,
      typename VectorsOf<D>::Floats;
  Floats part[parts];

  static TESSERA_ALWAYS_INLINE Channels of(const std::uint8_t* voxel)
  {
    Channels result;
    for (int p = 0; p < parts; ++p) {
      Bytes bytes;
      std::memcpy(&bytes, voxel + lanes / 2 * p, lanes);
      // The compiler has instructions for each of these steps, and none for all at once.
      result.part[p] = __builtin_convertvector(
          __builtin_convertvector(__builtin_convertvector(bytes, Shorts), Words), Floats);
    }
    return result;
  }
  TESSERA_ALWAYS_INLINE Channels operator-(const Channels& b) const
  {
    Channels result;
    for (int p = 0; p < parts; ++p)
      result.part[p] = part[p] - b.part[p];
    return result;
  }
  /// this + factor * b
  TESSERA_ALWAYS_INLINE Channels plus(float factor, const Channels& b) const
  {
    Channels result;
    for (int p = 0; p < parts; ++p)
      result.part[p] = part[p] + factor * b.part[p];
    return result;
  }
  TESSERA_ALWAYS_INLINE Channels once(float factor) const
  {
    Channels result;
    for (int p = 0; p < parts; ++p) {
      Floats factors;
      for (int k = 0; k < lanes; ++k)
        factors[k] = p > 0 && k < lanes / 2 ? 0 : factor;
      result.part[p] = factors * part[p];
    }
    return result;
  }
  TESSERA_ALWAYS_INLINE float dot(const Channels& b) const
  {
    Floats sums = part[0] * b.part[0];
    for (int p = 1; p < parts; ++p)
      sums += part[p] * b.part[p];
    using Four = VectorsOf<2>::Floats;
    Four four[lanes / 4];
    std::memcpy(four, &sums, sizeof four);
    for (int q = 1; q < lanes / 4; ++q)
      four[0] += four[q];
    return (four[0][0] + four[0][2]) + (four[0][1] + four[0][3]);
  }
};

/// The numbers at a place, and their derivatives by the index along each axis.
template <int D>
struct ChannelsAt {
  Channels<D> value, slope[D];

  template <bool WithSlopes>
  static TESSERA_ALWAYS_INLINE ChannelsAt find(const std::uint8_t* values, const DescriptorCell<D>& cell)
  {
    constexpr std::size_t channels = SelfSimilarityDescriptor<D>::channels;
    constexpr int lines = 1 << (D - 1);
    const std::uint8_t* const first = values + channels * cell.first;
    // [line]: lines of voxels along x, then what is between two of them along y, and so on.
    ChannelsAt line[lines];
    for (int l = 0; l < lines; ++l) {
      const std::uint8_t* voxel = first;
      for (int d = 1; d < D; ++d)
        voxel += (l >> (d - 1) & 1) != 0 ? channels * cell.step[d] : 0;
      const auto here = Channels<D>::of(voxel), next = Channels<D>::of(voxel + channels * cell.step[0]);
      line[l].slope[0] = next - here;
      line[l].value = here.plus(cell.share[0], line[l].slope[0]);
    }
    for (int d = 1; d < D; ++d)
      for (int l = 0; l < lines >> d; ++l) {
        const ChannelsAt a = line[2 * l], b = line[2 * l + 1];
        const Channels<D> slope = b.value - a.value;
        line[l].value = a.value.plus(cell.share[d], slope);
        if constexpr (WithSlopes) {
          for (int e = 0; e < d; ++e)
            line[l].slope[e] = a.slope[e].plus(cell.share[d], b.slope[e] - a.slope[e]);
          line[l].slope[d] = slope;
        }
      }
    return line[0];
  }
};

/// Whether the place is at a voxel, but for rounding.
template <int D>
TESSERA_ALWAYS_INLINE bool isVoxel(const DescriptorCell<D>& cell)
{
  for (int d = 0; d < D; ++d)
    if (std::abs(cell.share[d]) > cell.nearVoxel)
      return false;
  return true;
}

template <int D, bool WithSlopes>
TESSERA_MULTIVERSION std::size_t
compareAll(const PlacedDescriptor<D>& fixed, const ListSamples<D>& pointsInFixed,
           const PlacedDescriptor<D>& moving, const ListSamples<D>& pointsInMoving,
           const DescriptorDifferences<D>& out)
{
  std::size_t count = 0;
  for (std::size_t i = 0; i < pointsInFixed.count; ++i) {
    DescriptorCell<D> inFixed, inMoving;
    if (!inFixed.setTo(fixed.descriptor.size, fixed.indexFromPoint(pointsInFixed.point(i)))
        || !inMoving.setTo(moving.descriptor.size, moving.indexFromPoint(pointsInMoving.point(i))))
      continue;
    const std::uint8_t* const ofFixed = fixed.descriptor.values.data();
    const Channels<D> f = isVoxel(inFixed)
                              ? Channels<D>::of(ofFixed + fixed.descriptor.channels * inFixed.first)
                              : ChannelsAt<D>::template find<false>(ofFixed, inFixed).value;
    const auto m = ChannelsAt<D>::template find<WithSlopes>(moving.descriptor.values.data(), inMoving);
    const Channels<D> difference = (m.value - f).once(perNumber);
    out.pair[count] = i;
    out.squares[count] = difference.dot(difference);
    if constexpr (WithSlopes)
      for (int d = 0; d < D; ++d)
        out.slopes[d][count] = 2 * perNumber * difference.dot(m.slope[d]);
    ++count;
  }
  return count;
}

}

template <int D>
std::size_t compareDescriptors(const PlacedDescriptor<D>& fixed, const ListSamples<D>& pointsInFixed,
                               const PlacedDescriptor<D>& moving, const ListSamples<D>& pointsInMoving,
                               const DescriptorDifferences<D>& out)
{
  const auto compare = out.slopes[0] != nullptr ? compareAll<D, true> : compareAll<D, false>;
  return compare(fixed, pointsInFixed, moving, pointsInMoving, out);
}

TESSERA_INSTANTIATE_FUNCTIONS(compareDescriptors<D>);

}
