#include "Core/Runs/TransformOutput/TransformOutput.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/LowerCase.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/ItkTransformFiles/ItkTransformClass.h"
#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"
#include "Core/Image/ShearedGrid.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"
#include "Core/Runs/TransformOutput/ForeignOutput.h"
#include "Core/Runs/TransformOutput/InverseSpline.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace tessera {
namespace {

namespace fs = std::filesystem;

const Parameter<std::int64_t> splineOrder =
    integerParameter("FinalBSplineInterpolationOrder", 3, 0, Arity::single, "", "order of the interpolation");

constexpr std::array<std::pair<const char*, TransformFormat>, 8> formats{{
    {"elastix", TransformFormat::elastix},
    {"itk", TransformFormat::itk},
    {"field", TransformFormat::field},
    {"ants", TransformFormat::ants},
    {"fsl", TransformFormat::fsl},
    {"niftyreg", TransformFormat::niftyreg},
    {"greedy", TransformFormat::greedy},
    {"freesurfer", TransformFormat::freesurfer},
}};

std::string endingOf(const std::string& path)
{
  return lowerCase(fs::path(path).extension().string());
}

bool isHdf5(const std::string& path)
{
  const std::string ending = endingOf(path);
  return ending == ".h5" || ending == ".hdf5";
}

[[noreturn]] void fail(const std::string& path, const std::string& wrong, const std::string& allowed)
{
  failAs(ExitCode::usage, "--write " + path, wrong, allowed);
}

void requireEnding(const std::string& path, std::initializer_list<const char*> endings,
                   const std::string& format)
{
  for (const char* ending : endings)
    if (lowerCase(path).ends_with(ending) && lowerCase(fs::path(path).filename().string()) != ending)
      return;
  fail(path, "not an ending of this kind of " + format + " files", joined(endings));
}

template <int D>
std::vector<const TransformChain<D>*> partsOf(const TransformChain<D>& chain)
{
  std::vector<const TransformChain<D>*> parts;
  for (const TransformChain<D>* part = &chain; part; part = part->initial.get())
    parts.push_back(part);
  return parts;
}

/// The transforms of a chain, the first of which is applied last, if ITK has each of them; else empty.
template <int D>
std::vector<ItkTransform> itkParts(const TransformChain<D>& chain)
{
  std::vector<ItkTransform> transforms;
  for (const TransformChain<D>* part : partsOf(chain)) {
    if (part->initial && part->combination == Combination::add)
      return {};
    try {
      transforms.push_back(part->transform->itkTransform(part->parameters));
      if (!isItkTransformClass(transforms.back().className))
        return {};
    } catch (const Error& error) {
      if (error.code() != ExitCode::unwritableOutput && error.code() != ExitCode::usage)
        throw;
      return {};
    }
  }
  return transforms;
}

bool holdsField(const std::vector<ItkTransform>& transforms)
{
  return std::ranges::any_of(transforms, [](const ItkTransform& transform) {
    return transform.className.starts_with("DisplacementFieldTransform");
  });
}

/// The transform whose lines a transform parameter file can hold; null if the chain has no such form.
template <int D>
ChainPointer<D> asOneTransform(const TransformOutput<D>& output, const Registry& registry)
{
  const TransformChain<D>& chain = *output.chain;
  const bool isAlone = !chain.initial;
  if (const auto map = asLinearMap<D>(&chain, chain.parameters))
    return isAlone ? output.chain : chainFromItk<D>({itkAffine<D>(*map)}, registry, output.path, {});
  return isAlone && !chain.parameters.empty() ? output.chain : nullptr;
}

/// The entries of the file with which another program resamples in the same way.
template <int D>
std::vector<FileSection> resamplingOf(const TransformOutput<D>& output)
{
  FileSection interpolator{"ResampleInterpolator specific", {}};
  const Parameters parameters(output.settings, "", D, 1);
  const char *name = "ResampleInterpolator", *order = splineOrder.name.c_str();
  if (const ParameterEntry* entry = output.settings->find(name))
    interpolator.entries.push_back({name, entry->values, {}});
  if (parameters.has(order))
    interpolator.entries.push_back({order, {}, {static_cast<double>(parameters.get(splineOrder))}});
  return {interpolator, {"Resampler specific", output.resampler.fileEntries()}};
}

/// Writes a transform parameter file with one transform; `note` is a comment in it.
template <int D>
void writeText(const TransformOutput<D>& output, const TransformChain<D>& chain,
               const std::vector<FileEntry>* model, int threads, Log& log, const std::string& note = "")
{
  TransformFileSource<D> source{.chain = &chain,
                                .model = model,
                                .fixed = output.output,
                                .useDirectionCosines = output.useDirectionCosines,
                                .sections = resamplingOf(output)};
  if (!note.empty())
    source.sections.push_back({note, {}});
  source.threads = threads;
  std::vector<std::string> warnings;
  writeTextFile(output.path, endingOf(output.path) == ".toml" ? std::vector{transformFileToml<D>(source)}
                                                              : transformFilePieces<D>(source, warnings));
  for (const std::string& warning : warnings)
    log.warning(output.path + ": " + warning);
}

/// A transform parameter file that names the field beside it.
template <int D>
std::vector<std::string> writeTextOfField(Context& context, const Registry& registry,
                                          const TransformOutput<D>& output, Log& log)
{
  const VectorImage<D> field = wholeField<D>(context, registry, output, *output.chain, log);
  const std::string notNifti = whyNotHeld("nii.gz", field.geometry);
  const char* const ending = notNifti.empty() ? ".nii.gz" : ".mha";
  const std::string image = fs::path(output.path).replace_extension(ending).string();
  if (!notNifti.empty())
    log.note("The field is written as " + image + ": NIfTI " + notNifti + ".");
  writeVectorImage<D>(image, field, true, context.threads);
  const Parameters none(std::make_shared<ParameterMap>(output.path), "", D, 1);
  TransformChain<D> chain;
  chain.transform = registry.create<Transform<D>>(knowncomponents::fieldTransform, none, output.path);
  const std::vector<FileEntry> model{{"DeformationFieldFileName", {fs::path(image).filename().string()}, {}},
                                     {deformationFieldDigest, {transformDigest(image)}, {}},
                                     {"DeformationFieldInterpolationOrder", {}, {1}}};
  writeText<D>(output, chain, &model, context.threads, log);
  return {output.path, image};
}

/// One transform stands alone in a text and in a composite in HDF5, the forms that nitransforms reads.
void writeItkParts(const std::string& path, const std::vector<ItkTransform>& parts)
{
  writeItkTransforms(path, parts, parts.size() > 1 || isHdf5(path));
}

/// Writes a B-spline that is near to the inverse.
template <int D>
void writeSpline(Context& context, const Registry& registry, const TransformOutput<D>& output, Log& log)
{
  VectorImage<D> field = outputField<D>(context, registry, output, *output.chain, log);
  field.geometry = output.lattice;
  const InverseSpline<D> fit =
      fitInverse<D>(context, registry, *output.invertsTo, field,
                    output.format == TransformFormat::itk ? std::optional(3) : std::nullopt);
  log.info("  The inverse is written as " + fit.text() + ".");
  if (output.format == TransformFormat::elastix)
    writeText<D>(output, *fit.chain, nullptr, context.threads, log,
                 "The inverse of a transform as " + fit.text());
  else
    writeItkParts(output.path, {fit.chain->transform->itkTransform(fit.chain->parameters)});
}

template <int D>
void writeItk(Context& context, const Registry& registry, const TransformOutput<D>& output, Log& log)
{
  const TransformChain<D>& chain = *output.chain;
  if (const auto map = asLinearMap<D>(&chain, chain.parameters); map && chain.initial)
    return writeItkParts(output.path, {itkAffine<D>(*map)});
  if (const std::vector<ItkTransform> parts = itkParts<D>(chain); !parts.empty() && !holdsField(parts))
    return writeItkParts(output.path, parts);
  writeItkDisplacementField<D>(output.path, wholeField<D>(context, registry, output, *output.chain, log));
}

}

TransformFormat transformFormat(const std::string& name, const std::string& path)
{
  for (const auto& [known, format] : formats)
    if (name == known)
      return format;
  if (!name.empty())
    failAs(ExitCode::usage, "--format " + name, "not known", transformFormatNames());
  const std::string ending = endingOf(path);
  if (ending == ".txt" || ending == ".toml")
    return TransformFormat::elastix;
  if (ending == ".tfm" || isHdf5(path))
    return TransformFormat::itk;
  if (ending == ".lta")
    return TransformFormat::freesurfer;
  if (ending == ".mat")
    fail(path, "several programs have files of this ending", "--format ants, fsl or greedy with it");
  if (formatOf(path).empty())
    fail(path, "the ending says no format",
         "a path that ends with .txt, .toml, .h5, .tfm, .lta or as an image does, such as .nii.gz, or "
         "--format with "
             + transformFormatNames());
  return TransformFormat::field;
}

std::string transformFormatNames()
{
  return joined(formats, ", ", [](const auto& format) { return format.first; });
}

template <int D>
void checkOutput(const TransformOutput<D>& output)
{
  const TransformChain<D>& chain = *output.chain;
  const std::string& path = output.path;
  const bool isLinear = asLinearMap<D>(&chain, chain.parameters).has_value();
  const TransformFormat format = output.format;
  const auto needThreeDimensions = [&](const char* program) {
    if (D != 3)
      fail(path, std::string(program) + "'s transforms are three-dimensional",
           "--format elastix, itk or field");
  };
  if (output.asSpline) {
    if (!output.invertsTo)
      failAs(ExitCode::usage, "--inverse-as bspline", "given without --inverse", "--inverse with it");
    if (format != TransformFormat::elastix && format != TransformFormat::itk)
      fail(path, "no such file holds a B-spline", ".txt, .toml, .h5 and .tfm");
  }
  if (!output.useDirectionCosines && format != TransformFormat::elastix
      && output.output.direction != identityMatrix<D>())
    fail(path,
         "(UseDirectionCosines \"false\"): its points are not those of other programs, which follow the "
         "images' axes",
         "--format elastix");
  const bool isNiftiField = !isLinear
                            && (format == TransformFormat::ants || format == TransformFormat::fsl
                                || format == TransformFormat::niftyreg || format == TransformFormat::greedy);
  if (const std::string wrong = whyNotHeld("nii.gz", output.output); isNiftiField && !wrong.empty())
    fail(path, "the field of this program is a NIfTI file, which " + wrong,
         "--format elastix, itk or field (mha, mhd, nrrd, nhdr, h5), or a grid of an image with "
         "perpendicular axes near the origin");
  switch (format) {
  case TransformFormat::elastix:
    return requireEnding(path, {".txt", ".toml"}, "elastix");
  case TransformFormat::itk:
    requireEnding(path, {".h5", ".hdf5", ".tfm"}, "ITK");
    if (const auto parts = itkParts<D>(chain);
        !isHdf5(path) && !output.asSpline && (parts.empty() || holdsField(parts)) && !isLinear)
      fail(path, "the transform is a field, which is too much for a file of text",
           ".h5 or an image, such as .nii.gz; .tfm for linear transforms, for composites that ITK has, and "
           "with --inverse-as bspline");
    return;
  case TransformFormat::field:
    if (formatOf(path).empty())
      fail(path, "the ending says no format of images", "an ending such as .nii.gz");
    try {
      checkWritable(formatOf(path), D, PixelType::float32, D);
      checkHoldsGrid(formatOf(path), output.output);
    } catch (const Error& error) {
      throw Error(ExitCode::usage, "--write " + path + ": " + error.what());
    }
    return;
  case TransformFormat::ants:
    if (fs::path(path).filename().empty() && !fs::is_directory(fs::path(path)))
      fail(path, "no such folder", "the beginning of paths in a folder, such as warps/sub-01_");
    return;
  case TransformFormat::fsl:
    needThreeDimensions("FSL");
    if (!output.moving)
      fail(path, "FSL's coordinates depend on the moving image", "--moving IMAGE with it");
    return isLinear ? requireEnding(path, {".mat"}, "flirt")
                    : requireEnding(path, {".nii.gz", ".nii"}, "fnirt");
  case TransformFormat::niftyreg:
    needThreeDimensions("NiftyReg");
    return isLinear ? requireEnding(path, {".txt"}, "reg_aladin")
                    : requireEnding(path, {".nii.gz", ".nii"}, "NiftyReg");
  case TransformFormat::greedy:
    needThreeDimensions("greedy");
    return isLinear ? requireEnding(path, {".mat"}, "greedy")
                    : requireEnding(path, {".nii.gz", ".nii"}, "greedy");
  case TransformFormat::freesurfer:
    needThreeDimensions("FreeSurfer");
    if (!isLinear)
      fail(path, "only linear transforms can be written as .lta",
           ".h5, which FreeSurfer's mri_warp_convert takes as --initk after conversion to a field");
    if (!output.moving)
      fail(path, "the file also holds the grid of the moving image", "--moving IMAGE with it");
    return requireEnding(path, {".lta"}, "FreeSurfer");
  }
}

std::vector<std::string> filesOfOutput(const std::string& path, TransformFormat format)
{
  if (format != TransformFormat::ants)
    return {path};
  return {path + "0GenericAffine.mat", path + "1Warp.nii.gz", path + "1InverseWarp.nii.gz"};
}

template <int D>
std::vector<std::string> writeTransform(Context& context, const Registry& registry,
                                        const TransformOutput<D>& output, Log& log)
{
  checkOutput(output);
  if (output.asSpline) {
    writeSpline<D>(context, registry, output, log);
    return {output.path};
  }
  switch (output.format) {
  case TransformFormat::elastix:
    if (const auto chain = asOneTransform<D>(output, registry)) {
      TransformChain<D> alone = *chain;
      alone.combination = Combination::compose;
      writeText<D>(output, alone, nullptr, context.threads, log);
      return {output.path};
    }
    return writeTextOfField<D>(context, registry, output, log);
  case TransformFormat::itk:
    writeItk<D>(context, registry, output, log);
    return {output.path};
  case TransformFormat::field:
    writeVectorImage<D>(output.path, wholeField<D>(context, registry, output, *output.chain, log), true,
                        context.threads);
    return {output.path};
  default:
    return writeForeign<D>(context, registry, output, log);
  }
}

TESSERA_INSTANTIATE_FUNCTIONS(checkOutput<D>, writeTransform<D>);

}
