#include "Components/Transforms/DeformationFieldTransform.h"

#include "Core/Image/Files/ImageFile.h"
#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/ParameterText.h"

namespace tessera {
namespace {

using namespace checks;
using namespace testing;

/// A transform file, in a folder of its own, beside its field of random displacements on an oblique grid.
template <int D>
class DeformationField {
public:
  VectorImage<D> field;
  DeformationFieldTransform<D> transform;

  explicit DeformationField(int order, int components = D) : transform(testing::parametersOf("(A 1)", D))
  {
    field.geometry.size.fill(5);
    field.geometry.size[0] = 7;
    field.geometry.spacingMm.fill(2.5);
    field.geometry.originMm.fill(-4);
    field.geometry.direction[0][0] = field.geometry.direction[1][1] = 0.8;
    field.geometry.direction[0][1] = -0.6;
    field.geometry.direction[1][0] = 0.6;
    field.components = components;
    for (const double value : randomVector(components * field.geometry.voxelCount(), 1, -3, 3))
      field.voxels.push_back(static_cast<float>(value));
    writeVectorImage(folder_ / "field.mha", field, false);
    order_ = order;
  }
  void restore(const std::string& fieldName = "field.mha")
  {
    const std::string path = folder_.write("transform.txt", "(DeformationFieldFileName \"" + fieldName
                                                                + "\")\n(DeformationFieldInterpolationOrder "
                                                                + std::to_string(order_) + ")\n");
    std::vector<std::string> notes;
    transform.restore({},
                      Parameters(std::make_shared<ParameterMap>(readParameterFile(path, notes)), "", D, 1));
  }

private:
  TemporaryFolder folder_;
  int order_;
};

/// The multilinear interpolant, written as a sum over all voxels; order 0 the nearest voxel.
template <int D>
Vec<D> naive(const VectorImage<D>& field, const Vec<D>& point, int order)
{
  Vec<D> index = field.geometry.indexFromPoint()(point), u{};
  for (int d = 0; d < D; ++d) {
    const auto size = static_cast<double>(field.geometry.size[d]);
    if (!(index[d] >= -0.5 && index[d] < size - 0.5))
      return u;
    index[d] = order == 0 ? std::floor(index[d] + 0.5) : std::clamp(index[d], 0.0, size - 1);
  }
  for (std::size_t v = 0; v < field.geometry.voxelCount(); ++v) {
    double weight = 1;
    for (std::size_t d = 0, rest = v; d < D; rest /= field.geometry.size[d++])
      weight *= std::max(0.0, 1 - std::abs(index[d] - static_cast<double>(rest % field.geometry.size[d])));
    for (int d = 0; d < D; ++d)
      u[d] += weight * field.voxels[v * D + d];
  }
  return u;
}

template <int D>
void expectNaive(int order)
{
  DeformationField<D> example(order);
  example.restore();
  const Points<D> points = randomPoints<D>(400, 5, -15, 20);

  const Points<D> result = mapped<D>(example.transform, {}, points);

  for (std::size_t i = 0; i < points.count(); ++i) {
    Vec<D> point;
    for (int d = 0; d < D; ++d)
      point[d] = points.mm[d][i];
    const Vec<D> u = naive<D>(example.field, point, order);
    for (int d = 0; d < D; ++d)
      ASSERT_NEAR(result.mm[d][i], point[d] + u[d], 1e-13 * 20)
          << "order " << order << ", point " << i; // a few roundings
  }
}

TEST(DeformationFieldTransform, MapsByTheNearestVoxelOrLinearlyAndNotAtAllOutside)
{
  for (const int order : {0, 1}) {
    expectNaive<2>(order);
    expectNaive<3>(order);
  }
}

template <int D>
void expectDerivatives()
{
  DeformationField<D> example(1);
  example.restore();
  Points<D> points(60);
  for (std::size_t i = 0; i < points.count(); ++i) { // inside cells, where the interpolant is smooth
    Vec<D> index;
    for (int d = 0; d < D; ++d) {
      const std::vector<double> random = randomVector(2, 100 * i + d, 0, 1);
      index[d] = std::floor((static_cast<double>(example.field.geometry.size[d]) - 1) * random[0]) + 0.1
                 + 0.8 * random[1];
    }
    const Vec<D> point = example.field.geometry.pointFromIndex()(index);
    for (int d = 0; d < D; ++d)
      points.mm[d][i] = point[d];
  }
  // multilinear: no truncation along an axis of the grid, oblique steps of 1e-3 mm square to 1e-6; rounding
  // 1e-14 / 1e-3
  expectSpatialDerivativesMatchFiniteDifferences<D>(example.transform, {}, points, 1e-3, 2e-6, 1e-6);
}

TEST(DeformationFieldTransform, SpatialDerivativesOfTheLinearFieldMatchFiniteDifferences)
{
  expectDerivatives<2>();
  expectDerivatives<3>();
}

TEST(DeformationFieldTransform, FieldsThatCannotBeUsedAreErrors)
{
  DeformationField<2> missing(1), threeComponents(1, 3), nearest(0);
  EXPECT_PRED2(testing::contains,
               errorText([&] { missing.restore("nowhere.mha"); }, ExitCode::unreadableInput), "nowhere.mha");
  EXPECT_PRED2(testing::contains, errorText([&] { threeComponents.restore(); }, ExitCode::unreadableInput),
               "3 components");
  nearest.restore();
  Context context;
  EXPECT_PRED2(testing::contains, errorText([&] {
                 nearest.transform.spatialDerivatives(context, ListSamples<2>{}, {}, nullptr, nullptr);
               }),
               "DeformationFieldInterpolationOrder 1");
}

}
}
