#include "Core/Image/ImageSource.h"

#include "Core/Compute/Error.h"
#include "Core/Image/ImageFormat.h"
#include "Core/Image/ItkSupport.h"
#include "Core/Image/NiftiSpacing.h"

#include <itkBMPImageIO.h>
#include <itkGDCMImageIO.h>
#include <itkGiplImageIO.h>
#include <itkJPEGImageIO.h>
#include <itkMetaImageIO.h>
#include <itkNiftiImageIO.h>
#include <itkNrrdImageIO.h>
#include <itkPNGImageIO.h>
#include <itkTIFFImageIO.h>
#include <itkVTKImageIO.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace tessera {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& wrong, const std::string& allowed)
{
  throw Error(ExitCode::unreadableInput, path + ": " + wrong + ". Allowed: " + allowed + ".");
}

/// Null if this format does not know the file.
template <class ItkIO>
itk::ImageIOBase::Pointer readerIfKnown(const std::string& path)
{
  const typename ItkIO::Pointer io = ItkIO::New();
  return io->CanReadFile(path.c_str()) ? itk::ImageIOBase::Pointer(io) : itk::ImageIOBase::Pointer();
}

itk::ImageIOBase::Pointer readerFor(const std::string& path)
{
  using Finder = itk::ImageIOBase::Pointer (*)(const std::string&);
  constexpr Finder finders[] = {
    readerIfKnown<itk::NiftiImageIO>, readerIfKnown<itk::MetaImageIO>, readerIfKnown<itk::NrrdImageIO>,
    readerIfKnown<itk::GiplImageIO>,  readerIfKnown<itk::PNGImageIO>,  readerIfKnown<itk::JPEGImageIO>,
    readerIfKnown<itk::TIFFImageIO>,  readerIfKnown<itk::BMPImageIO>,  readerIfKnown<itk::VTKImageIO>,
    readerIfKnown<itk::GDCMImageIO>};
  for (const Finder finder : finders)
    if (const itk::ImageIOBase::Pointer io = finder(path))
      return io;
  return {};
}

itk::ImageIOBase::Pointer openItk(const std::string& path)
{
  const std::string readable = "an image file that exists and may be read: " + readableFormats();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    fail(path, "no such file", readable);
  if (!std::ifstream(path))
    fail(path, "the file cannot be opened", readable);
  try {
    const itk::ImageIOBase::Pointer io = readerFor(path);
    if (!io)
      fail(path, "not an image of a format that is known", readable);
    io->SetFileName(path);
    io->ReadImageInformation();
    return io;
  } catch (const itk::ExceptionObject& exception) {
    fail(path, "the image's header cannot be read: " + itkMessage(exception), readable);
  }
}

class FileSource final : public ImageSource {
public:
  FileSource(itk::ImageIOBase::Pointer io, const std::string& path) : ImageSource(headerFromItk(*io, path)), io_(std::move(io)) {}

  void read(void* buffer, std::vector<std::string>&) override
  {
    const std::string whole = "a whole file; it may have been cut off while it was copied";
    try {
      askForAllVoxels(*io_);
      io_->Read(buffer);
    } catch (const std::exception& exception) {
      fail(header().path, "the voxels cannot be read: " + itkMessage(exception), whole);
    }
  }

private:
  itk::ImageIOBase::Pointer io_;
};

/// |determinant| over the product of the columns' lengths, by elimination.
double relativeDeterminant(std::vector<std::vector<double>> m)
{
  const std::size_t n = m.size();
  double result = 1;
  for (std::size_t j = 0; j < n; ++j) {
    double length2 = 0;
    for (std::size_t i = 0; i < n; ++i)
      length2 += m[i][j] * m[i][j];
    result /= std::sqrt(length2);
  }
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(m[i][k]) > std::abs(m[pivot][k]))
        pivot = i;
    std::swap(m[k], m[pivot]);
    result *= m[k][k];
    for (std::size_t i = k + 1; i < n; ++i)
      for (std::size_t j = n; j-- > k;)
        m[i][j] -= m[i][k] / m[k][k] * m[k][j];
  }
  return std::abs(result);
}

std::string shortText(double value)
{
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}

void checkGeometry(const ImageHeader& header)
{
  for (int axis = 0; axis < header.dimension; ++axis) {
    const std::string onAxis = " on axis " + std::to_string(axis);
    if (header.size[axis] == 0)
      fail(header.path, "size 0" + onAxis + ": the image has no voxels", "at least one voxel on each axis");
    if (!(header.spacingMm[axis] > 0) || !std::isfinite(header.spacingMm[axis]))
      fail(header.path, "spacing " + shortText(header.spacingMm[axis]) + onAxis + ": a voxel must have an extent",
           "spacings above zero; a flipped axis belongs into the direction");
    if (!std::isfinite(header.originMm[axis]))
      fail(header.path, "origin " + shortText(header.originMm[axis]) + onAxis + ": not a position", "finite numbers");
  }
  constexpr double parallel = 1e-6;   // sine of the angle below which axes are one; headers round to float
  if (!(relativeDeterminant(header.direction) > parallel)) {
    std::string matrix;
    for (const std::vector<double>& row : header.direction)
      for (double value : row)
        matrix.append(" ").append(shortText(value));
    fail(header.path, "direction" + matrix + ": the matrix is singular", "axes that are not parallel");
  }
}

std::unique_ptr<ImageSource> openImage(const std::string& path)
{
  std::error_code ignored;
  std::unique_ptr<ImageSource> source;
  if (std::filesystem::is_directory(path, ignored)) {
    source = openDicomFolder(path);
  } else {
    checkNiftiSpacing(path);
    source = std::make_unique<FileSource>(openItk(path), path);
  }
  checkGeometry(source->header());
  return source;
}

}
