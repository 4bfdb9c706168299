#include "Components/Transforms/SplineKernelTransform.h"

#include "Components/Transforms/LinearSolve.h"
#include "Components/Transforms/TransformFileReading.h"
#include "Core/Compute/Error.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tessera {
namespace {

const std::vector<std::string> kernelNames{"ThinPlateSpline", "ThinPlateR2LogRSpline", "VolumeSpline", "ElasticBodySpline",
                                           "ElasticBodyReciprocalSpline"}; // in the order of SplineKernel

const Parameter<std::string> splineKernelType =
    textParameter("SplineKernelType", "ThinPlateSpline", Arity::single, "radial function of the landmarks", kernelNames);
const Parameter<double> splinePoissonRatio = realParameter("SplinePoissonRatio", 0.3, Arity::single, "", "of the elastic kernels");
const Parameter<double> splineRelaxationFactor =
    realParameter("SplineRelaxationFactor", 0, Arity::single, "", "0 interpolates the landmarks, more approximates them");
const Parameter<double> fixedImageLandmarks = realParameter("FixedImageLandmarks", std::numeric_limits<double>::quiet_NaN(),
                                                            Arity::list, "mm", "fixed landmarks, point by point");

[[noreturn]] void failNotOptimized()
{
  throw Error(ExitCode::usage, "SplineKernelTransform: asked for derivatives by its parameters: it is evaluated only. Allowed: "
                               "to use it as an initial transform, or in a transform parameter file.");
}

template <int D>
struct SplineView {
  const std::vector<Vec<D>>& landmarks;
  const std::vector<Vec<D>>& weights;
  AffineMap<D> affine; // x + A x + b
  double alpha;
};

constexpr std::size_t blockSize = 64; // samples for which a landmark's addend is computed side by side

template <int D, SplineKernel Kernel>
TESSERA_MULTIVERSION void mapBlock(const SplineView<D>& spline, const ListSamples<D>& samples, std::size_t first, std::size_t count,
                                   const PointsOut<D>& out)
{
  double x[D][blockSize] = {}, sum[D][blockSize];
  for (int d = 0; d < D; ++d)
    std::copy_n(samples.pointMm[d] + first, count, x[d]);
  for (int k = 0; k < D; ++k)
    for (std::size_t i = 0; i < blockSize; ++i) {
      sum[k][i] = spline.affine.offset[k];
      for (int d = 0; d < D; ++d)
        sum[k][i] += spline.affine.matrix[k][d] * x[d][i];
    }
  for (std::size_t l = 0; l < spline.landmarks.size(); ++l) {
    const Vec<D> p = spline.landmarks[l], w = spline.weights[l];
    for (std::size_t i = 0; i < blockSize; ++i) {
      double squared = 0, along = 0;
      for (int d = 0; d < D; ++d) {
        squared += (x[d][i] - p[d]) * (x[d][i] - p[d]);
        along += (x[d][i] - p[d]) * w[d];
      }
      const RadialTerms radial = radialTerms<Kernel>(squared, spline.alpha);
      for (int k = 0; k < D; ++k) {
        sum[k][i] += radial.f * w[k];
        if constexpr (hasOuterProduct(Kernel))
          sum[k][i] += radial.g * (x[k][i] - p[k]) * along;
      }
    }
  }
  for (int k = 0; k < D; ++k)
    std::copy_n(sum[k], count, out[k] + first);
}

/// Adds the first and second derivatives of G(x) w; h in the layout of Transform::spatialDerivatives for one sample.
template <int D, SplineKernel Kernel>
TESSERA_ALWAYS_INLINE void addDerivatives(const Vec<D>& x, const Vec<D>& w, double alpha, Matrix<D>& jacobian, double* h)
{
  double squared = 0, s = 0;
  for (int d = 0; d < D; ++d) {
    squared += x[d] * x[d];
    s += x[d] * w[d];
  }
  const RadialTerms t = radialTerms<Kernel>(squared, alpha);
  const auto delta = [](int a, int b) { return a == b ? 1.0 : 0.0; };
  for (int k = 0; k < D; ++k)
    for (int j = 0; j < D; ++j)
      jacobian[k][j] += t.f1 * x[j] * w[k] + t.g1 * x[j] * x[k] * s + t.g * (delta(j, k) * s + x[k] * w[j]);
  for (int k = 0, at = 0; k < D; ++k)
    for (int i = 0; i < D; ++i)
      for (int j = i; j < D; ++j, ++at)
        h[at] += (t.f2 * x[i] * x[j] + t.f1 * delta(i, j)) * w[k] + t.g2 * x[i] * x[j] * x[k] * s
                 + t.g1
                       * (delta(i, j) * x[k] * s + delta(i, k) * x[j] * s + delta(j, k) * x[i] * s + x[j] * x[k] * w[i]
                          + x[i] * x[k] * w[j])
                 + t.g * (delta(j, k) * w[i] + delta(i, k) * w[j]);
}

template <int D>
PointBatch<D>& latticeStorage()
{
  thread_local PointBatch<D> storage;
  return storage;
}

/// G(x), row-major.
template <int D, SplineKernel Kernel>
Matrix<D> kernelMatrix(const Vec<D>& x, double alpha)
{
  double squared = 0;
  for (int d = 0; d < D; ++d)
    squared += x[d] * x[d];
  const RadialTerms t = radialTerms<Kernel>(squared, alpha);
  Matrix<D> g{};
  for (int a = 0; a < D; ++a)
    for (int b = 0; b < D; ++b)
      g[a][b] = t.g * x[a] * x[b] + (a == b ? t.f : 0);
  return g;
}

/// Landmarks about their centre in units of their extent, so that the system's entries are of order one.
template <int D>
struct Normalization {
  Vec<D> center{};
  double extent = 0;

  explicit Normalization(const std::vector<Vec<D>>& points)
  {
    for (const Vec<D>& p : points)
      for (int d = 0; d < D; ++d)
        center[d] += p[d] / static_cast<double>(points.size());
    for (const Vec<D>& p : points)
      for (int d = 0; d < D; ++d)
        extent = std::max(extent, std::abs(p[d] - center[d]));
  }
  /// Basis of the affine part: coordinates, then 1.
  std::array<double, D + 1> basis(const Vec<D>& p) const
  {
    std::array<double, D + 1> q;
    for (int d = 0; d < D; ++d)
      q[d] = (p[d] - center[d]) / extent;
    q[D] = 1;
    return q;
  }
};

/// The matrix [K P; P^T 0] / largest entry of K, in blocks of `block` components (1 if G is a multiple of I).
template <int D, SplineKernel Kernel>
std::vector<double> splineSystem(const std::vector<Vec<D>>& points, const Normalization<D>& normalization, double alpha,
                                 double relaxation, double& largest)
{
  constexpr std::size_t block = hasOuterProduct(Kernel) ? D : 1;
  const std::size_t n = points.size(), count = block * (n + D + 1);
  std::vector<double> matrix(count * count, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      Vec<D> difference;
      for (int d = 0; d < D; ++d)
        difference[d] = points[i][d] - points[j][d];
      const Matrix<D> g = kernelMatrix<D, Kernel>(difference, alpha);
      for (std::size_t a = 0; a < block; ++a)
        for (std::size_t b = 0; b < block; ++b)
          matrix[(i * block + a) * count + j * block + b] = i == j ? (a == b ? relaxation : 0) : g[a][b];
    }
  largest = 0;
  for (const double value : matrix)
    largest = std::max(largest, std::abs(value));
  for (double& value : matrix)
    value /= largest > 0 ? largest : 1;
  for (std::size_t i = 0; i < n; ++i) {
    const auto q = normalization.basis(points[i]);
    for (std::size_t m = 0; m <= D; ++m)
      for (std::size_t a = 0; a < block; ++a)
        matrix[(i * block + a) * count + (n + m) * block + a] = matrix[((n + m) * block + a) * count + i * block + a] = q[m];
  }
  return matrix;
}

}

template <int D>
bool SplineKernelTransform<D>::solve(const std::vector<double>& moving)
{
  const std::size_t n = fixedLandmarksMm_.size();
  const Normalization<D> normalization(fixedLandmarksMm_);
  std::vector<double> right((n + D + 1) * D, 0.0); // the same order for D sides of one component and one side of D
  for (std::size_t i = 0; i < n; ++i)
    for (int d = 0; d < D; ++d)
      right[i * D + d] = moving[i * D + d] - fixedLandmarksMm_[i][d];
  double largest = 0;
  bool solved = false;
  withKernel<D>(kernel_, [&](auto kernel) {
    const std::size_t sides = hasOuterProduct(kernel()) ? 1 : D;
    solved = solveLinear(
        splineSystem<D, kernel()>(fixedLandmarksMm_, normalization, elasticAlpha(kernel_, poissonRatio_), relaxation_, largest),
        right.size() / sides, right, sides);
  });
  if (!solved)
    return false;
  weights_.assign(n, {});
  for (std::size_t i = 0; i < n; ++i)
    for (int d = 0; d < D; ++d)
      weights_[i][d] = right[i * D + d] / (largest > 0 ? largest : 1);
  affine_ = {};
  for (int k = 0; k < D; ++k) {
    affine_.offset[k] = right[(n + D) * D + k];
    for (int d = 0; d < D; ++d) {
      const double slope = right[(n + d) * D + k] / normalization.extent;
      affine_.matrix[k][d] += slope;
      affine_.offset[k] -= slope * normalization.center[d];
    }
  }
  return true;
}

template <int D>
const ComponentDescription& SplineKernelTransform<D>::description()
{
  static const ComponentDescription description{"Transform",
                                                "SplineKernelTransform",
                                                {},
                                                "x + A x + b + sum_i G(x - p_i) w_i through landmarks; from transform files",
                                                {splineKernelType, splinePoissonRatio, splineRelaxationFactor}};
  return description;
}

template <int D>
void SplineKernelTransform<D>::map(Context&, const Samples<D>& samples, std::span<const double>, const PointsOut<D>& out) const
{
  const ListSamples<D> list = asList(samples, latticeStorage<D>());
  const SplineView<D> spline{fixedLandmarksMm_, weights_, affine_, elasticAlpha(kernel_, poissonRatio_)};
  withKernel<D>(kernel_, [&](auto kernel) {
    for (std::size_t first = 0; first < list.count; first += blockSize)
      mapBlock<D, kernel()>(spline, list, first, std::min(blockSize, list.count - first), out);
  });
}

template <int D>
void SplineKernelTransform<D>::spatialDerivatives(Context&, const Samples<D>& samples, std::span<const double>, double* jacobian,
                                                  double* hessian) const
{
  constexpr int pairs = symmetricCount(D);
  const ListSamples<D> list = asList(samples, latticeStorage<D>());
  const double alpha = elasticAlpha(kernel_, poissonRatio_);
  withKernel<D>(kernel_, [&](auto kernel) {
    for (std::size_t i = 0; i < list.count; ++i) {
      Matrix<D> j = affine_.matrix;
      double h[D * pairs] = {};
      for (std::size_t l = 0; l < weights_.size(); ++l) {
        Vec<D> x;
        for (int d = 0; d < D; ++d)
          x[d] = list.pointMm[d][i] - fixedLandmarksMm_[l][d];
        addDerivatives<D, kernel()>(x, weights_[l], alpha, j, h);
      }
      for (int k = 0; k < D * D; ++k)
        jacobian[k * list.count + i] = j[k / D][k % D];
      for (int s = 0; s < D * pairs && hessian; ++s)
        hessian[s * list.count + i] = h[s];
    }
  });
}

template <int D>
std::vector<double> SplineKernelTransform<D>::restore(const Parameters& file)
{
  const std::string type = file.get(splineKernelType);
  kernel_ = static_cast<SplineKernel>(std::find(kernelNames.begin(), kernelNames.end(), type) - kernelNames.begin());
  if (D == 2 && kernel_ != SplineKernel::thinPlate && kernel_ != SplineKernel::thinPlateR2LogR)
    file.warn(file.where(splineKernelType.name) + ": in 2D every spline is ThinPlateR2LogRSpline, as in elastix.");
  poissonRatio_ = file.get(splinePoissonRatio);
  if (!(poissonRatio_ > -1 && poissonRatio_ < 0.5))
    file.fail(splinePoissonRatio.name, "no elastic body has it", "Allowed: above -1 and below 0.5");
  relaxation_ = file.get(splineRelaxationFactor);

  const std::vector<double> landmarks = file.all(fixedImageLandmarks);
  if (landmarks.empty() || landmarks.size() % D != 0)
    file.fail(fixedImageLandmarks.name, std::to_string(landmarks.size()) + " values",
              "Allowed: " + std::to_string(D) + " values a point");
  fixedLandmarksMm_.assign(landmarks.size() / D, {});
  for (std::size_t i = 0; i < landmarks.size(); ++i)
    fixedLandmarksMm_[i / D][i % D] = landmarks[i];

  std::vector<double> moving = readTransformParameters(file, landmarks.size(),
                                                       std::to_string(fixedLandmarksMm_.size()) + " fixed landmarks of "
                                                           + std::to_string(D) + " components");
  if (!solve(moving))
    file.fail(fixedImageLandmarks.name, "they determine no spline",
              "Allowed: at least " + std::to_string(D + 1) + " different points that are not all on one "
                  + (D == 2 ? "line" : "plane"));
  return moving;
}

template <int D>
std::vector<FileEntry> SplineKernelTransform<D>::fileEntries() const
{
  FileEntry landmarks{fixedImageLandmarks.name, {}, {}};
  for (const Vec<D>& point : fixedLandmarksMm_)
    landmarks.numbers.insert(landmarks.numbers.end(), point.begin(), point.end());
  return {{splineKernelType.name, {kernelNames[static_cast<std::size_t>(kernel_)]}, {}},
          {splinePoissonRatio.name, {}, {poissonRatio_}},
          {splineRelaxationFactor.name, {}, {relaxation_}},
          landmarks};
}

template <int D>
ItkTransform SplineKernelTransform<D>::itkTransform(std::span<const double>) const
{
  throw Error(ExitCode::unwritableOutput,
              "SplineKernelTransform: ITK's transform files: it is not written to them. Allowed: a text "
              "file of parameters.");
}

template <int D>
std::vector<double> SplineKernelTransform<D>::initialize(Context&, const TransformStart<D>&)
{
  failNotOptimized();
}

template <int D>
void SplineKernelTransform<D>::prepareForLevel(Context&, std::size_t, std::vector<double>&)
{
  failNotOptimized();
}

template <int D>
std::vector<double> SplineKernelTransform<D>::scales(Context&, const ListSamples<D>&, std::span<const double>) const
{
  failNotOptimized();
}

template <int D>
void SplineKernelTransform<D>::pullBack(Context&, const Samples<D>&, std::span<const double>, const Covectors<D>&,
                                        std::span<double>) const
{
  failNotOptimized();
}

template <int D>
void SplineKernelTransform<D>::pushForward(Context&, const Samples<D>&, std::span<const double>, std::span<const double>,
                                           const PointsOut<D>&) const
{
  failNotOptimized();
}

template <int D>
JacobianTerms SplineKernelTransform<D>::jacobianTerms(Context&, const ListSamples<D>&, std::span<const double>,
                                                      std::span<const double>) const
{
  failNotOptimized();
}

template <int D>
void SplineKernelTransform<D>::pullBackSpatialDerivatives(Context&, const Samples<D>&, std::span<const double>, const double*,
                                                          const double*, std::span<double>) const
{
  failNotOptimized();
}

template class SplineKernelTransform<2>;
template class SplineKernelTransform<3>;

}
