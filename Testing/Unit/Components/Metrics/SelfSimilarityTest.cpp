#include "Components/Metrics/SelfSimilarity.h"

#include "Testing/Support/Checks/MetricTermChecks.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
SelfSimilarity<D> metricOf(const TermScene<D>& scene, const std::string& text = "")
{
  SelfSimilarity<D> metric(parametersOf(text, D, 1, "Metric0"));
  metric.prepareForLevel(host, scene.level);
  return metric;
}

/// A voxel's value between voxels, by the definition of linear interpolation.
template <int D>
double linearAt(const SelfSimilarityDescriptor<D>& descriptor, Vec<D> index, std::size_t channel)
{
  double sum = 0;
  for (std::size_t v = 0; v < descriptor.values.size() / descriptor.channels; ++v) {
    double weight = 1;
    std::size_t rest = v;
    for (int d = 0; d < D; ++d) {
      const auto at = static_cast<double>(rest % descriptor.size[d]);
      rest /= descriptor.size[d];
      weight *= std::max(
          0.0, 1 - std::abs(std::clamp(index[d], 0.0, static_cast<double>(descriptor.size[d] - 1)) - at));
    }
    sum += weight * descriptor.values[descriptor.channels * v + channel] / 255;
  }
  return sum;
}

/// At most half a voxel beyond the image.
template <int D>
bool isInside(const SelfSimilarityDescriptor<D>& descriptor, const Vec<D>& index)
{
  for (int d = 0; d < D; ++d)
    if (index[d] < -0.5 || index[d] >= static_cast<double>(descriptor.size[d]) - 0.5)
      return false;
  return true;
}

template <int D>
void expectTheMeanSquaredDifference(const Size<D>& size, const Vec<D>& shiftMm)
{
  TermScene<D> scene(1, size);
  scene.useAffine();
  scene.chain->parameters.assign(D * D, 0.0); // no turn: the steps of both images are those of the fixed one
  for (int d = 0; d < D; ++d)
    scene.chain->parameters[d * D + d] = 1;
  scene.chain->parameters.insert(scene.chain->parameters.end(), shiftMm.begin(), shiftMm.end());
  auto metric = metricOf<D>(scene);
  const PointList<D> samples = std::get<PointList<D>>(scene.points(60, -0.2));
  const auto moving = scene.level.moving->geometry.indexFromPoint(),
             fixed = scene.level.fixed->geometry.indexFromPoint();
  const SelfSimilarityDescriptor<D> ofFixed(host, *scene.level.fixed),
      ofMoving(host, *scene.level.moving,
               multiply<D>(moving.matrix, scene.level.fixed->geometry.pointFromIndex().matrix));
  double sum = 0;
  std::size_t valid = 0;
  for (std::size_t i = 0; i < samples.positions(); ++i) {
    Vec<D> x, mapped;
    for (int d = 0; d < D; ++d) {
      x[d] = samples.mm[d][i];
      mapped[d] = x[d] + shiftMm[d];
    }
    const Vec<D> at = moving(mapped);
    if (!isInside<D>(ofMoving, at) || !isInside<D>(ofFixed, fixed(x)))
      continue;
    ++valid;
    for (std::size_t k = 0; k < ofFixed.channels; ++k) {
      const double difference = linearAt<D>(ofMoving, at, k) - linearAt<D>(ofFixed, fixed(x), k);
      sum += difference * difference / ofFixed.channels;
    }
  }
  ASSERT_LT(valid, samples.positions());
  ASSERT_GT(valid, 15u);

  const TermValue found = metric.evaluate(host, samples, scene.chain->parameters, {});

  EXPECT_EQ(found.valid, valid);
  EXPECT_NEAR(found.value, sum / static_cast<double>(valid), 1e-5 * found.value);
}

TEST(SelfSimilarityTest, IsTheMeanSquaredDifferenceOfInterpolatedDescriptors)
{
  expectTheMeanSquaredDifference<2>({23, 19}, {4.3, -2.6});
  expectTheMeanSquaredDifference<3>({17, 15, 13}, {2.3, -1.6, 0.7});
}

/// The value with the identity for two images of one size.
double valueOf(const ImagePointer<3>& fixed, const ImagePointer<3>& moving)
{
  TermScene<3> scene(1, {17, 15, 13});
  scene.useAffine();
  scene.chain->parameters = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
  scene.level.fixed = fixed;
  scene.level.moving = moving;
  return metricOf<3>(scene)
      .evaluate(host, VoxelLattice<3>{fixed, nullptr, {}, {1, 1, 1}, fixed->geometry.size},
                scene.chain->parameters, {})
      .value;
}

ImagePointer<3> texture(const ImageGeometry<3>& geometry)
{
  auto image = std::make_shared<Image<3>>(Image<3>{geometry, {}});
  for (const double value : checks::randomVector(geometry.voxelCount(), 5, 0, 100))
    image->voxels.push_back(static_cast<float>(value));
  return image;
}

TEST(SelfSimilarityTest, ContrastOfTheMovingImageDoesNotMatter)
{
  const auto fixed = texture({{17, 15, 13}, {1, 1.5, 2}, {}, identityMatrix<3>()});
  auto inverted = std::make_shared<Image<3>>(*fixed);
  for (float& value : inverted->voxels)
    value = 7 - 3 * value;
  auto other = std::make_shared<Image<3>>(*fixed);
  std::ranges::reverse(other->voxels);

  EXPECT_LT(valueOf(fixed, inverted), 1e-5); // roundings of a descriptor's numbers
  EXPECT_GT(valueOf(fixed, other), 0.01);
}

TEST(SelfSimilarityTest, VoxelsInAnotherOrderAreTheSameImage)
{
  const auto fixed = texture({{17, 15, 13}, {1, 1.5, 2}, {}, identityMatrix<3>()});
  // The moving image's first axis is the fixed one's second, backwards.
  ImageGeometry<3> geometry{
      {15, 17, 13}, {1.5, 1, 2}, {0, 14 * 1.5, 0}, {{{0, 1, 0}, {-1, 0, 0}, {0, 0, 1}}}};
  auto moving = std::make_shared<Image<3>>(Image<3>{geometry, std::vector<float>(fixed->voxels.size())});
  for (std::size_t z = 0; z < 13; ++z)
    for (std::size_t y = 0; y < 15; ++y)
      for (std::size_t x = 0; x < 17; ++x)
        moving->voxels[(z * 17 + x) * 15 + (14 - y)] = fixed->voxels[(z * 15 + y) * 17 + x];

  EXPECT_LT(valueOf(fixed, moving), 1e-5);
}

TEST(SelfSimilarityTest, GradientMatchesFiniteDifferences)
{
  // Linear interpolation has kinks at voxels, which few samples cross in a step.
  constexpr double step = 1e-4, tolerance = 1e-2;
  expectGradientsInChains<2>(metricOf<2>, step, tolerance);
  expectGradientsInChains<3>(metricOf<3>, step, tolerance);
}

TEST(SelfSimilarityTest, LeavesOutWhatMapsOutOfTheMovingMask)
{
  expectMovingMaskCounts(metricOf<3>);
}

TEST(SelfSimilarityTest, RepeatsItsBitsForAnyThreadCount)
{
  expectMetricRepeatsItsBits(metricOf<3>);
}

}
}
