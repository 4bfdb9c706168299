#include "Components/Transforms/Shared/LandmarkSplines/ProjectedSystem.h"

#include "Components/Transforms/Shared/LandmarkSplines/Cholesky.h"
#include "Components/Transforms/Shared/OnCuda/CholeskyOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/SplineMatrixOnCuda.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>

namespace tessera {
namespace {

constexpr std::size_t rowsOfChunk = 32;

TESSERA_MULTIVERSION double product(const double* a, const double* b, std::size_t count)
{
  constexpr std::size_t lanes = 8; // sums side by side, in an order that no instruction set changes
  double sums[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (std::size_t l = 0; l < lanes; ++l)
      sums[l] += a[i + l] * b[i + l];
  double sum = 0;
  for (; i < count; ++i)
    sum += a[i] * b[i];
  for (const double lane : sums)
    sum += lane;
  return sum;
}

TESSERA_MULTIVERSION void addScaled(double factor, const double* from, std::size_t count, double* to)
{
  for (std::size_t i = 0; i < count; ++i)
    to[i] += factor * from[i];
}

}

struct ProjectedSystem::OnCuda {
  Context context;
  Buffer<double> matrix;
  CholeskyOnCuda factor;
  std::mutex mutex; // of the context's stream, since transforms are evaluated by several threads
};

/// Turns the basis into reflectors.
ProjectedSystem::ProjectedSystem(const std::vector<double>& basis, std::size_t unknowns, double sign)
    : rows_(basis.size() / unknowns), unknowns_(unknowns), sign_(sign), reflectors_(unknowns * rows_, 0.0),
      coupling_(unknowns * unknowns, 0.0), triangle_(unknowns * unknowns, 0.0)
{
  isDetermined_ = rows_ >= unknowns_;
  std::vector<double> columns(unknowns * rows_); // P^T, turned into R step by step
  for (std::size_t i = 0; i < rows_; ++i)
    for (std::size_t c = 0; c < unknowns; ++c)
      columns[c * rows_ + i] = basis[i * unknowns + c];
  for (std::size_t c = 0; c < unknowns && isDetermined_; ++c) {
    double* const column = &columns[c * rows_];
    double* const v = &reflectors_[c * rows_];
    const double norm = std::sqrt(product(column + c, column + c, rows_ - c));
    isDetermined_ = norm > 1e-6 * std::sqrt(static_cast<double>(rows_));
    if (!isDetermined_)
      return;
    std::copy(column + c, column + rows_, v + c);
    v[c] += column[c] < 0 ? -norm : norm;
    const double factor = 2 / product(v + c, v + c, rows_ - c);
    for (std::size_t other = c; other < unknowns; ++other)
      addScaled(-factor * product(v + c, &columns[other * rows_ + c], rows_ - c), v + c, rows_ - c,
                &columns[other * rows_ + c]);
    // Q (I - factor v v^T) = I - V' T' V'^T
    coupling_[c * unknowns + c] = factor;
    for (std::size_t other = 0; other < c; ++other) {
      const double along = product(&reflectors_[other * rows_], v, rows_);
      for (std::size_t row = 0; row <= other; ++row)
        coupling_[row * unknowns + c] -= factor * along * coupling_[row * unknowns + other];
    }
  }
  if (!isDetermined_)
    return;
  for (std::size_t row = 0; row < unknowns; ++row)
    for (std::size_t c = row; c < unknowns; ++c)
      triangle_[row * unknowns + c] = columns[c * rows_ + row];
  free_ = rows_ - unknowns;
  border_.resize(free_ * unknowns);
}

// Q^T K Q = K - V Y^T - Y V^T with U = V T, W = K U and Y = W - V (U^T W) / 2

/// U
std::vector<double> ProjectedSystem::coupledReflectors() const
{
  std::vector<double> u(unknowns_ * rows_, 0.0);
  for (std::size_t c = 0; c < unknowns_; ++c)
    for (std::size_t row = 0; row <= c; ++row)
      addScaled(coupling_[row * unknowns_ + c], &reflectors_[row * rows_], rows_, &u[c * rows_]);
  return u;
}

/// Turns W into Y.
void ProjectedSystem::completeProducts(const std::vector<double>& u, std::vector<double>& y) const
{
  std::vector<double> half(unknowns_ * unknowns_);
  for (std::size_t row = 0; row < unknowns_; ++row)
    for (std::size_t c = 0; c < unknowns_; ++c)
      half[row * unknowns_ + c] = product(&u[row * rows_], &y[c * rows_], rows_) / 2;
  for (std::size_t row = 0; row < unknowns_; ++row)
    for (std::size_t c = 0; c < unknowns_; ++c)
      addScaled(-half[row * unknowns_ + c], &reflectors_[row * rows_], rows_, &y[c * rows_]);
}

ProjectedSystem::ProjectedSystem(const Context& context, std::vector<double> kernel,
                                 const std::vector<double>& basis, std::size_t unknowns, double sign)
    : ProjectedSystem(basis, unknowns, sign)
{
  if (!isDetermined_)
    return;
  const std::vector<double> u = coupledReflectors();
  std::vector<double> y(unknowns * rows_);
  forEachRange(context, rows_, rowsOfChunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t c = 0; c < unknowns; ++c)
        y[c * rows_ + i] = product(&kernel[i * rows_], &u[c * rows_], rows_);
  });
  completeProducts(u, y);
  matrix_.resize(free_ * free_);
  forEachRange(context, free_, rowsOfChunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first + unknowns; i < last + unknowns; ++i) {
      double* const row = &kernel[i * rows_];
      for (std::size_t c = 0; c < unknowns; ++c) {
        addScaled(-reflectors_[c * rows_ + i], &y[c * rows_], i + 1, row);
        addScaled(-y[c * rows_ + i], &reflectors_[c * rows_], i + 1, row);
      }
      std::copy_n(row, unknowns, &border_[(i - unknowns) * unknowns]);
      for (std::size_t j = unknowns; j <= i; ++j)
        matrix_[(i - unknowns) * free_ + j - unknowns] = sign_ * row[j];
    }
  });
}

ProjectedSystem::ProjectedSystem(const Context& context, Buffer<double> kernel,
                                 const std::vector<double>& basis, std::size_t unknowns, double sign)
    : ProjectedSystem(basis, unknowns, sign)
{
  if (!isDetermined_)
    return;
  const std::vector<double> u = coupledReflectors();
  Buffer<double> factors, products(context, unknowns * rows_), border(context, border_.size());
  factors.fromHost(context, u);
  multiplyVectorsOnCuda(context, kernel.span().data(), rows_, factors.span().data(), unknowns,
                        products.span().data());
  std::vector<double> y = products.toHost(context);
  completeProducts(u, y);
  factors.fromHost(context, reflectors_);
  products.fromHost(context, y);
  onCuda_ = std::make_shared<OnCuda>();
  onCuda_->context = context;
  onCuda_->matrix = Buffer<double>(context, free_ * free_);
  projectOnCuda(context, kernel.span().data(), rows_, factors.span().data(), products.span().data(), unknowns,
                sign, border.span().data(), onCuda_->matrix.span().data());
  border_ = border.toHost(context);
}

void ProjectedSystem::keepFactor()
{
  matrix_ = {};
  if (onCuda_)
    onCuda_->matrix = {};
}

double ProjectedSystem::meanDiagonal() const
{
  double sum = 0;
  if (onCuda_) {
    Buffer<double> diagonal(onCuda_->context, free_);
    copyDiagonalOnCuda(onCuda_->context, onCuda_->matrix.span().data(), free_, diagonal.span().data());
    for (const double entry : diagonal.toHost(onCuda_->context))
      sum += entry;
  } else
    for (std::size_t i = 0; i < free_; ++i)
      sum += matrix_[i * free_ + i];
  return free_ > 0 ? sum / static_cast<double>(free_) : 0;
}

bool ProjectedSystem::factor(const Context& context, double smoothing)
{
  smoothing_ = smoothing;
  if (onCuda_)
    return onCuda_->factor.factor(onCuda_->context, onCuda_->matrix, free_, smoothing);
  factor_ = matrix_;
  for (std::size_t i = 0; i < free_; ++i)
    factor_[i * free_ + i] += smoothing;
  return factorCholesky(context, factor_, free_);
}

/// right = L^-1 right or, `bothFactors`, (L L^T)^-1 right.
void ProjectedSystem::solveByFactor(const Context& context, std::vector<double>& right,
                                    std::size_t rightHandSides, bool bothFactors) const
{
  if (onCuda_) {
    const std::lock_guard lock(onCuda_->mutex);
    onCuda_->factor.solve(onCuda_->context, right, rightHandSides, bothFactors);
  } else if (bothFactors)
    solveCholesky(context, factor_, free_, right, rightHandSides);
  else
    solveLower(context, factor_, free_, right, rightHandSides);
}

/// right = Q right, or Q^T right.
void ProjectedSystem::reflect(std::vector<double>& right, std::size_t rightHandSides, bool transposed) const
{
  std::vector<double> along(unknowns_ * rightHandSides, 0.0), coupled(unknowns_ * rightHandSides, 0.0);
  for (std::size_t c = 0; c < unknowns_; ++c)
    for (std::size_t i = 0; i < rows_; ++i)
      addScaled(reflectors_[c * rows_ + i], &right[i * rightHandSides], rightHandSides,
                &along[c * rightHandSides]);
  for (std::size_t row = 0; row < unknowns_; ++row)
    for (std::size_t c = 0; c < unknowns_; ++c)
      addScaled(coupling_[transposed ? c * unknowns_ + row : row * unknowns_ + c], &along[c * rightHandSides],
                rightHandSides, &coupled[row * rightHandSides]);
  for (std::size_t i = 0; i < rows_; ++i)
    for (std::size_t c = 0; c < unknowns_; ++c)
      addScaled(-reflectors_[c * rows_ + i], &coupled[c * rightHandSides], rightHandSides,
                &right[i * rightHandSides]);
}

std::vector<double> ProjectedSystem::solve(const Context& context, std::vector<double>& right,
                                           std::size_t rightHandSides) const
{
  reflect(right, rightHandSides, true);
  std::vector<double> affine(right.begin(),
                             right.begin() + static_cast<std::ptrdiff_t>(unknowns_ * rightHandSides));
  std::vector<double> weights(right.begin() + static_cast<std::ptrdiff_t>(affine.size()), right.end());
  for (double& weight : weights)
    weight *= sign_;
  solveByFactor(context, weights, rightHandSides, true);
  for (std::size_t i = 0; i < free_; ++i)
    for (std::size_t c = 0; c < unknowns_; ++c)
      addScaled(-border_[i * unknowns_ + c], &weights[i * rightHandSides], rightHandSides,
                &affine[c * rightHandSides]);
  for (std::size_t row = unknowns_; row-- > 0;) {
    double* const found = &affine[row * rightHandSides];
    for (std::size_t c = row + 1; c < unknowns_; ++c)
      addScaled(-triangle_[row * unknowns_ + c], &affine[c * rightHandSides], rightHandSides, found);
    for (std::size_t s = 0; s < rightHandSides; ++s)
      found[s] /= triangle_[row * unknowns_ + row];
  }
  std::fill(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(affine.size()), 0.0);
  std::copy(weights.begin(), weights.end(), right.begin() + static_cast<std::ptrdiff_t>(affine.size()));
  reflect(right, rightHandSides, false);
  return affine;
}

void ProjectedSystem::solveTransposed(const Context& context, std::vector<double>& right,
                                      std::vector<double> affine, std::size_t rightHandSides) const
{
  // The system is symmetric, so this is w for P^T w = affine: w = Q (x, y) with R^T x = affine
  for (std::size_t row = 0; row < unknowns_; ++row) {
    double* const found = &affine[row * rightHandSides];
    for (std::size_t c = 0; c < row; ++c)
      addScaled(-triangle_[c * unknowns_ + row], &affine[c * rightHandSides], rightHandSides, found);
    for (std::size_t s = 0; s < rightHandSides; ++s)
      found[s] /= triangle_[row * unknowns_ + row];
  }
  reflect(right, rightHandSides, true);
  std::vector<double> weights(right.begin() + static_cast<std::ptrdiff_t>(affine.size()), right.end());
  for (std::size_t i = 0; i < free_; ++i)
    for (std::size_t c = 0; c < unknowns_; ++c)
      addScaled(-border_[i * unknowns_ + c], &affine[c * rightHandSides], rightHandSides,
                &weights[i * rightHandSides]);
  for (double& weight : weights)
    weight *= sign_;
  solveByFactor(context, weights, rightHandSides, true);
  std::ranges::copy(affine, right.begin());
  std::ranges::copy(weights, right.begin() + static_cast<std::ptrdiff_t>(affine.size()));
  reflect(right, rightHandSides, false);
}

double ProjectedSystem::crossValidation(const Context& context, const std::vector<double>& right,
                                        std::size_t rightHandSides) const
{
  std::vector<double> weights = right;
  solve(context, weights, rightHandSides);
  const double residual = product(weights.data(), weights.data(), weights.size()); // over smoothing^2

  const bool isExact = free_ <= 256;
  const std::size_t probes = isExact ? free_ : 64;
  std::vector<double> probe(free_ * probes, 0.0);
  for (std::size_t i = 0; i < free_; ++i) {
    const auto words = randomWords({}, static_cast<std::uint32_t>(i), 0);
    for (std::size_t p = 0; p < probes; ++p)
      probe[i * probes + p] = isExact ? (i == p) : (words[p / 32] >> (p % 32) & 1u) != 0 ? 1 : -1;
  }
  solveByFactor(context, probe, probes, false);
  double trace = product(probe.data(), probe.data(), probe.size()); // over smoothing
  if (!isExact)
    trace /= static_cast<double>(probes);
  return static_cast<double>(rows_) * residual / (trace * trace);
}

}
