#include "Components/Transforms/Shared/OnCuda/SplineOnCuda.h"

#include "Core/Compute/Memory/Buffer.h"

namespace tessera {
namespace {

std::vector<double> transposed(const std::vector<double>& matrix, std::size_t columns)
{
  std::vector<double> result(matrix.size());
  const std::size_t rows = matrix.size() / columns;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      result[column * rows + row] = matrix[row * columns + column];
  return result;
}

template <int D>
class HeldSpline final : public HeldTransformOnCuda<D> {
public:
  HeldSpline(const Context& context, const SplineForCuda<D>& spline)
  {
    landmarksMm_.fromHost(context, spline.landmarksMm);
    form_.kind = TransformKind::kernelSpline;
    form_.kernel = spline.kernel;
    form_.alpha = spline.alpha;
    form_.landmarks = static_cast<int>(spline.landmarksMm.size() / D);
    form_.landmarksMm = landmarksMm_.span().data();
    form_.pointToIndex.fromOffset = identityMatrix<D>();
    form_.block = spline.block;
    if (spline.influence.empty()) {
      vectors_.fromHost(context, spline.vectors);
    } else {
      vectors_ = Buffer<double>(context, spline.landmarksMm.size() + (D + 1) * D);
      influence_.fromHost(context, spline.influence);
      transposed_.fromHost(context,
                           transposed(spline.influence, spline.landmarksMm.size() / D * form_.block));
      form_.influence = influence_.span().data();
      form_.influenceTransposed = transposed_.span().data();
    }
    form_.coefficients = vectors_.span().data();
  }

  TransformOnCuda<D> at(const Context& context, std::span<const double> parameters) override
  {
    if (form_.influence && !parameters.empty()) // none may be there where memory is counted
      splineVectorsOnCuda<D>(context, form_, parameters.data(), vectors_.span().data());
    return form_;
  }

private:
  Buffer<double> landmarksMm_, vectors_, influence_, transposed_;
  TransformOnCuda<D> form_;
};

}

template <int D>
std::unique_ptr<HeldTransformOnCuda<D>> holdSplineOnCuda(const Context& context,
                                                         const SplineForCuda<D>& spline)
{
  return std::make_unique<HeldSpline<D>>(context, spline);
}

TESSERA_INSTANTIATE_FUNCTIONS(holdSplineOnCuda<D>);

}
