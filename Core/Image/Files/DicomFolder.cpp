#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/ImageSource.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/ItkSupport.h"

#include <itkGDCMImageIO.h>
#include <itkGDCMSeriesFileNames.h>

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

/// Silences ITK's warnings about problems that this file reports as errors.
class NoItkWarnings {
public:
  NoItkWarnings() { itk::Object::SetGlobalWarningDisplay(false); }
  ~NoItkWarnings() { itk::Object::SetGlobalWarningDisplay(before_); }

private:
  const bool before_ = itk::Object::GetGlobalWarningDisplay();
};

/// The files of the one series in a folder, ordered along the normal of the slices.
std::vector<std::string> slicesOf(const std::string& folder)
{
  const NoItkWarnings quiet;
  const itk::GDCMSeriesFileNames::Pointer finder = itk::GDCMSeriesFileNames::New();
  finder->SetUseSeriesDetails(true);
  finder->SetRecursive(false);
  finder->SetDirectory(folder);
  const std::vector<std::string> series = finder->GetSeriesUIDs();
  if (series.empty())
    failToRead(folder, "the folder holds no DICOM images",
               "an image file, or a folder with one DICOM series");
  if (series.size() == 1)
    return finder->GetFileNames(series.front());
  std::string list;
  for (const std::string& identifier : series) {
    const std::vector<std::string> files = finder->GetFileNames(identifier);
    list += "\n  " + std::to_string(files.size()) + " files, the first "
            + (files.empty() ? "?" : files.front()) + ", series " + identifier;
  }
  failToRead(folder, "the folder holds " + std::to_string(series.size()) + " DICOM series",
             "a folder with one series. The series are:" + list);
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
ImageHeader headerOfSeries(const std::string& folder, const std::vector<std::string>& slices)
{
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
  header.size[2] = slices.size();
  header.spacingMm[2] = offset.length / static_cast<double>(slices.size() - 1);
  for (int row = 0; row < 3; ++row)
    header.direction[row][2] = offset.xyz[row] / offset.length;
  return header;
}

class SeriesSource final : public ImageSource {
public:
  SeriesSource(const std::string& folder, std::vector<std::string> slices)
      : ImageSource(headerOfSeries(folder, slices)), slices_(std::move(slices))
  {
  }

  using ImageSource::read;

  void read(std::byte* buffer, int, std::vector<std::string>& notes) override
  {
    const auto lock = lockItkFiles();
    const std::size_t sliceBytes = byteCount() / slices_.size();
    double largestMm = 0;
    for (std::size_t i = 0; i < slices_.size(); ++i)
      largestMm =
          std::max(largestMm, readSlice(i, reinterpret_cast<char*>(buffer) + i * sliceBytes, sliceBytes));
    constexpr double tolerated = 0.01; // share of the spacing: positions are decimal texts
    if (slices_.size() > 1 && largestMm > tolerated * header().spacingMm[2])
      notes.push_back(header().path + ": the slices are not evenly spaced: one lies " + shortText(largestMm)
                      + " mm from its place on the grid of " + shortText(header().spacingMm[2]) + " mm");
  }

private:
  /// The distance of a slice from its place on the grid, in mm.
  double readSlice(std::size_t index, char* buffer, std::size_t sliceBytes)
  {
    checkPictureFile(slices_[index]);
    const itk::GDCMImageIO::Pointer io = openSlice(slices_[index]);
    const ImageHeader slice = headerFromItk(*io, slices_[index]);
    if (slice.componentType != header().componentType
        || static_cast<std::size_t>(io->GetImageSizeInBytes()) != sliceBytes)
      failToRead(slices_[index],
                 "the slice differs in size or pixel type from the first one, " + slices_.front(),
                 "slices of one size and type");
    try {
      askForAllVoxels(*io);
      io->Read(buffer);
    } catch (const std::exception& exception) {
      failToRead(slices_[index], "the voxels cannot be read: " + itkMessage(exception), wholeFile);
    }
    if (slices_.size() == 1)
      return 0;
    ImageHeader expected = header();
    for (int d = 0; d < 3; ++d)
      expected.originMm[d] += static_cast<double>(index) * header().spacingMm[2] * header().direction[d][2];
    return between(expected, slice).length;
  }

  std::vector<std::string> slices_;
};

}

std::unique_ptr<ImageSource> openDicomFolder(const std::string& path)
{
  return std::make_unique<SeriesSource>(path, slicesOf(path));
}

}
