#include "Components/Transforms/SplineKernelTransform.h"

#include "Components/Transforms/Shared/LandmarkSplines/SmoothedLandmarks.h"
#include "Components/Transforms/Shared/LandmarkSplines/SplineBatch.h"
#include "Components/Transforms/Shared/OnCuda/SplineFieldOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/SplineOnCuda.h"
#include "Components/Transforms/Shared/TransformFileReading.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Compute/Threads/WorkerPool.h"
#include "Core/Registration/Stage/StageComponents.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera {
namespace {

const std::vector<std::string> kernelNames{"ThinPlateSpline", "ThinPlateR2LogRSpline", "VolumeSpline",
                                           "ElasticBodySpline",
                                           "ElasticBodyReciprocalSpline"}; // in the order of SplineKernel

const Parameter<std::string> splineKernelType = textParameter(
    "SplineKernelType", "ThinPlateSpline", Arity::single, "radial function of the landmarks", kernelNames);
const Parameter<double> splinePoissonRatio =
    realParameter("SplinePoissonRatio", 0.3, Arity::single, "", "Poisson's ratio of the elastic kernels");
const Parameter<double> splineRelaxationFactor =
    realParameter("SplineRelaxationFactor", 0, Arity::single, "",
                  "elastix's relaxation: 0 or less interpolates the landmarks; for the kernels r and "
                  "ElasticBodyReciprocal in 3D it "
                  "amplifies their errors (decision 0007)");
const Parameter<std::string> splineSmoothing = textParameter(
    "SplineSmoothing", "", Arity::single,
    "0 or more, or \"auto\": how much roughness of the spline counts against squared distances of "
    "landmarks, in the unit of the kernel (mm for r); \"auto\" chooses by generalised "
    "cross-validation");
const Parameter<double> fixedImageLandmarks =
    realParameter("FixedImageLandmarks", std::numeric_limits<double>::quiet_NaN(), Arity::list, "mm",
                  "fixed landmarks, point by point");

template <int D>
PointBatch<D>& latticeStorage()
{
  thread_local PointBatch<D> storage;
  return storage;
}

template <int D>
SplineModel<D> modelOf(const Parameters& parameters)
{
  SplineModel<D> model;
  const std::string type = parameters.get(splineKernelType);
  model.kernel = static_cast<SplineKernel>(std::find(kernelNames.begin(), kernelNames.end(), type)
                                           - kernelNames.begin());
  if (D == 2 && model.kernel != SplineKernel::thinPlate && model.kernel != SplineKernel::thinPlateR2LogR)
    parameters.warn(parameters.where(splineKernelType.name)
                    + ": in 2D every spline is ThinPlateR2LogRSpline, as in elastix.");
  model.poissonRatio = parameters.get(splinePoissonRatio);
  if (!(model.poissonRatio > -1 && model.poissonRatio < 0.5))
    parameters.fail(splinePoissonRatio.name, "no elastic body has it", "Allowed: above -1 and below 0.5");
  model.relaxation = std::max(parameters.get(splineRelaxationFactor), 0.0); // elastix takes 0 for less
  if (!model.relaxationSmooths())
    parameters.warn(
        parameters.where(splineRelaxationFactor.name)
        + ": with this kernel in 3D elastix's relaxation makes the spline worse: it amplifies errors "
          "of landmarks. (SplineSmoothing \"auto\") smooths.");
  return model;
}

/// Whether the spline smooths its landmarks, and how much; no value: by cross-validation.
struct Smoothing {
  bool isAsked = false;
  std::optional<double> value;
};

Smoothing smoothingOf(const Parameters& parameters)
{
  const std::string text = parameters.get(splineSmoothing);
  if (text.empty())
    return {};
  if (parameters.get(splineRelaxationFactor) != 0)
    parameters.fail(splineSmoothing.name, "SplineRelaxationFactor is given, too", "Allowed: one of the two");
  if (text == "auto")
    return {true, {}};
  double value = -1;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc{} || end.ptr != text.data() + text.size() || !(value >= 0) || !std::isfinite(value))
    parameters.fail(splineSmoothing.name, "not a smoothing", "Allowed: \"auto\", or a number of at least 0");
  return {true, value};
}

/// The numbers, counted from 1, of two landmarks at one place; empty: all are different.
template <int D>
std::string equalLandmarks(const std::vector<Vec<D>>& landmarksMm)
{
  std::vector<std::size_t> order(landmarksMm.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return landmarksMm[i]; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (landmarksMm[order[i - 1]] == landmarksMm[order[i]])
      return std::to_string(order[i - 1] + 1) + " and " + std::to_string(order[i] + 1);
  return "";
}

template <int D>
std::vector<double> coordinates(const std::vector<Vec<D>>& pointsMm)
{
  std::vector<double> values;
  for (const Vec<D>& pointMm : pointsMm)
    values.insert(values.end(), pointMm.begin(), pointMm.end());
  return values;
}

template <int D>
std::string landmarksNeeded()
{
  return "Allowed: at least " + std::to_string(D + 1) + " different points that are not all on one "
         + (D == 2 ? "line" : "plane");
}

/// Returns why the landmarks determine no spline, as words that follow "they"; empty if only solving can
/// tell.
template <int D>
std::string whyNoSpline(const std::vector<Vec<D>>& landmarksMm)
{
  if (landmarksMm.size() <= D)
    return "determine no spline: " + std::to_string(landmarksMm.size()) + " are too few";
  const std::string equal = equalLandmarks<D>(landmarksMm);
  return equal.empty() ? "" : "determine no spline: numbers " + equal + ", counted from 1, are equal";
}

const std::string noSpline = "determine no spline";

}

template <int D>
SplineKernelTransform<D>::SplineKernelTransform(const Parameters& parameters)
    : settings_(parameters), model_(modelOf<D>(parameters))
{
  smoothingOf(parameters); // a wrong value stops the run early
}

template <int D>
const ComponentDescription& SplineKernelTransform<D>::description()
{
  static const ComponentDescription description{
      "Transform",
      "SplineKernelTransform",
      {},
      "x + A x + b + sum_i G(x - p_i) w_i, a spline through the landmarks of -fp",
      {splineKernelType, splinePoissonRatio, splineRelaxationFactor, splineSmoothing}};
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
  if (onlyCountsMemory(context))
    return std::vector<double>(parameterCount());
  if (start.initial && settings_.get(stageparameters::howToCombineTransforms()) == "Compose")
    for (Vec<D>& landmarkMm : model_.landmarksMm) {
      ListSamples<D> point;
      PointsOut<D> mapped;
      for (int d = 0; d < D; ++d)
        point.pointMm[d] = mapped[d] = &landmarkMm[d];
      point.count = 1;
      mapChain<D>(context, *start.initial, point, mapped);
    }
  const std::size_t block = pairs.covariances.empty() ? model_.block() : D;
  const double columns = static_cast<double>(model_.landmarksMm.size() * block);
  requireMemory(3 * sizeof(double) * columns * columns,
                "a spline of " + std::to_string(model_.landmarksMm.size()) + " landmarks",
                "fewer points of -fp");
  const auto fail = [&](const std::string& wrong) {
    settings_.fail("Transform", "the points of -fp " + wrong, landmarksNeeded<D>());
  };
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
    settings_.fail(splineSmoothing.name, "without -mp there is nothing to smooth", "Allowed: with -mp FILE");
  auto found = smoothedLandmarks<D>(context, model_, coordinates<D>(pairs.movingMm),
                                    {pairs.weights, pairs.covariances}, smoothingOf(settings_).value);
  if (!found)
    return {};
  smoothing_ = found->smoothing;
  return std::move(found->movingMm);
}

template <int D>
std::vector<double> SplineKernelTransform<D>::scales(Context&, const ListSamples<D>&,
                                                     std::span<const double>) const
{
  return std::vector<double>(parameterCount(), 1.0);
}

template <int D>
SplineOfLandmarks<D> SplineKernelTransform<D>::splineOf(const std::vector<double>& vectors) const
{
  return {model_.kernel, model_.alpha(), static_cast<int>(model_.landmarksMm.size()),
          model_.landmarksMm.front().data(), vectors.data()};
}

template <int D>
const std::vector<double>& SplineKernelTransform<D>::influence() const
{
  const std::lock_guard lock(mutex_);
  if (influence_.empty())
    // initialize() and restore() have checked that there is one
    influence_ = splineInfluence(Context{Device{}, programThreads()}, model_).value();
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
void SplineKernelTransform<D>::map(Context&, const Samples<D>& samples, std::span<const double> parameters,
                                   const PointsOut<D>& out) const
{
  const auto solved = solvedAt(parameters);
  spline::map<D>(splineOf(solved->vectors), asList(samples, latticeStorage<D>()), out);
}

template <int D>
void SplineKernelTransform<D>::pushForward(Context&, const Samples<D>& samples, std::span<const double>,
                                           std::span<const double> step, const PointsOut<D>& out) const
{
  std::vector<double> vectors(model_.vectors() * D, 0.0);
  solver_->addVectors(step, vectors);
  spline::map<D>(splineOf(vectors), asList(samples, latticeStorage<D>()), out);
}

template <int D>
void SplineKernelTransform<D>::pullBack(Context&, const Samples<D>& samples, std::span<const double>,
                                        const Covectors<D>& covectors, std::span<double> gradient) const
{
  thread_local std::vector<double> sums; // derivatives of the value by the vectors
  sums.assign(model_.vectors() * D, 0.0);
  spline::addCovectors<D>(model_, asList(samples, latticeStorage<D>()), covectors, sums);
  solver_->addGradient(sums, gradient);
}

template <int D>
void SplineKernelTransform<D>::spatialDerivatives(Context&, const Samples<D>& samples,
                                                  std::span<const double> parameters, double* jacobian,
                                                  double* hessian) const
{
  constexpr int pairs = symmetricCount(D);
  const ListSamples<D> list = asList(samples, latticeStorage<D>());
  if (list.count == 0) // landmarks that were only counted determine no spline
    return;
  const auto solved = solvedAt(parameters);
  const SplineOfLandmarks<D> spline = splineOf(solved->vectors);
  if (!hessian)
    return spline::jacobians<D>(spline, list, jacobian);
  for (std::size_t i = 0; i < list.count; ++i) {
    double j[D][D], h[D][pairs];
    spline.derivatives(list.point(i), j, h);
    for (int k = 0; k < D; ++k) {
      for (int column = 0; column < D; ++column)
        jacobian[(k * D + column) * list.count + i] = j[k][column];
      for (int s = 0; s < pairs; ++s)
        hessian[(k * pairs + s) * list.count + i] = h[k][s];
    }
  }
}

template <int D>
void SplineKernelTransform<D>::pullBackSpatialDerivatives(Context&, const Samples<D>& samples,
                                                          std::span<const double>, const double* covJacobian,
                                                          const double* covHessian,
                                                          std::span<double> gradient) const
{
  thread_local std::vector<double> sums;
  sums.assign(model_.vectors() * D, 0.0);
  spline::addSpatialCovectors<D>(model_, asList(samples, latticeStorage<D>()), covJacobian, covHessian, sums);
  solver_->addGradient(sums, gradient);
}

template <int D>
JacobianTerms SplineKernelTransform<D>::jacobianTerms(Context& context, const ListSamples<D>& samples,
                                                      std::span<const double>,
                                                      std::span<const double> scales) const
{
  return spline::jacobianTerms<D>(context, model_, influence(), samples, scales);
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
    onHost.influence = influence();
  else
    onHost.vectors = solvedAt(constant)->vectors;
  return holdSplineOnCuda<D>(context, onHost);
}

template <int D>
SplineOfLandmarks<D> SplineKernelTransform<D>::splineAt(std::span<const double> parameters) const
{
  return splineOf(solvedAt(parameters)->vectors);
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
std::vector<double> SplineKernelTransform<D>::restore(const Parameters& file)
{
  model_ = modelOf<D>(file);
  influence_.clear();
  const std::vector<double> landmarks = file.all(fixedImageLandmarks);
  if (landmarks.empty() || landmarks.size() % D != 0)
    file.fail(fixedImageLandmarks.name, std::to_string(landmarks.size()) + " values",
              "Allowed: " + std::to_string(D) + " values a point");
  model_.landmarksMm.assign(landmarks.size() / D, {});
  for (std::size_t i = 0; i < landmarks.size(); ++i)
    model_.landmarksMm[i / D][i % D] = landmarks[i];

  const std::vector<double> moving = readTransformParameters(
      file, landmarks.size(),
      std::to_string(model_.landmarksMm.size()) + " fixed landmarks of " + std::to_string(D) + " components");
  const auto fail = [&](const std::string& wrong) {
    file.fail(fixedImageLandmarks.name, "they " + wrong, landmarksNeeded<D>());
  };
  if (const std::string wrong = whyNoSpline<D>(model_.landmarksMm); !wrong.empty())
    fail(wrong);
  solver_ = SplineSolver<D>::of(Context{Device{}, programThreads()}, model_);
  if (!solver_)
    fail(noSpline);
  smoothing_ = smoothingOf(file).value;
  solved_ = std::make_shared<const Solved>(Solved{moving, vectorsOf(moving)});
  return moving;
}

template <int D>
std::vector<FileEntry> SplineKernelTransform<D>::fileEntries() const
{
  FileEntry landmarks{fixedImageLandmarks.name, {}, {}};
  for (const Vec<D>& point : model_.landmarksMm)
    landmarks.numbers.insert(landmarks.numbers.end(), point.begin(), point.end());
  std::vector<FileEntry> entries{
      {splineKernelType.name, {kernelNames[static_cast<std::size_t>(model_.kernel)]}, {}},
      {splinePoissonRatio.name, {}, {model_.poissonRatio}},
      {splineRelaxationFactor.name, {}, {model_.relaxation}}};
  if (smoothing_)
    entries.push_back({splineSmoothing.name, {}, {*smoothing_}});
  entries.push_back(std::move(landmarks));
  return entries;
}

template class SplineKernelTransform<2>;
template class SplineKernelTransform<3>;

}
