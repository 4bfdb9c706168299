#include "Components/Transforms/Shared/LinearTransform.h"

#include "Components/Transforms/Shared/LinearKernels.h"
#include "Components/Transforms/Shared/TransformFileReading.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Parallel.h"
#include "Core/Registration/Stage/StageComponents.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

const Parameter<bool>& automaticScalesEstimation()
{
  static const auto parameter =
      booleanParameter("AutomaticScalesEstimation", false, Arity::single,
                       "scale of a parameter = mean squared length of dT/dparameter over the fixed image");
  return parameter;
}

const Parameter<double>& scalesParameter()
{
  static const auto parameter = [] {
    auto row = realParameter(
        "Scales", std::numeric_limits<double>::quiet_NaN(), Arity::list, "",
        "divisors of the squared parameters: one value for rotations, or a value for each parameter");
    row.minimum = aboveZero;
    return row;
  }();
  return parameter;
}

const Parameter<std::int64_t>& centerOfRotation()
{
  static const auto parameter =
      integerParameter("CenterOfRotation", 0, std::numeric_limits<std::int32_t>::min(), Arity::list, "voxels",
                       "center of rotation as index of the fixed image; overrides CenterOfRotationPoint");
  return parameter;
}

const Parameter<double>& centerOfRotationPoint()
{
  static const auto parameter =
      realParameter("CenterOfRotationPoint", std::numeric_limits<double>::quiet_NaN(), Arity::list, "mm",
                    "center of rotation; default: by AutomaticTransformInitializationMethod");
  return parameter;
}

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

/// Reads all D values, or none.
template <int D, class T>
bool readVector(const Parameters& parameters, const Parameter<T>& parameter, Vec<D>& values)
{
  for (int d = 0; d < D; ++d) {
    const std::optional<T> value = parameters.find(parameter, d);
    if (!value)
      return false;
    values[d] = static_cast<double>(*value);
  }
  return true;
}

}

template <int D>
LinearTransform<D>::LinearTransform(const Parameters& parameters, std::size_t parameterCount,
                                    StartRules startRules, ScaleRule scaleRule)
    : settings_(parameters), parameterCount_(parameterCount), startRules_(startRules), scaleRule_(scaleRule)
{
}

template <int D>
std::vector<ParameterInfo> LinearTransform<D>::centeredParameters(StartRules rules)
{
  std::vector<ParameterInfo> rows = initializationParameters(rules);
  rows.insert(rows.end(),
              {automaticScalesEstimation(), scalesParameter(), centerOfRotation(), centerOfRotationPoint()});
  return rows;
}

template <int D>
typename LinearTransform<D>::Derivatives LinearTransform<D>::noDerivatives()
{
  Derivatives none;
  for (AffineMap<D>& map : none)
    map.matrix = Matrix<D>{};
  return none;
}

template <int D>
std::string LinearTransform<D>::itkClass(const std::string& name)
{
  const std::string dimension = std::to_string(D);
  return name + "_double_" + dimension + "_" + dimension;
}

/// Uses CenterOfRotation or CenterOfRotationPoint if one of them is given completely.
template <int D>
bool LinearTransform<D>::centerFromSettings(const TransformStart<D>& start)
{
  Vec<D> index;
  std::string name = centerOfRotation().name;
  if (readVector<D>(settings_, centerOfRotation(), index)) {
    centerMm_ = start.fixed->geometry.pointFromIndex()(index);
  } else if (readVector<D>(settings_, centerOfRotationPoint(), centerMm_)) {
    name = centerOfRotationPoint().name;
    index = start.fixed->geometry.indexFromPoint()(centerMm_);
  } else {
    for (const std::string& given : {centerOfRotation().name, centerOfRotationPoint().name})
      if (settings_.has(given))
        settings_.warn(settings_.where(given) + ": fewer than " + std::to_string(D)
                       + " values; it is not used, as in elastix.");
    return false;
  }
  for (int d = 0; d < D; ++d)
    if (index[d] < -0.5 || index[d] > static_cast<double>(start.fixed->geometry.size[d]) - 0.5) {
      settings_.warn(settings_.where(name) + ": the center of rotation is outside the fixed image.");
      break;
    }
  return true;
}

template <int D>
std::vector<double> LinearTransform<D>::initialize(Context& context, const TransformStart<D>& start)
{
  const bool automatic = wantsAutomaticStart(settings_) && !start.initial;
  const bool centerGiven = hasCenter() && centerFromSettings(start);
  std::vector<double> parameters = identityParameters();
  if (automatic || (hasCenter() && !centerGiven)) {
    const LinearStart<D> found = automaticStart<D>(context, settings_, startRules_, start);
    if (hasCenter() && !centerGiven)
      centerMm_ = found.centerMm;
    if (automatic)
      std::copy(found.translationMm.begin(), found.translationMm.end(),
                parameters.begin() + translationIndex());
  }
  if (hasCenter() && start.initial && settings_.get(stageparameters::howToCombineTransforms()) == "Compose") {
    ListSamples<D> center;
    PointsOut<D> mapped;
    for (int d = 0; d < D; ++d) {
      center.pointMm[d] = &centerMm_[d];
      mapped[d] = &centerMm_[d];
    }
    center.count = 1;
    mapChain<D>(context, *start.initial, center, mapped);
  }
  return parameters;
}

/// The default scales, replaced by those of (Scales ...).
template <int D>
std::vector<double> LinearTransform<D>::givenScales() const
{
  std::vector<double> scales = defaultScales();
  const std::vector<double> given =
      scaleRule_ == ScaleRule::none ? std::vector<double>{} : settings_.all(scalesParameter());
  if (given.empty())
    return scales;
  const std::string count = std::to_string(given.size()), all = std::to_string(parameterCount_);
  if (given.size() == parameterCount_)
    return given;
  if (scaleRule_ == ScaleRule::oneForRotations && given.size() == 1) {
    for (double& scale : scales)
      scale = scale == 1 ? 1 : given[0];
    return scales;
  }
  if (scaleRule_ == ScaleRule::oneForRotations || given.size() > parameterCount_)
    settings_.fail(
        scalesParameter().name, count + " values",
        "Allowed: " + all
            + (scaleRule_ == ScaleRule::oneForRotations ? " values, or one for all rotations" : " values"));
  settings_.warn(settings_.where(scalesParameter().name) + ": " + count + " of " + all
                 + " values; the others keep their defaults.");
  std::copy(given.begin(), given.end(), scales.begin());
  return scales;
}

template <int D>
std::vector<double> LinearTransform<D>::scales(Context& context, const ListSamples<D>& samples,
                                               std::span<const double> parameters) const
{
  if (scaleRule_ == ScaleRule::none || !settings_.get(automaticScalesEstimation()))
    return givenScales();
  const std::vector<double> products = gramian(context, samples, derivatives(parameters));
  std::vector<double> scales(parameterCount_);
  for (std::size_t k = 0; k < parameterCount_; ++k)
    scales[k] = products[k * parameterCount_ + k];
  // A parameter that moves no sample (as in an image of one slice) has no gradient either, so any scale
  // leaves it where it is.
  const double negligible = 1e-18 * *std::max_element(scales.begin(), scales.end());
  for (double& scale : scales)
    scale = scale > negligible ? scale : 1;
  return scales;
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
void LinearTransform<D>::map(Context&, const Samples<D>& samples, std::span<const double> parameters,
                             const PointsOut<D>& out) const
{
  linear::applyTo<D>(pointMap(parameters), samples, out);
}

template <int D>
void LinearTransform<D>::pullBack(Context&, const Samples<D>& samples, std::span<const double> parameters,
                                  const Covectors<D>& covectors, std::span<double> gradient) const
{
  thread_local PointBatch<D> storage;
  pullBackMoments(parameters, linear::MomentSums<D>::of(asList<D>(samples, storage), covectors, centerMm_),
                  gradient);
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
void LinearTransform<D>::pushForward(Context&, const Samples<D>& samples, std::span<const double> parameters,
                                     std::span<const double> step, const PointsOut<D>& out) const
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
  linear::applyTo<D>(map, samples, out);
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
    JacobianTerms& most = partial[first / perChunk];
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
      most.maxJJ = std::max(most.maxJJ, linear::sizeOf<D>(jj));
      most.maxJCJ = std::max(most.maxJCJ, linear::sizeOf<D>(jcj));
    }
  });
  for (const JacobianTerms& most : partial) {
    terms.maxJJ = std::max(terms.maxJJ, most.maxJJ);
    terms.maxJCJ = std::max(terms.maxJCJ, most.maxJCJ);
  }
  return terms;
}

template <int D>
void LinearTransform<D>::spatialDerivatives(Context&, const Samples<D>& samples,
                                            std::span<const double> parameters, double* jacobian,
                                            double* hessian) const
{
  const std::size_t count = linear::countOf<D>(samples);
  const Matrix<D> matrix = aboutCenter(parameters).matrix;
  for (int row = 0; row < D; ++row)
    for (int column = 0; column < D; ++column)
      std::fill_n(jacobian + (row * D + column) * count, count, matrix[row][column]);
  if (hessian)
    std::fill_n(hessian, D * symmetricCount(D) * count, 0.0);
}

template <int D>
void LinearTransform<D>::pullBackSpatialDerivatives(Context&, const Samples<D>& samples,
                                                    std::span<const double> parameters,
                                                    const double* covJacobian, const double*,
                                                    std::span<double> gradient) const
{
  if (!covJacobian)
    return;
  const std::size_t count = linear::countOf<D>(samples);
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

template <int D>
std::vector<FileEntry> LinearTransform<D>::fileEntries() const
{
  if (!hasCenter())
    return {};
  return {{centerOfRotationPoint().name, {}, centerAsVector()}};
}

template <int D>
std::vector<double> LinearTransform<D>::restore(const Parameters& transformFile)
{
  if (hasCenter() && !readVector<D>(transformFile, centerOfRotationPoint(), centerMm_))
    throw Error(ExitCode::unreadableInput, transformFile.where(centerOfRotationPoint().name)
                                               + ": missing or incomplete. Allowed: the " + std::to_string(D)
                                               + " coordinates of the center of rotation in mm.");
  return readTransformParameters(transformFile, parameterCount_,
                                 this->name() + " in " + std::to_string(D) + "D");
}

template class LinearTransform<2>;
template class LinearTransform<3>;

}
