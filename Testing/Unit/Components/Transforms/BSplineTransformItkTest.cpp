// needs: ITK
#include "Components/Transforms/BSplineTransform.h"

#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ParameterText.h"

#include <itkBSplineTransform.h>

namespace tessera {
namespace {

using namespace checks;

/// The values that ITK's own transform gives, from what itkTransform says, at points where the grid carries a
/// displacement.
template <int D, int Order>
void expectItkEvaluatesTheSame()
{
  BSplineTransform<D> transform(testing::parametersOf("(A 1)", D));
  std::string text = "(BSplineTransformSplineOrder " + std::to_string(Order) + ")\n(TransformParameters";
  for (const double value : randomVector(D * (D == 2 ? 56 : 336), 11, -5, 5))
    text += " " + std::to_string(value);
  text += D == 2
              ? ")\n(GridSize 7 8)\n(GridSpacing 9 11)\n(GridOrigin -3 4)\n(GridDirection 0.8 0.6 -0.6 0.8)"
              : ")\n(GridSize 7 8 6)\n(GridSpacing 9 11 13)\n(GridOrigin -3 4 1000)\n(GridDirection 0.8 0.6 "
                "0 -0.6 0.8 0 0 0 1)";
  const std::vector<double> parameters = transform.restore({}, testing::parametersOf(text, D));

  const ItkTransform itk = transform.itkTransform(parameters);

  const auto reference = itk::BSplineTransform<double, D, Order>::New();
  EXPECT_EQ(reference->GetTransformTypeAsString(), itk.className);
  itk::OptimizerParameters<double> fixed(itk.fixedParameters.size()), values(itk.parameters.size());
  std::copy(itk.fixedParameters.begin(), itk.fixedParameters.end(), fixed.begin());
  std::copy(itk.parameters.begin(), itk.parameters.end(), values.begin());
  reference->SetFixedParameters(fixed);
  reference->SetParameters(values);
  const AffineMap<D> pointFromIndex = transform.grid().points.pointFromIndex();
  Points<D> points(200);
  for (std::size_t i = 0; i < points.count(); ++i) {
    Vec<D> index;
    for (int d = 0; d < D; ++d)
      index[d] =
          randomVector(1, 10 * i + d, 1.01, static_cast<double>(transform.grid().points.size[d]) - 2.01)[0];
    const Vec<D> point = pointFromIndex(index);
    for (int d = 0; d < D; ++d)
      points.mm[d][i] = point[d];
  }
  const Points<D> result = mapped<D>(transform, parameters, points);
  for (std::size_t i = 0; i < points.count(); ++i) {
    itk::Point<double, D> point;
    for (int d = 0; d < D; ++d)
      point[d] = points.mm[d][i];
    const auto expected = reference->TransformPoint(point);
    for (int d = 0; d < D; ++d)
      ASSERT_NEAR(result.mm[d][i], expected[d], 1e-15 * 1000 * 10)
          << "order " << Order << ", point " << i; // ten roundings of 1000 mm
  }
}

TEST(BSplineTransformItk, ItkEvaluatesTheExportedTransformTheSame)
{
  expectItkEvaluatesTheSame<2, 1>();
  expectItkEvaluatesTheSame<2, 2>();
  expectItkEvaluatesTheSame<2, 3>();
  expectItkEvaluatesTheSame<3, 1>();
  expectItkEvaluatesTheSame<3, 2>();
  expectItkEvaluatesTheSame<3, 3>();
}

}
}
