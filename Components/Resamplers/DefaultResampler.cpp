#include "Components/Resamplers/DefaultResampler.h"

#include "Components/Resamplers/Shared/ResampleInChunks.h"
#include "Components/Resamplers/Shared/SourceBatches.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/Slices/ImageSlices.h"
#include "Core/Image/Voxels/PixelRounding.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Chain/OneSplineChain.h"
#include "Core/Registration/Samples/VoxelBatches.h"
#include "Core/Registration/Stage/ResamplingMemory.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>
#include <type_traits>

namespace tessera {
namespace {

const Parameter<double> defaultPixelValue =
    realParameter("DefaultPixelValue", 0, Arity::single, "intensity",
                  "value of voxels that are mapped outside the moving image");

constexpr const char* extrapolationNames[] = {"Constant", "Nearest",
                                              "Mirror"}; // in the order of Extrapolation

const Parameter<std::string> resampleExtrapolation =
    textParameter("ResampleExtrapolation", extrapolationNames[0], Arity::single,
                  "voxels that are mapped outside the moving image: DefaultPixelValue, its nearest border "
                  "voxel, or its mirror image about the border voxels' centres",
                  {std::begin(extrapolationNames), std::end(extrapolationNames)});

Extrapolation extrapolationOf(const Parameters& parameters)
{
  const auto found = std::ranges::find(extrapolationNames, parameters.get(resampleExtrapolation));
  return static_cast<Extrapolation>(found - std::begin(extrapolationNames));
}

const Parameter<bool> writeResultImage = booleanParameter(
    "WriteResultImage", true, Arity::single, "write the moving image on the fixed grid after the last level");

const Parameter<bool> writeAfterResolution =
    booleanParameter("WriteResultImageAfterEachResolution", false, Arity::perLevel,
                     "write it after each level too, as result.<stage>.R<level>");

const Parameter<bool> writeAfterIteration =
    booleanParameter("WriteResultImageAfterEachIteration", false, Arity::perLevel,
                     "write it after each iteration too, as result.<stage>.R<level>.It<iteration>");

const Parameter<std::string> resultImageFormat = textParameter(
    "ResultImageFormat", "mhd", Arity::single, "ending of the result image's file", writableFormats());

const Parameter<std::string> resultImagePixelType = textParameter(
    "ResultImagePixelType", "short", Arity::single,
    "type of the result image's voxels; integers are rounded and clamped to its range. Without it the type "
    "is that of the moving image; programs of the names of elastix take the default");

const Parameter<bool> compressResultImage =
    booleanParameter("CompressResultImage", false, Arity::single, "compress the voxels in the file");

const Parameter<std::string> resultImageName =
    textParameter("ResultImageName", "result", Arity::single, "stem of the result image's file name");

std::string resultNameOf(const Parameters& parameters)
{
  const std::string name = parameters.get(resultImageName);
  if (name.empty() || name.find_first_of("/\"\r\n") != std::string::npos) // no transform file can hold quotes
    parameters.fail(resultImageName.name, "not a file name",
                    "Allowed: a name without folders and without an ending");
  return name;
}

/// The type that the parameters name.
PixelType namedType(const Parameters& parameters)
{
  return parsePixelType(parameters.get(resultImagePixelType), parameters.where(resultImagePixelType.name));
}

/// The type in which the result is stored: DICOM, which elastix's users ask for with any type, has only some.
PixelType storedType(const Parameters& parameters)
{
  const PixelType named = namedType(parameters);
  const std::string format = parameters.get(resultImageFormat);
  return format == "dcm" && !formatHolds(format, named) ? PixelType::int16 : named;
}

void warnOfClampedDefault(const Parameters& parameters, double value, PixelType type)
{
  withPixelType(type, [&]<class T>(std::type_identity<T>) {
    using Held = std::conditional_t<std::is_floating_point_v<T>, float, T>; // intensities are floats
    const auto lowest = static_cast<double>(std::numeric_limits<Held>::lowest()),
               highest = static_cast<double>(std::numeric_limits<Held>::max());
    const auto text = [](Held limit) {
      if constexpr (std::is_floating_point_v<Held>)
        return realText(limit);
      else
        return std::to_string(limit); // a double holds no 64-bit limit
    };
    const std::string least = text(std::numeric_limits<Held>::lowest()),
                      most = text(std::numeric_limits<Held>::max());
    if (value < lowest || value > highest)
      parameters.warn(parameters.where(defaultPixelValue.name) + ": voxels of type \"" + pixelTypeName(type)
                      + "\" hold " + least + " to " + most + "; " + (value < lowest ? least : most)
                      + " is written instead.");
  });
}

/// One call of resampleInto on the CPU.
template <int D>
struct OnCpu {
  Context& context;
  const TransformChain<D>& chain;
  const ImageGeometry<D>& output;
  GridSlices<D> asked;
  const std::vector<SourceBatches<D>>& images;
  std::span<const PixelsOut> results; // for each image, beginning with the first voxel of `asked`

  /// Calls evaluate(values) for at most batchCapacity voxels of an image and writes the rounded values.
  /// False, and nothing is written, if evaluate returns false.
  template <class Evaluate>
  bool put(std::size_t image, std::size_t firstVoxel, std::size_t count, Evaluate&& evaluate) const
  {
    const PixelsOut& out = results[image];
    std::byte* const to = out.at(firstVoxel - asked.begin);
    if (out.type == PixelType::float32)
      return evaluate(reinterpret_cast<float*>(to));
    std::array<float, batchCapacity> values;
    if (!evaluate(values.data()))
      return false;
    if (const std::size_t clamped = toPixels({values.data(), count}, out.type, to);
        clamped > 0 && out.clamped)
      *out.clamped += clamped;
    return true;
  }
  void putPoints(std::size_t image, std::size_t firstVoxel, PointBatch<D>& points) const
  {
    put(image, firstVoxel, points.count, [&](float* values) {
      images[image].evaluate(context, points.list(), values);
      return true;
    });
  }

  void byPoints() const
  {
    forEachVoxelBatch<D>(context, output, asked.begin, asked.end,
                         [&](std::size_t first, PointBatch<D>& points) {
                           mapChain<D>(context, chain, points.list(), points.out());
                           for (std::size_t i = 0; i < images.size(); ++i)
                             putPoints(i, first, points);
                         });
  }

  /// Maps the points of a row only if an image cannot interpolate the row without them, and then once.
  void byRows() const
  {
    const AffineMap<D> pointFromIndex = output.pointFromIndex();
    forEachRowPiece<D>(
        context, output, asked.begin, asked.end, [&](const RowPiece<D>& piece, PointBatch<D>& points) {
          bool mapped = false;
          for (std::size_t i = 0; i < images.size(); ++i) {
            if (put(i, piece.first, piece.count, [&](float* values) {
                  return images[i].evaluateRow(piece.firstVoxel, piece.count, values);
                }))
              continue;
            if (!mapped) {
              fillVoxelPoints<D>(output.size, pointFromIndex, piece.first, piece.count, points);
              mapChain<D>(context, chain, points.list(), points.out());
              mapped = true;
            }
            putPoints(i, piece.first, points);
          }
        });
  }
};

}

template <int D>
DefaultResampler<D>::DefaultResampler(const Parameters& parameters)
    : parameters_(parameters), defaultPixelValue_(parameters.get(defaultPixelValue)),
      extrapolation_(extrapolationOf(parameters)),
      writesFinalResult_(parameters.get(writeResultImage)), resultImage_{resultNameOf(parameters),
                                                                         parameters.get(resultImageFormat),
                                                                         storedType(parameters),
                                                                         parameters.get(compressResultImage)}
{
}

template <int D>
void DefaultResampler<D>::warnOfPixelType() const
{
  std::string name = parameters_.get(resultImagePixelType);
  std::ranges::replace(name, '_', ' '); // elastix does the same
  const std::string stored = pixelTypeName(resultImage_.pixelType),
                    where = parameters_.where(resultImagePixelType.name);
  if (namedType(parameters_) != resultImage_.pixelType)
    parameters_.warn(where + ": files of format \"" + resultImage_.format + "\" hold no such voxels; \""
                     + stored + "\" is written, values are rounded and clamped to its range.");
  else if (name != stored && !std::isdigit(name.back())) // elastix 5.3 knows those with their bits: uint8
    parameters_.warn(where + ": it is read as \"" + stored
                     + "\"; elastix does not know this name and writes another type or no image.");
  warnOfClampedDefault(parameters_, defaultPixelValue_, resultImage_.pixelType);
}

template <int D>
const ComponentDescription& DefaultResampler<D>::description()
{
  static const ComponentDescription description{"Resampler",
                                                "DefaultResampler",
                                                "The moving image at T(x) for every voxel x of the fixed "
                                                "grid; CUDAResampler and OpenCLResampler mean the same.",
                                                {defaultPixelValue, resampleExtrapolation, writeResultImage,
                                                 writeAfterResolution, writeAfterIteration, resultImageFormat,
                                                 resultImagePixelType, compressResultImage, resultImageName},
                                                {"CUDAResampler", "OpenCLResampler"}};
  return description;
}

template <int D>
std::vector<MovingToResample<D>> DefaultResampler<D>::onCuda(const Context& context,
                                                             std::span<const ResampleSource<D>> sources) const
{
  std::vector<MovingToResample<D>> images;
  for (const ResampleSource<D>& source : sources)
    images.emplace_back(context, source, extrapolation_,
                        asIntensity(source.outside.value_or(defaultPixelValue_)));
  return images;
}

template <int D>
void DefaultResampler<D>::resampleInto(Context& context, const TransformChain<D>& chain,
                                       std::span<const ResampleSource<D>> sources,
                                       const ImageGeometry<D>& output, const SliceRange& slices,
                                       std::span<const PixelsOut> results) const
{
  if constexpr (D < 4)
    if (context.onCuda())
      return resampleInChunks<D>(context, chain, onCuda(context, sources), output, slices, results);
  const std::optional<OneSplineChain<D>> folded = asOneSpline(chain);
  const bool isLinear = folded && !folded->spline;
  std::optional<AffineMap<D>> mappedFromVoxel;
  if (isLinear)
    mappedFromVoxel = compose(folded->linear, output.pointFromIndex());
  std::vector<SourceBatches<D>> images;
  for (const ResampleSource<D>& source : sources)
    images.emplace_back(source, extrapolation_, asIntensity(source.outside.value_or(defaultPixelValue_)),
                        mappedFromVoxel);
  const OnCpu<D> work{context, chain, output, GridSlices<D>(output, slices), images, results};
  if (isLinear)
    work.byRows();
  else
    work.byPoints();
}

/// Empty, with the reason in `whyNot`, if the whole image has to be in memory.
template <int D>
std::optional<InputSlices<D>>
DefaultResampler<D>::inputSlices(const TransformChain<D>& chain, bool readsVoxels,
                                 const ImageGeometry<D>& moving, const ImageGeometry<D>& output,
                                 std::string& whyNot) const
{
  if (!readsVoxels) {
    whyNot = "the coefficients of splines are made of whole lines of it";
    return std::nullopt;
  }
  if (extrapolation_ == Extrapolation::mirror) {
    whyNot = "any part of its mirror image may be asked for";
    return std::nullopt;
  }
  const InputSlices<D> input(chain, moving, output);
  if (input.known())
    return input;
  whyNot = "where these transforms lead is not known beforehand";
  return std::nullopt;
}

template <int D>
SlicesAskedFor
DefaultResampler<D>::slicesAskedFor(const TransformChain<D>& chain, const Interpolator<D>& interpolator,
                                    const ImageGeometry<D>& moving, const ImageGeometry<D>& output) const
{
  SlicesAskedFor asked;
  if (const auto input = inputSlices(chain, interpolator.readsVoxels(), moving, output, asked.whyNot))
    asked.by = [input = *input](const SliceRange& ofOutput) { return input.askedBy(ofOutput); };
  return asked;
}

/// The memory that is needed beside the slices is counted.
template <int D>
SlicesThatFit
DefaultResampler<D>::slicesThatFit(const TransformChain<D>& chain, const ResampleSource<D>& source,
                                   const ImageGeometry<D>& output, PixelType type, double deviceBytes) const
{
  const ImageGeometry<D>& moving = source.interpolator->imageGeometry();
  std::string whyNot;
  const std::optional<InputSlices<D>> input =
      inputSlices(chain, source.interpolator->readsVoxels(), moving, output, whyNot);
  if (!input)
    return {0, whyNot};
  MemoryCount besideSlices;
  const PixelsOut result(nullptr, type);
  resampleInto(besideSlices.context(), chain, std::span(&source, 1), output, {}, std::span(&result, 1));
  const std::size_t all = moving.size[D - 1], needed = input->maxAskedBy(1);
  const auto bytesOfSlice = static_cast<double>(voxelsOfSlice(moving) * sizeof(float));
  const double forSlices = deviceBytes - besideSlices.peak().bytes() - roundingOfResampling;
  const double fitting = std::floor(forSlices / bytesOfSlice);
  if (fitting < static_cast<double>(needed))
    return {0, "a slice of the result asks for " + std::to_string(needed) + " of its " + std::to_string(all)
                   + " slices, " + std::to_string(static_cast<std::size_t>(std::max(fitting, 0.0))) + " fit"};
  return {static_cast<std::size_t>(std::min(fitting, static_cast<double>(all))), ""};
}

template <int D>
bool DefaultResampler<D>::writesResultAfterLevel(std::size_t level) const
{
  return parameters_.get(writeAfterResolution, level);
}

template <int D>
bool DefaultResampler<D>::writesResultAfterIterations(std::size_t level) const
{
  return parameters_.get(writeAfterIteration, level);
}

template <int D>
std::vector<FileEntry> DefaultResampler<D>::fileEntries() const
{
  std::vector<FileEntry> entries{{"Resampler", {description().name}, {}},
                                 {"DefaultPixelValue", {}, {defaultPixelValue_}},
                                 {"ResultImageFormat", {resultImage_.format}, {}},
                                 {"ResultImagePixelType", {pixelTypeName(resultImage_.pixelType)}, {}},
                                 {"CompressResultImage", {resultImage_.compress ? "true" : "false"}, {}}};
  if (extrapolation_ != Extrapolation::constant)
    entries.push_back({"ResampleExtrapolation", {extrapolationNames[static_cast<int>(extrapolation_)]}, {}});
  if (resultImage_.name != resultImageName.defaultValue)
    entries.push_back({"ResultImageName", {resultImage_.name}, {}});
  return entries;
}

TESSERA_INSTANTIATE_CLASS_TO_4(DefaultResampler);

}
