#include "Components/Transforms/Shared/LinearTransform.h"

#include "Components/Transforms/Shared/LinearKernels.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>

namespace tessera {
namespace {

/// Takes no device memory: kernels receive the affine map as an argument.
template <int D>
class HeldLinear final : public HeldTransformOnCuda<D> {
public:
  HeldLinear(const LinearForm<D>& form, std::span<const double> constant)
      : form_(form), constant_(constant.begin(), constant.end())
  {
  }
  TransformOnCuda<D> at(const Context&, std::span<const double> parameters) override
  {
    return {.kind = TransformKind::linear,
            .map = form_.pointMap(constant_.empty() ? parameters : constant_),
            .centerMm = form_.centerMm()};
  }

private:
  const LinearForm<D>& form_;
  std::vector<double> constant_; // empty if each call brings the parameters
};

}

template <int D>
std::string LinearTransform<D>::itkClass(const std::string& name)
{
  const std::string dimension = std::to_string(D);
  return name + "_double_" + dimension + "_" + dimension;
}

template <int D>
typename LinearTransform<D>::Derivatives LinearTransform<D>::derivativesOfTranslation() const
{
  Derivatives d;
  for (AffineMap<D>& map : d)
    map.matrix = Matrix<D>{};
  for (int axis = 0; axis < D; ++axis)
    d[translationIndex() + axis].offset[axis] = 1;
  return d;
}

/// T as one matrix and offset.
template <int D>
AffineMap<D> LinearTransform<D>::pointMap(std::span<const double> parameters) const
{
  AffineMap<D> map = aboutCenter(parameters);
  for (int row = 0; row < D; ++row) { // the order of ITK's sums; see AffineBatch
    map.offset[row] += centerMm_[row];
    for (int column = 0; column < D; ++column)
      map.offset[row] -= map.matrix[row][column] * centerMm_[column];
  }
  return map;
}

template <int D>
void LinearTransform<D>::map(Context&, const ListSamples<D>& samples, std::span<const double> parameters,
                             const PointsOut<D>& out) const
{
  linear::AffineBatch<D>::apply(pointMap(parameters), samples, out);
}

template <int D>
void LinearTransform<D>::pullBack(Context&, const ListSamples<D>& samples, std::span<const double> parameters,
                                  const Covectors<D>& covectors, std::span<double> gradient) const
{
  pullBackMoments(parameters, linear::MomentSums<D>::of(samples, covectors, centerMm_), gradient);
}

template <int D>
void LinearTransform<D>::pullBackMoments(std::span<const double> parameters,
                                         const CovectorMoments<D>& moments, std::span<double> gradient) const
{
  const Derivatives d = derivatives(parameters);
  for (std::size_t k = 0; k < parameterCount_; ++k)
    for (int row = 0; row < D; ++row) {
      gradient[k] += d[k].offset[row] * moments.sum[row];
      for (int column = 0; column < D; ++column)
        gradient[k] += d[k].matrix[row][column] * moments.outer[row][column];
    }
}

template <int D>
std::unique_ptr<HeldTransformOnCuda<D>> LinearTransform<D>::hold(const Context&,
                                                                 std::span<const double> constant) const
{
  return std::make_unique<HeldLinear<D>>(*this, constant);
}

template <int D>
void LinearTransform<D>::pushForward(Context&, const ListSamples<D>& samples,
                                     std::span<const double> parameters, std::span<const double> step,
                                     const PointsOut<D>& out) const
{
  const Derivatives d = derivatives(parameters);
  AffineMap<D> map{Matrix<D>{}, {}};
  for (std::size_t k = 0; k < parameterCount_; ++k)
    for (int row = 0; row < D; ++row) {
      map.offset[row] += step[k] * d[k].offset[row];
      for (int column = 0; column < D; ++column)
        map.matrix[row][column] += step[k] * d[k].matrix[row][column];
    }
  const Vec<D> atCenter = apply<D>(map.matrix, centerMm_);
  for (int row = 0; row < D; ++row)
    map.offset[row] -= atCenter[row];
  linear::AffineBatch<D>::apply(map, samples, out);
}

/// 1/n sum over samples of J^T J (P x P), computed exactly from the first and second moments of x - c.
template <int D>
std::vector<double> LinearTransform<D>::gramian(const Context& context, const ListSamples<D>& samples,
                                                const Derivatives& d) const
{
  constexpr std::size_t perChunk = 1024;
  std::vector<CovectorMoments<D>> partial((samples.count + perChunk - 1) / perChunk);
  forEachRange(context, samples.count, perChunk, [&](std::size_t first, std::size_t last) {
    CovectorMoments<D>& sum = partial[first / perChunk];
    for (std::size_t i = first; i < last; ++i)
      for (int row = 0; row < D; ++row) {
        const double x = samples.pointMm[row][i] - centerMm_[row];
        sum.sum[row] += x;
        for (int column = 0; column < D; ++column)
          sum.outer[row][column] += x * (samples.pointMm[column][i] - centerMm_[column]);
      }
  });
  CovectorMoments<D> mean;
  for (const CovectorMoments<D>& sum : partial)
    for (int row = 0; row < D; ++row) {
      mean.sum[row] += sum.sum[row] / static_cast<double>(samples.count);
      for (int column = 0; column < D; ++column)
        mean.outer[row][column] += sum.outer[row][column] / static_cast<double>(samples.count);
    }
  std::vector<double> products(parameterCount_ * parameterCount_);
  for (std::size_t k = 0; k < parameterCount_; ++k)
    for (std::size_t l = 0; l < parameterCount_; ++l) {
      double sum = 0;
      for (int row = 0; row < D; ++row) {
        sum += d[k].offset[row] * d[l].offset[row];
        for (int a = 0; a < D; ++a) {
          sum +=
              (d[k].matrix[row][a] * d[l].offset[row] + d[k].offset[row] * d[l].matrix[row][a]) * mean.sum[a];
          for (int b = 0; b < D; ++b)
            sum += d[k].matrix[row][a] * d[l].matrix[row][b] * mean.outer[a][b];
        }
      }
      products[k * parameterCount_ + l] = sum;
    }
  return products;
}

template <int D>
JacobianTerms LinearTransform<D>::jacobianTerms(Context& context, const ListSamples<D>& samples,
                                                std::span<const double> parameters,
                                                std::span<const double> scales) const
{
  constexpr std::size_t perChunk = 256;
  const std::size_t P = parameterCount_;
  Derivatives d = derivatives(parameters);
  for (std::size_t k = 0; k < P; ++k)
    for (int row = 0; row < D; ++row) {
      d[k].offset[row] /= std::sqrt(scales[k]);
      for (double& entry : d[k].matrix[row])
        entry /= std::sqrt(scales[k]);
    }
  const std::vector<double> c = gramian(context, samples, d);
  JacobianTerms terms;
  for (std::size_t k = 0; k < P; ++k)
    terms.traceC += c[k * P + k];
  for (double entry : c)
    terms.frobeniusC2 += entry * entry;

  std::vector<JacobianTerms> partial((samples.count + perChunk - 1) / perChunk);
  forEachRange(context, samples.count, perChunk, [&](std::size_t first, std::size_t last) {
    JacobianTerms& largest = partial[first / perChunk];
    for (std::size_t i = first; i < last; ++i) {
      Vec<D> x;
      for (int a = 0; a < D; ++a)
        x[a] = samples.pointMm[a][i] - centerMm_[a];
      std::array<Vec<D>, maxParameters> j;
      for (std::size_t k = 0; k < P; ++k)
        j[k] = d[k](x);
      Matrix<D> jj{}, jcj{};
      for (std::size_t k = 0; k < P; ++k) {
        Vec<D> cj{};
        for (std::size_t l = 0; l < P; ++l)
          for (int q = 0; q < D; ++q)
            cj[q] += c[k * P + l] * j[l][q];
        for (int p = 0; p < D; ++p)
          for (int q = 0; q < D; ++q) {
            jj[p][q] += j[k][p] * j[k][q];
            jcj[p][q] += j[k][p] * cj[q];
          }
      }
      largest.maxJJ = std::max(largest.maxJJ, linear::sizeOf<D>(jj));
      largest.maxJCJ = std::max(largest.maxJCJ, linear::sizeOf<D>(jcj));
    }
  });
  for (const JacobianTerms& largest : partial) {
    terms.maxJJ = std::max(terms.maxJJ, largest.maxJJ);
    terms.maxJCJ = std::max(terms.maxJCJ, largest.maxJCJ);
  }
  return terms;
}

template <int D>
void LinearTransform<D>::spatialDerivatives(Context&, const ListSamples<D>& samples,
                                            std::span<const double> parameters, double* jacobian,
                                            double* hessian) const
{
  const std::size_t count = samples.count;
  const Matrix<D> matrix = aboutCenter(parameters).matrix;
  for (int row = 0; row < D; ++row)
    for (int column = 0; column < D; ++column)
      std::fill_n(jacobian + (row * D + column) * count, count, matrix[row][column]);
  if (hessian)
    std::fill_n(hessian, D * symmetricCount(D) * count, 0.0);
}

template <int D>
void LinearTransform<D>::pullBackSpatialDerivatives(Context&, const ListSamples<D>& samples,
                                                    std::span<const double> parameters,
                                                    const double* covJacobian, const double*,
                                                    std::span<double> gradient) const
{
  if (!covJacobian)
    return;
  const std::size_t count = samples.count;
  const Derivatives d = derivatives(parameters);
  for (int row = 0; row < D; ++row)
    for (int column = 0; column < D; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < count; ++i)
        sum += covJacobian[(row * D + column) * count + i];
      for (std::size_t k = 0; k < parameterCount_; ++k)
        gradient[k] += d[k].matrix[row][column] * sum;
    }
}

TESSERA_INSTANTIATE_CLASS(LinearTransform);

}
