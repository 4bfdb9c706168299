#include "Core/Compute/LowerCase.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/ShearedGrid.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Decode/DicomSeries.h"
#include "Tools/Decode/ItkImage.h"
#include "Tools/Decode/PictureFileCheck.h"

#include <gdcmImageApplyLookupTable.h>
#include <gdcmImageChangePhotometricInterpretation.h>
#include <gdcmImageChangePlanarConfiguration.h>
#include <gdcmImageHelper.h>
#include <gdcmImageReader.h>
#include <gdcmRescaler.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

namespace tessera {
namespace {

PixelType pixelTypeOf(const std::string& path, const gdcm::PixelFormat& format)
{
  return format == gdcm::PixelFormat::SINGLEBIT
             ? PixelType::uint8
             : parsePixelType(lowerCase(format.GetScalarTypeAsString()), path);
}

/// The map from numbers that are stored in this format to values.
gdcm::Rescaler rescalerOf(const DicomSlice& slice, const gdcm::PixelFormat& stored)
{
  gdcm::Rescaler rescaler;
  rescaler.SetSlope(slice.slope);
  rescaler.SetIntercept(slice.intercept);
  rescaler.SetPixelFormat(stored);
  return rescaler;
}

/// Whether the colours that GDCM gives are YCbCr: it converts none, but OpenJPEG converts those of JPEG 2000.
/// Compressed pixels say this themselves, and count more than the header, which is often wrong.
bool givesYbr(const std::string& path, const gdcm::Image& image)
{
  using Meaning = gdcm::PhotometricInterpretation;
  const Meaning::PIType named = image.GetPhotometricInterpretation();
  const bool isYbr = named == Meaning::YBR_FULL || named == Meaning::YBR_FULL_422,
             isTransformed = named == Meaning::YBR_ICT || named == Meaning::YBR_RCT;
  if (!isYbr && !isTransformed && named != Meaning::RGB)
    return false;
  const gdcm::SequenceOfFragments* const fragments = image.GetDataElement().GetSequenceOfFragments();
  const gdcm::ByteValue* const first =
      fragments && fragments->GetNumberOfFragments() > 0 ? fragments->GetFragment(0).GetByteValue() : nullptr;
  const std::string compressed = first ? std::string(first->GetPointer(), first->GetLength()) : "";
  constexpr std::size_t most = 4096; // bytes of boxes before the markers SOC and SIZ of JPEG 2000
  if (const std::size_t jpeg2000 = compressed.find("\xff\x4f\xff\x51"); jpeg2000 < most) {
    const std::size_t style = compressed.find("\xff\x52", jpeg2000 + 47); // COD, behind SIZ
    const bool isConverted = style < compressed.size() - 8 && compressed[style + 8] != 0;
    if (named == Meaning::RGB || isConverted == isTransformed)
      return isYbr;
  } else if (const std::optional<bool> said = jpegIsYbr(compressed)) {
    return *said;
  } else if (!isTransformed) {
    return isYbr;
  }
  failToRead(path,
             "its pixels contradict its Photometric Interpretation, "
                 + std::string(trimmed(Meaning::GetPIString(named))),
             "YBR_ICT or YBR_RCT for JPEG 2000 with a transform of colours, and for this alone");
}

/// Throws unless compressed frames are as many, as large and of the sign that the header says, and for wide
/// colours in run lengths, which GDCM mixes up. A frame may be in several fragments.
void checkFrames(const std::string& path, const gdcm::Image& image, const gdcm::PixelFormat& stored,
                 const std::vector<unsigned int>& size)
{
  const gdcm::SequenceOfFragments* const fragments = image.GetDataElement().GetSequenceOfFragments();
  if (!fragments)
    return;
  const bool areRuns = image.GetTransferSyntax() == gdcm::TransferSyntax::RLELossless;
  if (areRuns && stored.GetSamplesPerPixel() > 1 && stored.GetBitsAllocated() > 8)
    failToRead(path, "colours of more than 8 bits in run lengths (RLE) are not read",
               "8 bits, or pixels that are not compressed");
  std::size_t frames = 0;
  for (std::size_t i = 0; i < fragments->GetNumberOfFragments(); ++i) {
    const gdcm::ByteValue* const bytes = fragments->GetFragment(i).GetByteValue();
    const auto found = pictureSize(bytes ? std::string_view(bytes->GetPointer(), bytes->GetLength()) : "");
    frames += areRuns || found ? 1 : 0;
    const auto [columns, rows, sign] =
        found.value_or(std::array<std::size_t, 3>{size[0], size[1], signIsNotTold});
    if (columns != size[0] || (rows != size[1] && rows != 0))
      failToRead(path,
                 "a compressed frame of " + std::to_string(columns) + " x " + std::to_string(rows)
                     + " pixels beside Columns " + std::to_string(size[0]) + " and Rows "
                     + std::to_string(size[1]),
                 "frames of one size");
    if (sign != signIsNotTold && sign != stored.GetPixelRepresentation())
      failToRead(path,
                 std::string("a compressed frame of ") + (sign == 0 ? "un" : "")
                     + "signed numbers beside Pixel Representation "
                     + std::to_string(stored.GetPixelRepresentation()),
                 "one of both, as decompress() of pydicom writes it");
  }
  if (frames != size[2])
    failToRead(path,
               "it has " + std::to_string(frames) + " compressed frames, and Number of Frames says "
                   + std::to_string(size[2]),
               wholeFile);
}

/// The numbers of all frames, colours as red, green, blue.
std::vector<char> storedBytes(const std::string& path, gdcm::PixelFormat& format)
{
  gdcm::ImageReader reader;
  reader.SetFileName(path.c_str());
  bool isRead = reader.Read();
  gdcm::Image& image = reader.GetImage();
  const gdcm::PhotometricInterpretation meaning = image.GetPhotometricInterpretation();
  const bool isYbr = isRead && givesYbr(path, image);
  const auto size = gdcm::ImageHelper::GetDimensionsValue(reader.GetFile());
  if (isRead)
    checkFrames(path, image, gdcm::ImageHelper::GetPixelFormatValue(reader.GetFile()), size);
  const gdcm::ByteValue* const plain =
      image.GetTransferSyntax().IsEncapsulated() ? nullptr : image.GetDataElement().GetByteValue();
  format = gdcm::ImageHelper::GetPixelFormatValue(reader.GetFile());
  const std::size_t pixels = bytesTimes(std::size_t(size[0]) * size[1], size[2]);
  const bool is422 = meaning == gdcm::PhotometricInterpretation::YBR_FULL_422;
  const std::size_t samples = is422 ? 2 : format.GetSamplesPerPixel(),
                    needed = (bytesTimes(pixels, samples * format.GetBitsAllocated()) + 7) / 8;
  if (plain && plain->GetLength() < needed)
    failToRead(path,
               "its Pixel Data has " + std::to_string(plain->GetLength()) + " bytes of the "
                   + std::to_string(needed) + " that " + std::to_string(size[2]) + " frame(s) of "
                   + std::to_string(size[0]) + " x " + std::to_string(size[1]) + " pixels need",
               wholeFile);
  if (plain && is422 && plain->GetLength() >= bytesTimes(pixels, 3)) // three bytes a pixel, not two
    image.SetPhotometricInterpretation(gdcm::PhotometricInterpretation::YBR_FULL);
  const auto change = [&](auto&& filter, auto how) {
    filter.SetInput(image);
    isRead = (filter.*how)();
    image = filter.GetOutput();
  };
  if (isRead && image.GetPlanarConfiguration() == 1) // the filter's default is 0
    change(gdcm::ImageChangePlanarConfiguration(), &gdcm::ImageChangePlanarConfiguration::Change);
  if (isRead && meaning == gdcm::PhotometricInterpretation::PALETTE_COLOR)
    change(gdcm::ImageApplyLookupTable(), &gdcm::ImageApplyLookupTable::Apply);
  format = image.GetPixelFormat();
  std::vector<char> bytes;
  if (isRead && format == gdcm::PixelFormat::SINGLEBIT) { // frames do not begin at bytes (PS3.5, 8.1.1)
    isRead = plain != nullptr;
    bytes.resize(plain ? pixels : 0);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<char>(plain->GetPointer()[i / 8] >> i % 8 & 1);
    format = gdcm::PixelFormat::UINT8;
  } else if (isRead) {
    bytes.resize(image.GetBufferLength());
    isRead = image.GetBuffer(bytes.data());
  }
  if (!isRead)
    failToRead(path, "the voxels cannot be read", wholeFile);
  if (isYbr && format != gdcm::PixelFormat::UINT8)
    failToRead(path, "its colours are YCbCr of more than 8 bits, which are not read",
               "red, green and blue, or 8 bits");
  for (std::size_t i = 0; isYbr && i + 3 <= bytes.size(); i += 3) {
    auto* const colour = reinterpret_cast<unsigned char*>(&bytes[i]);
    const std::array ybr{colour[0], colour[1], colour[2]};
    gdcm::ImageChangePhotometricInterpretation::YBR2RGB(colour, ybr.data());
  }
  return bytes;
}

/// A slice, and the place of its values in memory.
using SliceTarget = std::pair<const DicomSlice*, std::byte*>;

/// Reads slices of one file, each of `count` values of this type. Throws Error(unreadableInput) if a slice
/// has another number of values, or values that the type does not hold.
void readSlices(const std::string& file, const std::vector<SliceTarget>& slices, PixelType type,
                std::size_t count)
{
  gdcm::PixelFormat format;
  const std::vector<char> bytes = storedBytes(file, format);
  const std::size_t sliceBytes = count * pixelTypeSize(pixelTypeOf(file, format));
  for (const auto& [slice, values] : slices) {
    const PixelType ownType = valueType(*slice, format);
    if (bytes.size() % sliceBytes != 0 || bytes.size() / sliceBytes <= slice->frame
        || (ownType != type && type != PixelType::float64))
      failToRead(slice->name, "the slice differs in size or pixel type from the first one",
                 "slices of one size and type");
    std::vector<char> own(count * pixelTypeSize(ownType));
    rescalerOf(*slice, format).Rescale(own.data(), bytes.data() + slice->frame * sliceBytes, sliceBytes);
    if (ownType == type)
      std::memcpy(values, own.data(), own.size());
    else
      withPixelType(ownType, [&, values = values]<class T>(std::type_identity<T>) {
        std::copy_n(reinterpret_cast<const T*>(own.data()), count, reinterpret_cast<double*>(values));
      });
  }
}

Vec<3> normalized(Vec<3> v)
{
  const double scale = 1 / lengthOf<3>(v);
  for (double& value : v)
    value *= scale;
  return v;
}

/// The header of the stack, whose last axis runs from the first slice to the last one. `header` is that of
/// the first slice's file by ITK, which does not know the elements of every class of images.
ImageHeader headerOfSeries(ImageHeader header, const DicomSeries& series)
{
  const DicomSlice &first = series.slices.front(), &last = series.slices.back();
  const bool areOfOneType =
      std::ranges::all_of(series.slices, [&](const auto& slice) { return slice.type == first.type; });
  header.componentType = header.typeInFile = areOfOneType ? first.type : PixelType::float64;
  const bool isOneFile = std::exchange(header.size[2], series.places.back() + 1) == series.slices.size();
  const bool isDefault = header.spacingMm[0] == 1 && header.spacingMm[1] == 1; // ITK's where it finds none
  if (first.pixelSpacingMm[0] <= 0)
    header.notes.push_back(
        header.path + ": it has no Pixel Spacing; "
        + (isDefault ? "pixels of 1 mm are assumed"
                     : "the size of its pixels, " + shortText(header.spacingMm[0])
                           + " mm, is that of another element, in X-rays the size on the detector"));
  else if (isDefault)
    std::ranges::reverse_copy(first.pixelSpacingMm, header.spacingMm.begin());
  if (first.isPlacedBySpacing)
    header.notes.push_back(
        header.path + ": its frames do not say where they lie; they are placed by Spacing Between Slices");
  if (first.hasOtherScale)
    header.notes.push_back(header.path + ": its Real World Value Mapping is not applied; values are "
                           + shortText(first.slope) + " * stored number + " + shortText(first.intercept));
  if (first.isPlaced) {
    const Vec<3> normal = normalized(crossProduct(&first.axes[0], &first.axes[3])),
                 row = normalized(crossProduct(&first.axes[3], normal.data())),
                 column = crossProduct(normal.data(), row.data());
    constexpr double rounded = 5e-3; // cosines are decimal texts, some of few digits
    const Vec<3> rowInFile{first.axes[0], first.axes[1], first.axes[2]},
        columnInFile{first.axes[3], first.axes[4], first.axes[5]};
    if (distanceBetween<3>(row, rowInFile) > rounded || distanceBetween<3>(column, columnInFile) > rounded)
      header.notes.push_back(header.path
                             + ": its Image Orientation is no pair of perpendicular directions of length 1; "
                               "the nearest such pair is taken");
    for (int d = 0; d < 3; ++d) { // perpendicular, as ITK makes them
      header.originMm[d] = first.positionMm[d];
      header.direction[d] = {row[d], column[d], normal[d]};
    }
  }
  if (series.slices.size() == 1) {
    if (first.thicknessMm > 0)
      header.spacingMm[2] = first.thicknessMm;
    return header;
  }
  const auto steps = static_cast<double>(series.places.back());
  Vec<3> offsetMm, offsetOfItkMm;
  for (int d = 0; d < 3; ++d) {
    offsetMm[d] = last.positionMm[d] - first.positionMm[d];
    offsetOfItkMm[d] = header.direction[d][2] * header.spacingMm[2] * steps;
  }
  if (isOneFile && distanceBetween<3>(offsetMm, offsetOfItkMm) < 1e-6) // so its numbers keep their bits
    return header;
  header.spacingMm[2] = lengthOf<3>(offsetMm) / steps;
  for (int row = 0; row < 3; ++row)
    header.direction[row][2] = offsetMm[row] / lengthOf<3>(offsetMm);
  return header;
}

/// Adds what a user must know of a stack on the grid of `header`.
void addNotes(ImageHeader& header, const DicomSeries& series)
{
  const auto& [slices, places, notes] = series;
  header.notes.insert(header.notes.end(), notes.begin(), notes.end());
  if (isSheared(geometryOf<3>(header)))
    header.notes.push_back(header.path
                           + ": the slices are shifted against each other (gantry tilt), so the axes of the "
                             "image are not perpendicular");
  if (const std::size_t gridSlices = places.back() + 1; gridSlices > slices.size())
    header.notes.push_back(
        header.path + ": " + std::to_string(gridSlices - slices.size()) + " of " + std::to_string(gridSlices)
        + (slices.front().isSegment ? " frames of the segment are left out; they are empty (0)"
                                    : " slices are missing; they are interpolated between their neighbours "
                                      "(--allow-missing-slices)"));
  if (std::ranges::any_of(slices, [&](const DicomSlice& slice) {
        return slice.frameOfReference != slices.front().frameOfReference;
      }))
    header.notes.push_back(header.path
                           + ": its slices name several frames of reference (Frame of Reference UID), so "
                             "their places may belong to several positions of the patient; they are taken as "
                             "one volume, as by dcm2niix and 3D Slicer");
  double largestMm = 0; // distance of a slice from its place on the grid
  for (std::size_t i = 0; slices.size() > 1 && i < slices.size(); ++i) {
    Vec<3> placeMm;
    for (int d = 0; d < 3; ++d)
      placeMm[d] =
          header.originMm[d] + static_cast<double>(places[i]) * header.spacingMm[2] * header.direction[d][2];
    largestMm = std::max(largestMm, distanceBetween<3>(placeMm, slices[i].positionMm));
  }
  constexpr double tolerated = 0.01; // share of the spacing: positions are decimal texts
  if (largestMm > tolerated * header.spacingMm[2])
    header.notes.push_back(header.path + ": the slices are not evenly spaced: one lies "
                           + shortText(largestMm) + " mm from its place on the grid of "
                           + shortText(header.spacingMm[2]) + " mm");
}

class OpenSeries {
public:
  OpenSeries(const ImageHeader& header, DicomSeries series)
      : header_(headerOfSeries(header, series)), series_(std::move(series))
  {
    addNotes(header_, series_);
  }

  const ImageHeader& header() const { return header_; }

  void read(std::byte* buffer) const
  {
    const auto& [slices, places, notes] = series_;
    const std::size_t sliceBytes = byteCountOf(header_) / (places.back() + 1);
    std::map<std::string, std::vector<SliceTarget>> byFile;
    for (std::size_t i = 0; i < slices.size(); ++i)
      byFile[slices[i].file].emplace_back(&slices[i], buffer + places[i] * sliceBytes);
    for (const auto& [file, targets] : byFile) {
      checkPictureFile(file);
      readSlices(file, targets, header().componentType, sliceBytes / pixelTypeSize(header().componentType));
    }
    for (std::size_t i = 1; i < slices.size(); ++i)
      if (slices[i].isSegment)
        std::fill(buffer + (places[i - 1] + 1) * sliceBytes, buffer + places[i] * sliceBytes, std::byte{0});
      else
        fillGap(buffer, places[i - 1], places[i], sliceBytes);
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

  ImageHeader header_;
  DicomSeries series_;
};

}

PixelType valueType(const DicomSlice& slice, const gdcm::PixelFormat& stored)
{
  const bool isStored = slice.slope == 1 && slice.intercept == 0;
  return pixelTypeOf(slice.file, isStored ? stored.GetScalarType()
                                          : rescalerOf(slice, stored).ComputeInterceptSlopePixelType());
}

DecodedImage openDicom(const ImageHeader& header, DicomSeries slices)
{
  const auto series = std::make_shared<const OpenSeries>(header, std::move(slices));
  return {series->header(), [series](std::byte* buffer) { series->read(buffer); }};
}

}
