#include "Components/Interpolators/LabelMajorityInterpolator.h"

#include "Core/Registration/Interpolation/LabelMajority.h"
#include "Testing/Support/Checks/InterpolatorChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"

#include <map>

using namespace tessera;
using namespace tessera::testing;

namespace {

TEST(LabelMajority, ByHand)
{
  // weights 0.28, 0.42, 0.12, 0.18 at (0.6, 0.3)
  EXPECT_EQ(majorityLabel<2>({5, 7, 5, 5}, {0.6, 0.3}), 5); // 0.58 against 0.42
  EXPECT_EQ(majorityLabel<2>({5, 7, 9, 8}, {0.6, 0.3}), 7);
  EXPECT_EQ(majorityLabel<2>({4, 7, 9, 4}, {0.6, 0.3}), 4); // 0.46, though the corner of the most weight is 7
  EXPECT_EQ(majorityLabel<2>({3, 3, 3, 3}, {0.9, 0.1}), 3);
}

TEST(LabelMajority, TiesGoToTheSmallerLabel)
{
  EXPECT_EQ(majorityLabel<2>({9, 2, 9, 2}, {0.5, 0.25}), 2);
  EXPECT_EQ(majorityLabel<2>({2, 9, 2, 9}, {0.5, 0.25}), 2);
  EXPECT_EQ(majorityLabel<3>({4, 3, -1, 8, 6, 7, 5, 2}, {0.5, 0.5, 0.5}), -1);
}

/// Few labels, in clumps of single voxels.
template <int D>
ImagePointer<D> labelImage(const ImageGeometry<D>& geometry)
{
  auto image = std::make_shared<Image<D>>(noiseImage<D>(geometry, 11));
  for (float& voxel : image->voxels)
    voxel = static_cast<float>(static_cast<int>(voxel) / 30);
  return image;
}

/// Memberships of all labels, each interpolated linearly with repeated border voxels.
template <int D>
float naiveLabel(const Image<D>& image, const Vec<D>& index)
{
  std::map<float, double> memberships;
  for (int corner = 0; corner < 1 << D; ++corner) {
    double weight = 1;
    std::size_t offset = 0;
    for (int d = D; d-- > 0;) {
      const double low = std::floor(index[d]), fraction = index[d] - low,
                   last = static_cast<double>(image.geometry.size[d]) - 1;
      weight *= corner >> d & 1 ? fraction : 1 - fraction;
      offset = offset * image.geometry.size[d]
               + static_cast<std::size_t>(std::clamp(low + (corner >> d & 1), 0.0, last));
    }
    memberships[image.voxels[offset]] += weight;
  }
  float label = 0;
  double most = -1;
  for (const auto& [candidate, weight] : memberships) // smaller ones first
    if (weight > most + 1e-12) {
      most = weight;
      label = candidate;
    }
  return label;
}

template <int D>
void expectNaiveLabels(const Size<D>& size)
{
  const ImagePointer<D> image = labelImage<D>(obliqueGeometry<D>(size));
  LabelMajorityInterpolator<D> interpolator(parametersOf("(X 1)", D));
  interpolator.prepareForLevel(host, image, 0);
  PointBatch<D> points;
  const std::vector<Vec<D>> indices = scatteredIndices<D>(size, batchCapacity, 5);
  const PointToIndex<D> toIndex = image->geometry.pointToIndex();
  points.count = indices.size();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Vec<D> mm = image->geometry.pointFromIndex()(indices[i]);
    for (int d = 0; d < D; ++d)
      points.mm[d][i] = mm[d];
  }
  std::vector<float> values(batchCapacity);
  std::vector<std::uint8_t> inside(batchCapacity);

  interpolator.evaluate(host, points.list(), values.data(), nullptr, inside.data());

  std::size_t compared = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Vec<D> index = toIndex(points.list().point(i));
    bool isInside = true;
    for (int d = 0; d < D; ++d)
      isInside = isInside && index[d] >= -0.5 && index[d] < static_cast<double>(size[d]) - 0.5;
    ASSERT_EQ(inside[i] != 0, isInside) << i;
    ASSERT_EQ(values[i], isInside ? naiveLabel<D>(*image, index) : 0) << i;
    compared += isInside;
  }
  EXPECT_GT(compared, batchCapacity / 3);
}

TEST(LabelMajorityInterpolator, IsTheNaiveLoopAtAwkwardSizes)
{
  expectNaiveLabels<2>({17, 13});
  expectNaiveLabels<2>({5, 1});
  expectNaiveLabels<3>({7, 9, 11});
  expectNaiveLabels<3>({1, 9, 2});
}

TEST(LabelMajorityInterpolator, HasNoGradient)
{
  LabelMajorityInterpolator<2> interpolator(parametersOf("(X 1)", 2));
  interpolator.prepareForLevel(host, labelImage<2>(obliqueGeometry<2>({4, 4})), 0);
  PointBatch<2> points;
  points.count = 1;
  float value = 0;
  float* gradients[2] = {&value, &value};
  std::uint8_t inside = 0;

  EXPECT_FALSE(interpolator.hasGradient());
  EXPECT_EQ(errorText([&] { interpolator.evaluate(host, points.list(), &value, gradients, &inside); }),
            "LabelMajorityInterpolator: gradients: labels have none. Allowed: another interpolator.");
}

}
