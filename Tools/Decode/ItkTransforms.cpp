#include "Tools/Decode/ItkTransforms.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Files/ScratchFolder.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/ItkTransformFiles/ItkTransformClass.h"
#include "Tools/Decode/ItkSupport.h"
#include "Tools/Decode/ItkTransformCheck.h"

#include <itkCompositeTransform.h>
#include <itkDisplacementFieldTransform.h>
#include <itkHDF5TransformIO.h>
#include <itkMatrixOffsetTransformBase.h>
#include <itkTxtTransformIO.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>

namespace tessera {
namespace {

using TransformIO = itk::TransformIOBaseTemplate<double>;
using ItkBase = itk::TransformBaseTemplate<double>;

/// ITK's reader and writer for the extension of a transform file; null for another extension.
TransformIO::Pointer ioFor(const std::string& path)
{
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".tfm" || extension == ".txt")
    return TransformIO::Pointer(itk::TxtTransformIOTemplate<double>::New());
  if (extension == ".h5" || extension == ".hdf5" || extension == ".hdf")
    return TransformIO::Pointer(itk::HDF5TransformIOTemplate<double>::New());
  return {};
}

/// Whether a file begins as HDF5. Checked first because the HDF5 library prints errors about other files to
/// stderr.
bool isHdf5(const std::string& path)
{
  const std::string signature("\x89HDF\r\n\x1a\n", 8);
  return bytesOfFile(path, 0, signature.size()) == signature;
}

bool isComposite(const std::string& className)
{
  return className.starts_with("CompositeTransform_");
}

template <class Container>
std::vector<double> toVector(const Container& values)
{
  return {values.begin(), values.end()};
}

template <class Container>
Container toItk(const std::vector<double>& values)
{
  Container container(static_cast<unsigned>(values.size()));
  std::copy(values.begin(), values.end(), container.begin());
  return container;
}

ItkBase::Pointer makeItkTransform(const ItkTransform& transform)
{
  const itk::LightObject::Pointer object =
      itk::ObjectFactoryBase::CreateInstance(transform.className.c_str());
  const ItkBase::Pointer made = dynamic_cast<ItkBase*>(object.GetPointer());
  if (!made)
    throw std::runtime_error("ITK has no transform \"" + transform.className + "\"");
  made->UnRegister(); // CreateInstance returns an additional reference
  made->SetFixedParameters(toItk<ItkBase::FixedParametersType>(transform.fixedParameters));
  const auto count = transform.parameters.size();
  if (made->GetNumberOfParameters() != count && !transform.className.starts_with("DisplacementField"))
    throw std::runtime_error(transform.className + " has " + std::to_string(made->GetNumberOfParameters())
                             + " parameters, not " + std::to_string(count));
  made->SetParametersByValue(toItk<ItkBase::ParametersType>(transform.parameters));
  return made;
}

/// One of ITK's other linear transforms, such as ScaleVersor3DTransform, as the affine one with its matrix,
/// translation and center; empty for any other transform.
template <int D>
std::optional<ItkTransform> otherLinear(const ItkBase& read)
{
  const auto* linear = dynamic_cast<const itk::MatrixOffsetTransformBase<double, D, D>*>(&read);
  if (!linear || linear->GetTransformCategory() != ItkBase::TransformCategoryEnum::Linear
      || findItkTransformClass(read.GetTransformTypeAsString(), D))
    return std::nullopt;
  const std::string dimension = std::to_string(D);
  ItkTransform affine{"AffineTransform_double_" + dimension + "_" + dimension, {}, {}};
  for (int row = 0; row < D; ++row)
    for (int column = 0; column < D; ++column)
      affine.parameters.push_back(linear->GetMatrix()[row][column]);
  for (int d = 0; d < D; ++d) {
    affine.parameters.push_back(linear->GetTranslation()[d]);
    affine.fixedParameters.push_back(linear->GetCenter()[d]);
  }
  return affine;
}

ItkTransform fromItk(const ItkBase& read)
{
  if (auto affine = otherLinear<2>(read))
    return *affine;
  if (auto affine = otherLinear<3>(read))
    return *affine;
  return {read.GetTransformTypeAsString(), toVector(read.GetFixedParameters()),
          toVector(read.GetParameters())};
}

template <int D>
ItkBase::Pointer makeComposite(const std::vector<ItkBase::Pointer>& parts)
{
  const auto composite = itk::CompositeTransform<double, D>::New();
  for (const ItkBase::Pointer& part : parts) {
    auto* transform = dynamic_cast<itk::Transform<double, D, D>*>(part.GetPointer());
    if (!transform)
      throw std::runtime_error(part->GetTransformTypeAsString() + " cannot stand beside "
                               + parts.front()->GetTransformTypeAsString() + " in one composite");
    composite->AddTransform(transform);
  }
  return ItkBase::Pointer(composite);
}

TransformIO::ConstTransformListType listToWrite(const std::vector<ItkTransform>& transforms, bool composite)
{
  std::vector<ItkBase::Pointer> parts;
  for (const ItkTransform& transform : transforms)
    parts.push_back(makeItkTransform(transform));
  if (composite)
    parts = {parts.front()->GetInputSpaceDimension() == 2 ? makeComposite<2>(parts)
                                                          : makeComposite<3>(parts)};
  return {parts.begin(), parts.end()};
}

template <int D>
void writeField(const std::string& path, const ImageGeometry<D>& geometry, const float* displacementsMm)
{
  using Transform = itk::DisplacementFieldTransform<float, D>;
  using Field = typename Transform::DisplacementFieldType;
  const auto image = Field::New();
  typename Field::SizeType size;
  typename Field::PointType origin;
  typename Field::SpacingType spacing;
  typename Field::DirectionType direction;
  for (int d = 0; d < D; ++d) {
    size[d] = geometry.size[d];
    origin[d] = geometry.originMm[d];
    spacing[d] = geometry.spacingMm[d];
    for (int e = 0; e < D; ++e)
      direction[d][e] = geometry.direction[d][e];
  }
  image->SetRegions(size);
  image->SetOrigin(origin);
  image->SetSpacing(spacing);
  image->SetDirection(direction);
  image->Allocate();
  std::copy_n(displacementsMm, geometry.voxelCount() * D, image->GetBufferPointer()->GetDataPointer());
  const auto transform = Transform::New();
  transform->SetDisplacementField(image);
  const auto composite = itk::CompositeTransform<float, D>::New();
  composite->AddTransform(transform);
  const auto io = itk::HDF5TransformIOTemplate<float>::New();
  itk::TransformIOBaseTemplate<float>::ConstTransformListType list;
  list.push_back(itk::TransformBaseTemplate<float>::ConstPointer(composite));
  io->SetTransformList(list);
  io->SetUseCompression(true);
  io->SetFileName(path);
  io->Write();
}

}

std::vector<ItkTransform> readItkTransformsByItk(const std::string& path)
{
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    failToRead(path, "no such file", itkTransformFiles);
  if (!std::filesystem::is_regular_file(path, ignored))
    failToRead(path, "this is no file", itkTransformFiles); // opening a pipe would wait for its writer
  const TransformIO::Pointer io = ioFor(path);
  if (!io)
    failToRead(path, "the extension is not that of a transform file", itkTransformFiles);
  if (dynamic_cast<itk::HDF5TransformIOTemplate<double>*>(io.GetPointer()) && !isHdf5(path))
    failToRead(path, "this is no HDF5 file", itkTransformFiles);
  std::optional<ScratchFolder> folder;
  std::string readable = path;
  if (isHdf5(path))
    checkItkHdf5(path);
  else if (const std::string text = checkItkText(path); text.size() != std::filesystem::file_size(path)) {
    readable = folder.emplace("tessera-text-") / "transform.tfm";
    writeTextFile(readable, text, Sync::no);
  }
  registerItkTransforms();
  try {
    io->SetFileName(readable);
    io->Read();
  } catch (const std::exception& exception) {
    failToRead(path, "the transforms cannot be read: " + itkMessage(exception), itkTransformFiles);
  }
  std::vector<ItkTransform> transforms;
  for (const ItkBase::Pointer& read : io->GetReadTransformList())
    if (!isComposite(read->GetTransformTypeAsString()))
      transforms.push_back(fromItk(*read));
  if (transforms.empty())
    failToRead(path, "the file holds no transform", itkTransformFiles);
  return transforms;
}

void writeTransformsByItk(const std::string& path, const std::vector<ItkTransform>& transforms,
                          bool composite)
{
  registerItkTransforms();
  const TransformIO::Pointer io = ioFor(path);
  TransformIO::ConstTransformListType list = listToWrite(transforms, composite);
  io->SetTransformList(list);
  io->SetFileName(path);
  io->Write();
}

void writeFieldByItk(const std::string& path, const ImageHeader& header, const float* displacementsMm)
{
  if (header.dimension == 2)
    writeField<2>(path, geometryOf<2>(header), displacementsMm);
  else
    writeField<3>(path, geometryOf<3>(header), displacementsMm);
}

}
