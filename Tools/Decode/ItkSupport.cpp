#include "Tools/Decode/ItkSupport.h"

#include "Core/Compute/Error.h"
#include "Core/Image/FileChecks/FileCheck.h"

#include <itkImageIOBase.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace tessera {
namespace {

PixelType componentTypeOf(const itk::ImageIOBase& io, const std::string& path)
{
  using enum itk::IOComponentEnum;
  static_assert(sizeof(long) == 8);
  static const std::map<itk::IOComponentEnum, PixelType> types{
      {CHAR, PixelType::int8},        {UCHAR, PixelType::uint8},    {SHORT, PixelType::int16},
      {USHORT, PixelType::uint16},    {INT, PixelType::int32},      {UINT, PixelType::uint32},
      {LONG, PixelType::int64},       {LONGLONG, PixelType::int64}, {ULONG, PixelType::uint64},
      {ULONGLONG, PixelType::uint64}, {FLOAT, PixelType::float32},  {DOUBLE, PixelType::float64}};
  const auto found = types.find(io.GetComponentType());
  if (found == types.end())
    failAs(ExitCode::unreadableInput, path,
           "voxels of type " + io.GetComponentTypeAsString(io.GetComponentType()) + ": cannot be read",
           "integers of 8 to 64 bits, float, double");
  return found->second;
}

PixelMeaning meaningOfItk(const itk::ImageIOBase& io)
{
  using Pixel = itk::IOPixelEnum;
  const auto components = static_cast<int>(io.GetNumberOfComponents());
  const std::string format = io.GetNameOfClass();
  const bool picture = format == "PNGImageIO" || format == "TIFFImageIO";
  const bool colour = picture || io.GetPixelType() == Pixel::RGB || io.GetPixelType() == Pixel::RGBA
                      || io.GetComponentType() == itk::IOComponentEnum::UCHAR;
  return components == 2 && picture ? PixelMeaning::greyAlpha : meaningOf(components, colour);
}

/// Places an image in LPS by the space of its NRRD header (definition of NRRD0004, section 5), where ITK
/// before 5.4.3 negates x for y (left-anterior-superior) or nothing (spaces with time). A note tells that a
/// space has no anatomical axes.
void placeInNrrdSpace(ImageHeader& header, const itk::ImageIOBase& io)
{
  constexpr bool isMisplaced =
      ITK_VERSION_MAJOR * 10000 + ITK_VERSION_MINOR * 100 + ITK_VERSION_PATCH < 50403;
  if (std::string(io.GetNameOfClass()) != "NrrdImageIO")
    return;
  const std::string space = nrrdSpace(FileHead(header.path));
  const bool isLas = space.starts_with("las") || space.starts_with("leftanterior"),
             isRas = space.starts_with("ras") || space.starts_with("rightanterior"),
             isLps = space.starts_with("lps") || space.starts_with("leftposterior"),
             hasTime = space.ends_with("time") || (space.size() == 4 && space.ends_with("t"));
  const std::array negates{isLas ? !hasTime && isMisplaced : isRas && hasTime,
                           isLas ? hasTime || isMisplaced : isRas && hasTime};
  for (int row = 0; row < std::min(2, header.dimension); ++row)
    if (negates[row]) {
      header.originMm[row] = 0 - header.originMm[row];
      for (double& cosine : header.direction[row])
        cosine = 0 - cosine;
    }
  if (!space.empty() && !isLas && !isRas && !isLps && header.dimension == 3)
    header.notes.push_back(header.path + ": its header names no anatomical axes (space: " + space
                           + "); its coordinates are taken for left, posterior and superior, as by ITK");
}

}

ImageHeader headerFromItk(const itk::ImageIOBase& io, const std::string& path)
{
  ImageHeader header;
  header.path = path;
  header.dimension = static_cast<int>(io.GetNumberOfDimensions());
  header.components = static_cast<int>(io.GetNumberOfComponents());
  header.componentType = header.typeInFile = componentTypeOf(io, path);
  header.meaning = meaningOfItk(io);
  header.direction.assign(header.dimension, std::vector<double>(header.dimension));
  for (int axis = 0; axis < header.dimension; ++axis) {
    header.size.push_back(io.GetDimensions(axis));
    header.spacingMm.push_back(io.GetSpacing(axis));
    header.originMm.push_back(io.GetOrigin(axis));
    const std::vector<double> column = io.GetDirection(axis);
    for (int row = 0; row < header.dimension; ++row)
      header.direction[row][axis] = column[row];
  }
  placeInNrrdSpace(header, io);
  while (header.dimension > 3 && header.size.back() == 1)
    header = withFirstAxes(std::move(header), header.dimension - 1);
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
