#include "Core/Runs/Transforming/TransformRun.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Image/ShearedGrid.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Runs/Resampling/HostInterpolator.h"
#include "Core/Runs/Resampling/ImageBatch.h"
#include "Core/Runs/Resampling/ResultOutside.h"
#include "Core/Runs/TransformOutput/InverseRun.h"
#include "Core/Runs/Transforming/Determinants.h"
#include "Core/Runs/Transforming/FromTime.h"
#include "Core/Runs/Transforming/TimeParts.h"
#include "Core/Runs/Transforming/TransformInputs.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

/// By how much roots on the grid may be off, mm, if that is less than usual. A label map takes another voxel
/// where a root is off by more than its distance from the border of a voxel.
template <int D>
double toleranceOf(const TransformRequest& request, const ImageGeometry<D>& grid)
{
  constexpr double ofLabelsInVoxels = 1e-4;
  return !request.write.empty()    ? toleranceInFilesMm
         : !request.labels.empty() ? ofLabelsInVoxels * *std::ranges::min_element(grid.spacingMm)
                                   : std::numeric_limits<double>::infinity();
}

/// The counts of roots, and the numbers of the first points without one.
template <int D>
void logRootsOfPoints(const TransformChain<D>& inverse, const std::vector<Vec<D>>& outputMm, Log& log)
{
  logRoots<D>(inverse, outputMm.size(), "points", log);
  constexpr std::size_t most = 20;
  std::string numbers;
  std::size_t count = 0;
  for (std::size_t i = 0; i < outputMm.size(); ++i)
    if (std::isnan(outputMm[i][0]) && ++count <= most)
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(i);
  if (count > 0)
    log.warning("-def: points without a root, counted from 0: " + numbers
                + (count > most ? " and " + std::to_string(count - most) + " more" : "") + ".");
}

}

template <int D>
class TransformRun<D>::Body {
public:
  Body(const Registry& registry, TransformRequest request, Log& log, const Machine& machine)
      : registry_(registry), request_(std::move(request)), log_(log),
        machine_(machine), cpu_{Device{}, request_.threads},
        inputs_(readTransforms<D>(cpu_, registry, request_, log)),
        lattice_(geometryInUse<D>(inputs_.file.output, inputs_.file.useDirectionCosines)),
        chain_(chainOnGrid()),
        parameters_(inputs_.file.map, "", D, 1, [&log](const std::string& line) { log.warning(line); }),
        resampler_(registry.create<Resampler<D>>(componentNames(parameters_, "Resampler").front(),
                                                 parameters_.withLabel("Resampler0"),
                                                 parameters_.where("Resampler"))),
        methods_(fieldMethods()), tasks_(namedImages(request_, resampler_->resultImage()))
  {
    if (D == 4)
      refuseIn4D(request_);
    if (request_.fromTime)
      placeAtTime<D>(tasks_, inputs_.file, *request_.fromTime);
    makeInterpolator(false); // throws now if there is none of its name
    const ResultImageSettings& settings = resampler_->resultImage();
    plan_.settings = settings;
    plan_.results = resultsOf<D>(request_, settings, tasks_, grid());
    checkFormat<D>(request_, settings, parameters_, grid());
    if (!request_.outputFolder.empty())
      warningOfRoom_ = requireDiskRoom("-out: " + request_.outputFolder, folderOf(request_), plan_.results);
    if constexpr (D < 4)
      if (!request_.write.empty())
        checkOutput(output());
    if (request_.nonlinear)
      linearDeterminant<D>(*chain_); // throws if there is none
  }

  const TransformPlan& plan()
  {
    if (isPlanned_)
      return plan_;
    plan_.device = chooseTransformDevice<D>(
        {request_, machine_, *chain_, lattice_, *resampler_, interpolators(),
         componentNames(parameters_, "ResampleInterpolator").front(), methods_, tasks_});
    isPlanned_ = true;
    return plan_;
  }

  ExitCode execute(TransformSink<D>& sink, Stop stop)
  {
    const auto begin = Clock::now();
    start(sink, stop);
    time_.add({"starting the device", 1000 * computeSeconds_, deviceName(context_.device)});
    if (request_.description) {
      sink.describe(cpu_, *chain_, lattice_);
      logRootsOnGrid();
    }
    if (request_.points.isGiven())
      mapPoints(sink);
    for (const FieldAskedFor& field : fieldsOf(request_, D))
      makeField(field, sink);
    if (!request_.write.empty())
      sink.transformFound(cpu_, output());
    const ExitCode code = tasks_.empty() ? ExitCode::done : resample(sink);
    if (hasImages(request_) || hasFields(request_)) {
      log_.detail("Computing took " + decimals(computeSeconds_, 3) + " s on " + deviceName(context_.device)
                  + (plan_.device.predictedSeconds
                         ? ", predicted " + decimals(*plan_.device.predictedSeconds, 3) + " s"
                         : "")
                  + ".");
      if (tasks_.size() < 2)
        sink.timeFound(time_.of(1000 * secondsSince(begin), log_));
    }
    return code;
  }

private:
  const ImageGeometry<D>& grid() const { return inputs_.file.output; } // of files

  /// With --inverse the inverse, if results lie on the grid; with --from-time what carries images.
  ChainPointer<D> chainOnGrid() const
  {
    if (request_.fromTime)
      return chainFromTime<D>(inputs_.file, registry_, lattice_, *request_.fromTime,
                              toleranceOf<D>(request_, lattice_));
    if (!request_.inverse || !needsGrid(request_))
      return inputs_.file.chain;
    return withContext("--inverse", [&] {
      return inverseOnGrid<D>(nullptr, inputs_.file.chain, registry_, lattice_,
                              toleranceOf<D>(request_, lattice_));
    });
  }

  FieldMethods<D> fieldMethods() const
  {
    const std::string& asked = request_.fieldInterpolator;
    const FieldForm<D>* const field = chain_->transform->field();
    return asked.empty()
               ? FieldMethods<D>(registry_, *chain_, lattice_, field ? field->fieldInterpolator() : "auto",
                                 parameters_.where("FieldInterpolator"))
               : FieldMethods<D>(registry_, *chain_, lattice_, asked,
                                 "--field-interpolator: \"" + asked + "\"");
  }

  std::unique_ptr<Interpolator<D>> makeInterpolator(bool forLabels) const
  {
    const std::string role = ResampleInterpolator<D>::roleName,
                      name = !forLabels ? componentNames(parameters_, role).front()
                             : request_.labelInterpolation == "majority"
                                 ? knowncomponents::majorityInterpolator
                                 : knowncomponents::nearestInterpolator;
    return std::move(
        registry_
            .create<ResampleInterpolator<D>>(name, parameters_.withLabel(role + "0"),
                                             forLabels ? "--label-interpolation" : parameters_.where(role))
            ->interpolator);
  }
  MakeInterpolator<D> interpolators() const
  {
    return [this](bool forLabels) { return makeInterpolator(forLabels); };
  }

  /// The transform and the settings that --write needs.
  TransformOutput<D> output() const
  {
    TransformOutput<D> output{request_.write,
                              transformFormat(request_.format, request_.write),
                              chain_,
                              request_.inverse ? inputs_.file.chain : nullptr,
                              lattice_,
                              grid(),
                              inputs_.moving,
                              request_.grid.path,
                              request_.moving.path,
                              inputs_.file.map,
                              *resampler_};
    output.useDirectionCosines = inputs_.file.useDirectionCosines;
    output.asSpline = request_.inverseAsSpline;
    return output;
  }

  void start(TransformSink<D>& sink, Stop stop)
  {
    const auto start = Clock::now();
    const DeviceChoice& choice = plan().device.choice;
    context_ = makeContext(choice.device, request_.threads, request_.maxDeviceMemory);
    context_.stop = cpu_.stop = stop;
    sink.planned(plan_);
    computeSeconds_ = context_.onCuda() ? secondsSince(start) : 0;
    const bool isOnCpuToo = !request_.write.empty() || request_.description;
    if (!context_.onCuda() || isOnCpuToo)
      prepareSearch<D>(cpu_, *chain_);
    log_.info("Device: " + choice.reason + ", " + threadsText(request_.threads) + ".");
    machine_.prepareGpu(context_, log_);
    for (const FieldAskedFor& field : fieldsOf(request_, D)) // throws before any work if it cannot be used
      methods_.choose(context_.device.kind, field.quantity);
    if (hasFields(request_) && methods_.isNamed() && !methods_.whyByPoints().empty())
      log_.warning(methods_.given() + ": not used, fields are evaluated by points: " + methods_.whyByPoints()
                   + ".");
    if (!request_.images.empty())
      resampler_->warnOfPixelType();
    if (const std::string lost = gridLostBy(plan_.settings.format, grid()); !lost.empty())
      log_.warning(parameters_.where("ResultImageFormat") + ": this format does not keep the " + lost
                   + " of an image.");
    if (!warningOfRoom_.empty())
      log_.warning(warningOfRoom_);
  }

  void logRootsOnGrid() { logRoots<D>(*chain_, lattice_.voxelCount(), "voxels", log_); }

  /// The grid of the moving image, for the indices of mapped points; empty unless there is exactly one image.
  std::optional<ImageGeometry<D>> movingGrid()
  {
    if (tasks_.size() != 1)
      return std::nullopt;
    return withContext(tasks_.front().option, [&] {
      return placed(
          geometryOf<D>(D == 3 ? withFirstAxes(headerOf(tasks_.front()), 3) : headerOf(tasks_.front())));
    });
  }
  ImageGeometry<D> placed(const ImageGeometry<D>& inFile) const
  {
    return geometryInUse<D>(inFile, inputs_.file.useDirectionCosines);
  }

  void mapPoints(TransformSink<D>& sink)
  {
    const std::string& path = request_.points.path;
    const ImageGeometry<D>* const inputGrid =
        !request_.inverse || request_.grid.isGiven() ? &lattice_ : nullptr;
    const std::optional<ImageGeometry<D>> moving = request_.inverse ? std::nullopt : movingGrid();
    std::optional<ImageGeometry<D>> fixed = request_.inverse ? inputs_.file.fixed : lattice_;
    if (fixed && request_.inverse)
      fixed = placed(*fixed);
    log_.info("Transforming points ...\n  The transform is evaluated on some points, specified in the input "
              "point file.");
    log_.info("  Reading input point file: " + path);
    const InputPoints<D>* const held = request_.points.template held<D>();
    const InputPoints<D> input = held ? *held : withContext("-def", [&] { return readPoints<D>(path); });
    checkPoints(input, inputGrid);
    const std::vector<Vec<D>> inputMm = input.areIndices ? pointsInMm<D>(input, *inputGrid) : input.values;
    const ChainPointer<D> chain = !request_.inverse ? inputs_.file.chain : withContext("--inverse", [&] {
      return inverseForPoints<D>(context_, inputs_.file.chain, registry_, inputMm);
    });
    const std::vector<Vec<D>> outputMm = mappedAll<D>(context_, *chain, inputMm);
    log_.info("  The input points are transformed.");
    if (request_.inverse)
      logRootsOfPoints<D>(*chain, outputMm, log_);
    MappedPoints<D> result{
        inputMm, outputMm, inputGrid, fixed ? &*fixed : nullptr, moving ? &*moving : nullptr, {}};
    constexpr double leastWarned = 0.5;
    const std::string where = "-def: " + path + ": ", whereMapped = where + "mapped, ";
    const auto look = [&](const std::string& side, bool isInput, const ImageGeometry<D>* image) {
      if (image)
        tellPointsOutside<D>(isInput ? where : whereMapped, isInput ? inputMm : outputMm, *image,
                             isInput && input.areIndices, leastWarned, result.outside[side], log_);
    };
    look("fixed", !request_.inverse, result.fixedGrid);
    look("moving", request_.inverse, request_.inverse ? inputGrid : result.movingGrid);
    sink.pointsMapped(input, result);
  }

  void checkPoints(const InputPoints<D>& input, const ImageGeometry<D>* grid)
  {
    const std::string where = "-def: " + request_.points.path + ": ";
    log_.info("  Input points are specified "
              + std::string(input.areIndices ? "as image indices." : "in world coordinates."));
    log_.info("  Number of specified input points: " + std::to_string(input.values.size()));
    const auto isFractional = [](const Vec<D>& index) {
      return std::ranges::any_of(index, [](double i) { return i != std::floor(i); });
    };
    if (const auto rounded = std::ranges::count_if(input.values, isFractional);
        input.areIndices && rounded > 0)
      log_.warning(where + std::to_string(rounded)
                   + " indices are not whole; they are rounded to the nearest voxel, as transformix does. "
                     "Points in mm are not rounded.");
    if (input.areIndices && !grid)
      throw Error(ExitCode::usage, where
                                       + "indices of voxels, but the grid of the moving image is not known. "
                                         "Allowed: --grid IMAGE beside --inverse, or points in mm.");
    if (input.flattened > 0)
      log_.warning(
          where + std::to_string(input.flattened)
          + " points do not lie in the plane of the 2D transform; their third coordinate is not read.");
  }

  void makeField(const FieldAskedFor& asked, TransformSink<D>& sink)
  {
    const bool areDisplacements = asked.quantity == FieldQuantity::displacements,
               areDeterminants = asked.components == 1;
    context_.stop.endIfAsked();
    log_.info(areDisplacements  ? "Transforming points ...\n  The transform is evaluated on all points. The "
                                  "result is a deformation field."
              : areDeterminants ? "Compute determinant of spatial Jacobian ..."
                                : "Compute spatial Jacobian (full matrix) ...");
    const auto start = Clock::now();
    const std::optional<FieldMethod<D>> method = methods_.choose(context_.device.kind, asked.quantity);
    log_.detail("  Field interpolator: " + (method ? method->interpolator->name() : "none; by points") + ".");
    const auto computing = Clock::now();
    VectorImage<D> field;
    if (areDisplacements)
      field = displacementField<D>(context_, *chain_, lattice_, method);
    else if (areDeterminants)
      field = {{}, 1, jacobianDeterminants<D>(context_, *chain_, lattice_, method).voxels};
    else
      field = jacobianMatrices<D>(context_, *chain_, lattice_, method);
    computeSeconds_ += secondsSince(computing);
    time_.add({"kernels", 1000 * secondsSince(computing), deviceName(context_.device)}); // and the copy
    logRootsOnGrid();
    field.geometry = grid();
    if (areDeterminants)
      tellDeterminants(field.voxels);
    const auto writing = Clock::now();
    sink.fieldMade(asked, std::move(field));
    time_.add({"writing", 1000 * secondsSince(writing), "cpu"});
    log_.info(std::string("  ")
              + (areDisplacements  ? "Transforming points"
                 : areDeterminants ? "Computing determinant of spatial Jacobian"
                                   : "Computing spatial Jacobian")
              + " done, it took " + decimals(secondsSince(start), 2) + "s");
  }

  /// Makes of the determinants what the request asks for.
  void tellDeterminants(std::vector<float>& determinants)
  {
    if (request_.nonlinear) {
      const double linear = linearDeterminant<D>(*chain_);
      log_.info("  Determinant of the linear transforms, by which the others are divided: "
                + decimals(linear, 6) + ".");
      for (float& value : determinants)
        value = static_cast<float>(value / linear);
    }
    const DeterminantFigures figures = figuresOf(determinants);
    log_.info("  Determinants from " + decimals(figures.least, 6) + " to " + decimals(figures.largest, 6)
              + "; " + std::to_string(figures.folded) + " of " + std::to_string(determinants.size())
              + " voxels fold (not above 0).");
    if (!request_.logarithm)
      return;
    for (float& value : determinants)
      value = value > 0 ? std::log(value) : std::numeric_limits<float>::quiet_NaN();
    if (figures.folded > 0)
      log_.warning("--log: " + std::to_string(figures.folded)
                   + " voxels with a determinant not above 0 have no logarithm; they are NaN.");
  }

  ExitCode resample(TransformSink<D>& sink)
  {
    if (D == 3)
      splitSeries(tasks_, plan_.settings.pixelType, request_.threads, log_);
    sink.imagesStarted(tasks_.size());
    const auto start = Clock::now();
    // The search for the roots of an inverse is prepared on one device, and counts the voxels of results
    // alone.
    std::vector<Vec<D>> mappedMm;
    if (Log quiet; !context_.onCuda() || !isSearched<D>(*chain_)) {
      mappedMm = mappedVoxels<D>(cpu_, *chain_, lattice_);
      logRoots<D>(*chain_, mappedMm.size(), "voxels", quiet);
    }
    const BatchResult result = resampleImages<D>(
        {context_, *chain_, *resampler_, interpolators(), lattice_, grid(), inputs_.file.useDirectionCosines,
         plan_.settings.pixelType, sink.images(), request_.maxMemory, log_},
        tasks_);
    computeSeconds_ += result.resampleSeconds;
    for (const TimeRow& row : result.time)
      if (row.part != "other")
        time_.add(row);
    logRootsOnGrid();
    for (const ImageTask* const task : result.made)
      if (!mappedMm.empty())
        tellOutside(*task, mappedMm, sink);
    log_.info("  Resampling took " + decimals(secondsSince(start), 2) + "s");
    return result.code;
  }

  void tellOutside(const ImageTask& task, const std::vector<Vec<D>>& mappedMm, TransformSink<D>& sink)
  {
    const std::string where = task.option + ": " + task.input.path + ": ";
    const ResultOutside outside = resultOutside<D>(mappedMm, placed(geometryOf<D>(*task.header)));
    log_.info("  " + where + outside.text());
    if (!outside.warning.empty())
      log_.warning(where + outside.warning);
    sink.imageMade(task, outside.share);
  }

  const Registry& registry_;
  const TransformRequest request_;
  Log& log_;
  const Machine& machine_;
  Context cpu_;
  const TransformInputs<D> inputs_;
  const ImageGeometry<D> lattice_; // points at which T is evaluated; without direction if the file says so
  const ChainPointer<D> chain_;    // maps the lattice
  const Parameters parameters_;    // of resampling
  const std::unique_ptr<Resampler<D>> resampler_;
  const FieldMethods<D> methods_;
  std::vector<ImageTask> tasks_;
  TransformPlan plan_;
  bool isPlanned_ = false;
  std::string warningOfRoom_; // empty: none
  Context context_;           // of the device
  TimeParts time_;
  double computeSeconds_ = 0; // to start the device, and to compute images and fields there
};

template <int D>
TransformRun<D>::TransformRun(const Registry& registry, TransformRequest request, Log& log,
                              const Machine& machine)
    : body_(std::make_unique<Body>(registry, std::move(request), log, machine))
{
}

template <int D>
TransformRun<D>::~TransformRun() = default;

template <int D>
const TransformPlan& TransformRun<D>::plan()
{
  return body_->plan();
}

template <int D>
ExitCode TransformRun<D>::execute(TransformSink<D>& sink, Stop stop)
{
  return body_->execute(sink, stop);
}

TESSERA_INSTANTIATE_CLASS_TO_4(TransformRun);

}
