#include "Core/Registration/TransformFiles/OtherTransformFiles.h"

#include "Core/Compute/LowerCase.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/ItkTransformFiles/ItkTransformClass.h"
#include "Core/Image/ItkTransformFiles/MatlabTransformFile.h"
#include "Core/Image/ItkTransformFiles/NiftiField.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/TransformFiles/FieldsOfPrograms.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"
#include "Core/Registration/TransformFiles/MatrixFiles.h"

#include <filesystem>

namespace tessera {
namespace {

namespace fs = std::filesystem;

void requireFile(const std::string& path)
{
  if (std::error_code ignored; !fs::is_regular_file(path, ignored))
    failToRead(path, "no such file", "a transform file");
}

bool isOfNiftyReg(const NiftiIntent& intent)
{
  return intent.name.starts_with("NREG_");
}

/// Vectors that a reader of images would take for displacements in LPS, but that need another image.
void refuseVectorsOfFsl(const std::string& path, const NiftiIntent& intent)
{
  if (intent.code >= 2001 && intent.code <= 2018) // FSL's intents
    failToRead(path,
               "this is a field of FSL (intent " + std::to_string(intent.code)
                   + "), which depends on the moving image",
               "tessera-transform --tp-format fsl --moving IMAGE beside -tp, also with --write to make "
               "another file of it");
}

std::size_t dimensionOfField(const std::string& path)
{
  const NiftiIntent intent = niftiIntent(path);
  refuseVectorsOfFsl(path, intent);
  if (isOfNiftyReg(intent))
    return 3;
  const ImageHeader header = readImageHeader(path, {});
  if (header.dimension > 3)
    failToRead(
        path,
        "an image on " + std::to_string(header.dimension) + " axes, of which the last has "
            + std::to_string(header.size.back()) + " numbers, and not one of vectors",
        "a field of displacements in mm; in NIfTI it has five axes, x y z 1 3, and intent code 1007 (LPS) or "
        "1006 (RAS): with nibabel data.reshape(*data.shape[:3], 1, 3) and header.set_intent(1007)");
  return static_cast<std::size_t>(header.dimension);
}

/// Throws for a NRRD whose vectors may have other axes than LPS, which ITK's programs do not write.
void refuseOtherAxes(const std::string& path)
{
  const std::string text = lowerCase(bytesOfFile(path, 0, std::size_t(1) << 16)),
                    lines = text.substr(0, std::min(text.find("\n\n"), text.find("\r\n\r\n"))),
                    space(trimmed(textBehind(lines, "\nspace:", "\r\n")));
  const bool isLps = space.empty() || space == "lps" || space == "left-posterior-superior";
  if (text.starts_with("nrrd000") && (!isLps || lines.find("\nmeasurement frame:") != std::string::npos))
    failToRead(
        path,
        "its space is " + space + (isLps ? ", with a measurement frame," : "")
            + " and the axes of its vectors may be others than LPS",
        "a field of displacements in mm in the space left-posterior-superior, without a measurement frame");
}

template <int D>
VectorImage<D> readField(const std::string& path)
{
  dimensionOfField(path); // throws if it is no field
  refuseOtherAxes(path);
  if constexpr (D == 3)
    if (isOfNiftyReg(niftiIntent(path)))
      return readNiftyRegField(path);
  return readVectorImage<D>(path, {});
}

[[noreturn]] void failOnMatrix(const std::string& path)
{
  if (hasEnding(path, ".xfm"))
    failToRead(path, "a transform of MINC, whose axes are RAS from MINC's programs and LPS from SimpleITK",
               "an ITK transform file (.tfm), which the program that wrote it may write, too");
  failToRead(path, "a matrix as text, which does not say whose it is",
             "tessera-transform --tp-format fsl, greedy or niftyreg beside -tp, also with --write to make an "
             "ITK transform of it");
}

}

TransformFileKind transformFileKind(const std::string& path)
{
  const std::string ending = lowerCase(fs::path(path).extension().string());
  const std::string mark = "#Insight Transform File";
  if (ending == ".tfm" || ending == ".h5" || ending == ".hdf5" || ending == ".hdf"
      || bytesOfFile(path, 0, mark.size()) == mark || isMatlabFile(path))
    return TransformFileKind::itk;
  if (ending == ".lta")
    return TransformFileKind::lta;
  if (ending == ".mat" || ending == ".xfm")
    return TransformFileKind::matrix;
  return formatOf(path).empty() ? TransformFileKind::parameters : TransformFileKind::field;
}

std::vector<ItkTransform> itkTransformsOf(const std::string& path)
{
  if (isMatlabFile(path))
    return {readMatlabTransform(path)};
  return readItkTransforms(path);
}

template <int D>
ChainPointer<D> readOtherTransforms(const std::string& path, const Registry& registry,
                                    const Parameters::Warn& warn)
{
  switch (transformFileKind(path)) {
  case TransformFileKind::field:
    return chainFromField<D>(readField<D>(path), registry, path);
  case TransformFileKind::lta:
    requireFile(path);
    if constexpr (D == 3)
      return chainFromItk<3>({itkAffine<3>(readLta(path))}, registry, path, warn);
    failToRead(path, "a transform in 3D where 2D is needed", "transforms of the images' dimension");
  case TransformFileKind::matrix:
    requireFile(path);
    failOnMatrix(path);
  default:
    return chainFromItk<D>(itkTransformsOf(path), registry, path, warn);
  }
}

std::size_t dimensionOfOtherTransforms(const std::string& path)
{
  const TransformFileKind kind = transformFileKind(path);
  if (kind != TransformFileKind::itk)
    requireFile(path);
  if (kind == TransformFileKind::field)
    return dimensionOfField(path);
  if (kind == TransformFileKind::matrix)
    failOnMatrix(path);
  if (kind == TransformFileKind::lta)
    return 3;
  const std::vector<ItkTransform> transforms = itkTransformsOf(path);
  const std::size_t dimension = transforms.empty() ? 0 : itkDimension(transforms.front().className);
  if (dimension == 0)
    failToRead(path, "no transform that says its dimension", "ITK's names, AffineTransform_double_3_3");
  return dimension;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(readOtherTransforms<D>);

}
