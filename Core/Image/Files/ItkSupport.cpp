#include "Core/Image/Files/ItkSupport.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/DicomSeries.h"

#include <itkImageIOBase.h>

#include <algorithm>

namespace tessera {
namespace {

PixelType componentTypeOf(const itk::ImageIOBase& io, const std::string& path)
{
  using Component = itk::IOComponentEnum;
  static_assert(sizeof(long) == 8);
  switch (io.GetComponentType()) {
  case Component::CHAR:
    return PixelType::int8;
  case Component::UCHAR:
    return PixelType::uint8;
  case Component::SHORT:
    return PixelType::int16;
  case Component::USHORT:
    return PixelType::uint16;
  case Component::INT:
    return PixelType::int32;
  case Component::UINT:
    return PixelType::uint32;
  case Component::LONG:
  case Component::LONGLONG:
    return PixelType::int64;
  case Component::ULONG:
  case Component::ULONGLONG:
    return PixelType::uint64;
  case Component::FLOAT:
    return PixelType::float32;
  case Component::DOUBLE:
    return PixelType::float64;
  default:
    throw Error(ExitCode::unreadableInput,
                path + ": voxels of type " + io.GetComponentTypeAsString(io.GetComponentType())
                    + ": cannot be read. Allowed: integers of 8 to 64 bits, float, double.");
  }
}

/// The meaning of a file's components. MetaImage, NRRD and VTK do not say whether they are colours: three or
/// four components of 8 bits are read as colours.
PixelMeaning meaningOf(const itk::ImageIOBase& io)
{
  using Pixel = itk::IOPixelEnum;
  const unsigned components = io.GetNumberOfComponents();
  const std::string format = io.GetNameOfClass();
  const bool picture = format == "PNGImageIO" || format == "TIFFImageIO";
  const bool colour = picture || io.GetPixelType() == Pixel::RGB || io.GetPixelType() == Pixel::RGBA
                      || io.GetComponentType() == itk::IOComponentEnum::UCHAR;
  if (components == 1)
    return PixelMeaning::scalar;
  if (components == 2 && picture)
    return PixelMeaning::greyAlpha;
  if (components == 3 && colour)
    return PixelMeaning::rgb;
  if (components == 4 && colour)
    return PixelMeaning::rgba;
  return PixelMeaning::vector;
}

}

ImageHeader headerFromItk(const itk::ImageIOBase& io, const std::string& path)
{
  ImageHeader header;
  header.path = path;
  header.dimension = static_cast<int>(io.GetNumberOfDimensions());
  while (header.dimension > 3 && io.GetDimensions(header.dimension - 1) == 1)
    --header.dimension;
  header.components = static_cast<int>(io.GetNumberOfComponents());
  header.componentType = header.typeInFile = componentTypeOf(io, path);
  header.meaning = meaningOf(io);
  header.direction.assign(header.dimension, std::vector<double>(header.dimension));
  for (int axis = 0; axis < header.dimension; ++axis) {
    header.size.push_back(io.GetDimensions(axis));
    header.spacingMm.push_back(io.GetSpacing(axis));
    header.originMm.push_back(io.GetOrigin(axis));
    const std::vector<double> column = io.GetDirection(axis);
    for (int row = 0; row < header.dimension; ++row)
      header.direction[row][axis] = column[row];
  }
  return header;
}

void askForAllVoxels(itk::ImageIOBase& io)
{
  itk::ImageIORegion region(io.GetNumberOfDimensions());
  for (unsigned axis = 0; axis < io.GetNumberOfDimensions(); ++axis) {
    region.SetIndex(axis, 0);
    region.SetSize(axis, io.GetDimensions(axis));
  }
  io.SetIORegion(region);
}

std::unique_lock<std::mutex> lockItkFiles()
{
  static std::mutex mutex;
  static const bool isQuiet = (quietenGdcm(), true);
  static_cast<void>(isQuiet);
  return std::unique_lock(mutex);
}

std::string itkMessage(const std::exception& exception)
{
  const auto* itkException = dynamic_cast<const itk::ExceptionObject*>(&exception);
  std::string text = itkException ? itkException->GetDescription() : exception.what();
  for (const std::string start : {"ITK ERROR: ", "itk::ERROR: "})
    if (text.starts_with(start)) {
      const std::size_t address = text.find("): ");
      text.erase(0, address == std::string::npos ? start.size() : address + 3);
    }
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.'))
    text.pop_back();
  return text;
}

}
