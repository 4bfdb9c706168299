#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/DicomSeries.h"
#include "Core/Image/Files/ImageSource.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/ItkSupport.h"
#include "Core/Image/ShearedGrid.h"

#include <itkGDCMImageIO.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

itk::GDCMImageIO::Pointer openSlice(const std::string& path)
{
  const itk::GDCMImageIO::Pointer io = itk::GDCMImageIO::New();
  io->SetFileName(path);
  try {
    io->ReadImageInformation();
  } catch (const std::exception& exception) {
    failToRead(path, "the DICOM header cannot be read: " + itkMessage(exception), "DICOM image files");
  }
  return io;
}

struct Offset {
  double xyz[3];
  double length;
};

Offset between(const ImageHeader& from, const ImageHeader& to)
{
  Offset offset{};
  for (int d = 0; d < 3; ++d) {
    offset.xyz[d] = to.originMm[d] - from.originMm[d];
    offset.length += offset.xyz[d] * offset.xyz[d];
  }
  offset.length = std::sqrt(offset.length);
  return offset;
}

/// The header of the stack. Its last axis runs from the first slice to the last one.
ImageHeader headerOfSeries(const std::string& folder, const DicomSeries& series)
{
  const std::vector<std::string>& slices = series.files;
  ImageHeader header = headerFromItk(*openSlice(slices.front()), folder);
  if (slices.size() == 1)
    return header;
  const std::string stackable = "slices of one plane at different places";
  if (header.dimension != 3 || header.size[2] != 1)
    failToRead(folder,
               std::to_string(slices.size()) + " files, each of several slices: they cannot be stacked",
               stackable);
  const Offset offset = between(header, headerFromItk(*openSlice(slices.back()), folder));
  if (!(offset.length > 0))
    failToRead(folder, "the first and the last slice lie at the same place", stackable);
  for (const std::string& slice : series.others)
    if (headerFromItk(*openSlice(slice), slice).componentType != header.componentType) {
      header.componentType = header.typeInFile = PixelType::float64; // the type of rescaled values
      break;
    }
  header.size[2] = series.places.back() + 1;
  header.spacingMm[2] = offset.length / static_cast<double>(series.places.back());
  for (int row = 0; row < 3; ++row)
    header.direction[row][2] = offset.xyz[row] / offset.length;
  return header;
}

void readAsDoubles(itk::ImageIOBase& io, PixelType type, double* values)
{
  withPixelType(type, [&]<class T>(std::type_identity<T>) {
    std::vector<T> stored(io.GetImageSizeInComponents());
    io.Read(stored.data());
    std::ranges::copy(stored, values);
  });
}

class SeriesSource final : public ImageSource {
public:
  SeriesSource(const std::string& folder, DicomSeries series)
      : ImageSource(headerOfSeries(folder, series)), slices_(std::move(series.files)),
        places_(std::move(series.places)), note_(std::move(series.note))
  {
  }

  using ImageSource::read;

  void read(std::byte* buffer, int, std::vector<std::string>& notes) override
  {
    if (!note_.empty())
      notes.push_back(note_);
    if (header().dimension == 3 && isSheared(geometryOf<3>(header())))
      notes.push_back(
          header().path
          + ": the slices are shifted against each other (gantry tilt), so the axes of the image are "
            "not perpendicular");
    const auto lock = lockItkFiles();
    const std::size_t gridSlices = places_.back() + 1, sliceBytes = byteCount() / gridSlices;
    double largestMm = 0;
    for (std::size_t i = 0; i < slices_.size(); ++i)
      largestMm = std::max(
          largestMm, readSlice(i, reinterpret_cast<char*>(buffer) + places_[i] * sliceBytes, sliceBytes));
    for (std::size_t i = 1; i < slices_.size(); ++i)
      fillGap(buffer, places_[i - 1], places_[i], sliceBytes);
    if (gridSlices > slices_.size())
      notes.push_back(header().path + ": " + std::to_string(gridSlices - slices_.size()) + " of "
                      + std::to_string(gridSlices)
                      + " slices are missing; they are interpolated between their neighbours "
                        "(--allow-missing-slices)");
    constexpr double tolerated = 0.01; // share of the spacing: positions are decimal texts
    if (slices_.size() > 1 && largestMm > tolerated * header().spacingMm[2])
      notes.push_back(header().path + ": the slices are not evenly spaced: one lies " + shortText(largestMm)
                      + " mm from its place on the grid of " + shortText(header().spacingMm[2]) + " mm");
  }

private:
  /// Interpolates the slices between two places.
  void fillGap(std::byte* buffer, std::size_t first, std::size_t last, std::size_t sliceBytes) const
  {
    withPixelType(header().componentType, [&]<class T>(std::type_identity<T>) {
      const auto slice = [&](std::size_t place) { return reinterpret_cast<T*>(buffer + place * sliceBytes); };
      for (std::size_t place = first + 1; place < last; ++place) {
        const double weight = static_cast<double>(place - first) / static_cast<double>(last - first);
        for (std::size_t v = 0; v < sliceBytes / sizeof(T); ++v) {
          const double value = (1 - weight) * static_cast<double>(slice(first)[v])
                               + weight * static_cast<double>(slice(last)[v]);
          slice(place)[v] = static_cast<T>(std::is_integral_v<T> ? std::floor(value + 0.5) : value);
        }
      }
    });
  }

  /// The distance of a slice from its place on the grid, in mm.
  double readSlice(std::size_t index, char* buffer, std::size_t sliceBytes)
  {
    checkPictureFile(slices_[index]);
    const itk::GDCMImageIO::Pointer io = openSlice(slices_[index]);
    const ImageHeader slice = headerFromItk(*io, slices_[index]);
    const PixelType type = header().componentType;
    const bool isOfType = slice.componentType == type;
    const auto count = static_cast<std::size_t>(io->GetImageSizeInComponents());
    if ((!isOfType && type != PixelType::float64) || count != sliceBytes / pixelTypeSize(type))
      failToRead(slices_[index],
                 "the slice differs in size or pixel type from the first one, " + slices_.front(),
                 "slices of one size and type");
    try {
      askForAllVoxels(*io);
      if (isOfType)
        io->Read(buffer);
      else
        readAsDoubles(*io, slice.componentType, reinterpret_cast<double*>(buffer));
    } catch (const std::exception& exception) {
      failToRead(slices_[index], "the voxels cannot be read: " + itkMessage(exception), wholeFile);
    }
    if (slices_.size() == 1)
      return 0;
    ImageHeader expected = header();
    for (int d = 0; d < 3; ++d)
      expected.originMm[d] +=
          static_cast<double>(places_[index]) * header().spacingMm[2] * header().direction[d][2];
    return between(expected, slice).length;
  }

  std::vector<std::string> slices_;
  std::vector<std::size_t> places_; // of each on the grid
  std::string note_;
};

}

std::unique_ptr<ImageSource> openDicomFolder(const std::string& path, const ReadingOptions& reading)
{
  return std::make_unique<SeriesSource>(path, dicomSeriesOf(path, reading));
}

}
