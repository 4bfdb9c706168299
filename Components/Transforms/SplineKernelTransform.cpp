#include "Components/Transforms/SplineKernelTransform.h"

#include "Components/Transforms/Shared/LandmarkSplines/SmoothedLandmarks.h"
#include "Components/Transforms/Shared/LandmarkSplines/SplineBatch.h"
#include "Components/Transforms/Shared/LandmarkSplines/SplineSettings.h"
#include "Components/Transforms/Shared/OnCuda/SplineFieldOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/SplineOnCuda.h"
#include "Components/Transforms/Shared/TransformFileReading.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registration/Transform.h"

#include <algorithm>

namespace tessera {
namespace {

const std::string noSpline = "determine no spline";

}

template <int D>
SplineKernelTransform<D>::SplineKernelTransform(const Parameters& parameters)
    : settings_(parameters), model_(splineModelOf<D>(parameters))
{
  smoothingOf(parameters); // a wrong value stops the run early
}

template <int D>
const ComponentDescription& SplineKernelTransform<D>::description()
{
  static const ComponentDescription description{
      "Transform", "SplineKernelTransform",
      "x + A x + b + sum_i G(x - p_i) w_i, a spline through the landmarks of -fp", splineParameters()};
  return description;
}

template <int D>
std::vector<double> SplineKernelTransform<D>::initialize(Context& context, const TransformStart<D>& start)
{
  if (!start.points)
    settings_.fail("Transform", "it is made of landmarks, and none are given",
                   "Allowed: with -fp FILE, and -mp FILE if they start elsewhere");
  const PointPairs<D>& pairs = *start.points;
  model_.landmarksMm = pairs.fixedMm;
  const auto fail = [&](const std::string& wrong) {
    settings_.fail("Transform", "the points of -fp " + wrong, landmarksNeeded<D>());
  };
  if (onlyCountsMemory(context)) {
    if (model_.landmarksMm.size() <= D)
      fail(whyNoSpline<D>(model_.landmarksMm));
    return std::vector<double>(parameterCount());
  }
  if (start.initial && settings_.get(stageparameters::howToCombineTransforms()) == "Compose")
    for (Vec<D>& landmarkMm : model_.landmarksMm)
      landmarkMm = mappedPoint<D>(*start.initial, landmarkMm, context);
  const std::size_t block = pairs.covariances.empty() ? model_.block() : D;
  const double columns = static_cast<double>(model_.landmarksMm.size() * block);
  requireMemory(3 * sizeof(double) * columns * columns,
                "a spline of " + std::to_string(model_.landmarksMm.size()) + " landmarks",
                "fewer points of -fp");
  if (const std::string wrong = whyNoSpline<D>(model_.landmarksMm); !wrong.empty())
    fail(wrong);
  influence_.clear();
  if (!pairs.weights.empty() && !smoothingOf(settings_).isAsked)
    settings_.warn("--point-weights: the spline goes through all its landmarks, whatever their weights. "
                   "(SplineSmoothing \"auto\") weighs them.");
  std::vector<double> parameters =
      smoothingOf(settings_).isAsked
          ? smoothed(context, pairs)
          : coordinates<D>(pairs.movingMm.empty() ? model_.landmarksMm : pairs.movingMm);
  solver_ = SplineSolver<D>::of(context, model_);
  if (!solver_ || parameters.empty())
    fail(noSpline);
  solved_ = std::make_shared<const Solved>(Solved{parameters, vectorsOf(parameters)});
  return parameters;
}

/// The moving landmarks of the smoothing spline; empty if there is none.
template <int D>
std::vector<double> SplineKernelTransform<D>::smoothed(const Context& context, const PointPairs<D>& pairs)
{
  if (pairs.movingMm.empty())
    settings_.fail("SplineSmoothing", "without -mp there is nothing to smooth", "Allowed: with -mp FILE");
  auto found = smoothedLandmarks<D>(context, model_, coordinates<D>(pairs.movingMm),
                                    {pairs.weights, pairs.covariances}, smoothingOf(settings_).value);
  if (!found)
    return {};
  smoothing_ = found->smoothing;
  return std::move(found->movingMm);
}

template <int D>
const std::vector<double>& SplineKernelTransform<D>::influence(const Context& context) const
{
  const std::lock_guard lock(mutex_);
  if (influence_.empty())
    // initialize() and restore() have checked that there is one
    influence_ = splineInfluence(context.onCpu(), model_).value();
  return influence_;
}

template <int D>
std::vector<double> SplineKernelTransform<D>::vectorsOf(std::vector<double> movingMm) const
{
  for (std::size_t i = 0; i < movingMm.size(); ++i)
    movingMm[i] -= model_.landmarksMm[i / D][i % D];
  std::vector<double> vectors = identityVectors(model_);
  solver_->addVectors(movingMm, vectors);
  return vectors;
}

/// The vectors for these parameters. They are solved once for each evaluation and shared by its batches.
template <int D>
std::shared_ptr<const typename SplineKernelTransform<D>::Solved>
SplineKernelTransform<D>::solvedAt(std::span<const double> parameters) const
{
  {
    const std::lock_guard lock(mutex_);
    if (solved_ && std::ranges::equal(solved_->parameters, parameters))
      return solved_;
  }
  auto solved = std::make_shared<Solved>();
  solved->parameters.assign(parameters.begin(), parameters.end());
  solved->vectors = vectorsOf(solved->parameters);
  const std::lock_guard lock(mutex_);
  return solved_ = solved;
}

template <int D>
void SplineKernelTransform<D>::map(Context&, const ListSamples<D>& samples,
                                   std::span<const double> parameters, const PointsOut<D>& out) const
{
  const auto solved = solvedAt(parameters);
  spline::map<D>(splineOf(solved->vectors), samples, out);
}

template <int D>
void SplineKernelTransform<D>::pushForward(Context&, const ListSamples<D>& samples, std::span<const double>,
                                           std::span<const double> step, const PointsOut<D>& out) const
{
  std::vector<double> vectors(model_.vectors() * D, 0.0);
  solver_->addVectors(step, vectors);
  spline::map<D>(splineOf(vectors), samples, out);
}

template <int D>
void SplineKernelTransform<D>::pullBack(Context&, const ListSamples<D>& samples, std::span<const double>,
                                        const Covectors<D>& covectors, std::span<double> gradient) const
{
  thread_local std::vector<double> sums; // derivatives of the value by the vectors
  sums.assign(model_.vectors() * D, 0.0);
  spline::addCovectors<D>(model_, samples, covectors, sums);
  solver_->addGradient(sums, gradient);
}

template <int D>
void SplineKernelTransform<D>::spatialDerivatives(Context&, const ListSamples<D>& samples,
                                                  std::span<const double> parameters, double* jacobian,
                                                  double* hessian) const
{
  constexpr int pairs = symmetricCount(D);
  if (samples.count == 0) // landmarks that were only counted determine no spline
    return;
  const auto solved = solvedAt(parameters);
  const SplineOfLandmarks<D> spline = splineOf(solved->vectors);
  if (!hessian)
    return spline::jacobians<D>(spline, samples, jacobian);
  for (std::size_t i = 0; i < samples.count; ++i) {
    double j[D][D], h[D][pairs];
    spline.derivatives(samples.point(i), j, h);
    for (int k = 0; k < D; ++k) {
      for (int column = 0; column < D; ++column)
        jacobian[(k * D + column) * samples.count + i] = j[k][column];
      for (int s = 0; s < pairs; ++s)
        hessian[(k * pairs + s) * samples.count + i] = h[k][s];
    }
  }
}

template <int D>
void SplineKernelTransform<D>::pullBackSpatialDerivatives(Context&, const ListSamples<D>& samples,
                                                          std::span<const double>, const double* covJacobian,
                                                          const double* covHessian,
                                                          std::span<double> gradient) const
{
  thread_local std::vector<double> sums;
  sums.assign(model_.vectors() * D, 0.0);
  spline::addSpatialCovectors<D>(model_, samples, covJacobian, covHessian, sums);
  solver_->addGradient(sums, gradient);
}

template <int D>
JacobianTerms SplineKernelTransform<D>::jacobianTerms(Context& context, const ListSamples<D>& samples,
                                                      std::span<const double>,
                                                      std::span<const double> scales) const
{
  return spline::jacobianTerms<D>(context, model_, influence(context), samples, scales);
}

template <int D>
std::unique_ptr<HeldTransformOnCuda<D>> SplineKernelTransform<D>::hold(const Context& context,
                                                                       std::span<const double> constant) const
{
  SplineForCuda<D> onHost{model_.kernel,
                          model_.alpha(),
                          static_cast<int>(model_.block()),
                          coordinates<D>(model_.landmarksMm),
                          {},
                          {}};
  if (onlyCountsMemory(context)) {
    const std::size_t rows = model_.vectors() * model_.block(),
                      columns = parameterCount() / D * model_.block();
    constant.empty() ? onHost.influence.resize(rows * columns) : onHost.vectors.resize(model_.vectors() * D);
  } else if (constant.empty())
    onHost.influence = influence(context);
  else
    onHost.vectors = solvedAt(constant)->vectors;
  return holdSplineOnCuda<D>(context, onHost);
}

template <int D>
std::string SplineKernelTransform<D>::whyNoField(DeviceKind device, std::span<const double> parameters,
                                                 const ImageGeometry<D>& lattice) const
{
  if constexpr (D == 3) {
    const double pairs =
        static_cast<double>(lattice.voxelCount()) * static_cast<double>(model_.landmarksMm.size());
    if (device == DeviceKind::cpu && pairs < fewestPairsOfField)
      return "it has few landmarks";
    return planSplineField(splineAt(parameters), lattice.pointFromIndex(), lattice.size)
               ? ""
               : "polynomials are not exact enough for its weights";
  }
  return "2D fields are computed by points";
}

template <int D>
void SplineKernelTransform<D>::wholeField(Context& context, std::span<const double> parameters,
                                          const ImageGeometry<D>& lattice,
                                          std::span<float> displacements) const
{
  if constexpr (D == 3) {
    const SplineOfLandmarks<D> spline = splineAt(parameters);
    if (const auto plan = planSplineField(spline, lattice.pointFromIndex(), lattice.size)) {
      if (!context.onCuda())
        return splineFieldOnCpu(context, *plan, spline, displacements);
      const auto held = hold(context, parameters);
      return splineFieldToHost(context, *plan, held->at(context, {}).kernelSpline(), displacements);
    }
  }
  throw Error(ExitCode::device,
              "SplineKernelTransform: a whole field: " + whyNoField(context.device.kind, parameters, lattice)
                  + ". Allowed: points.");
}

template <int D>
std::vector<double> SplineKernelTransform<D>::restore(const Context& host, const Parameters& file)
{
  model_ = splineModelOf<D>(file);
  influence_.clear();
  model_.landmarksMm = fixedLandmarksOf<D>(file);
  const std::vector<double> moving = readTransformParameters(
      file, D * model_.landmarksMm.size(),
      std::to_string(model_.landmarksMm.size()) + " fixed landmarks of " + std::to_string(D) + " components");
  const auto fail = [&](const std::string& wrong) {
    file.fail("FixedImageLandmarks", "they " + wrong, landmarksNeeded<D>());
  };
  if (const std::string wrong = whyNoSpline<D>(model_.landmarksMm); !wrong.empty())
    fail(wrong);
  solver_ = SplineSolver<D>::of(host, model_);
  if (!solver_)
    fail(noSpline);
  smoothing_ = smoothingOf(file).value;
  solved_ = std::make_shared<const Solved>(Solved{moving, vectorsOf(moving)});
  return moving;
}

template <int D>
std::vector<FileEntry> SplineKernelTransform<D>::fileEntries() const
{
  return splineEntries(model_, smoothing_);
}

TESSERA_INSTANTIATE_CLASS(SplineKernelTransform);

}
