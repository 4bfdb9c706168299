#include "Core/Compute/LowerCase.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Decode/DicomSeries.h"
#include "Tools/Decode/PictureFileCheck.h"

#include <gdcmImageApplyLookupTable.h>
#include <gdcmImageChangePhotometricInterpretation.h>
#include <gdcmImageChangePlanarConfiguration.h>
#include <gdcmImageHelper.h>
#include <gdcmImageReader.h>
#include <gdcmRescaler.h>

#include <algorithm>
#include <cstring>
#include <span>

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

/// Throws unless compressed frames are as many and as large as the header says, which GDCM takes on trust. A
/// frame may be in several fragments, of which the first one begins as a picture.
void checkFrames(const std::string& path, const gdcm::Image& image, const std::vector<unsigned int>& size)
{
  const gdcm::SequenceOfFragments* const fragments = image.GetDataElement().GetSequenceOfFragments();
  if (!fragments)
    return;
  const bool areRuns = image.GetTransferSyntax() == gdcm::TransferSyntax::RLELossless;
  std::size_t frames = 0;
  for (std::size_t i = 0; i < fragments->GetNumberOfFragments(); ++i) {
    const gdcm::ByteValue* const bytes = fragments->GetFragment(i).GetByteValue();
    const PictureSize found = bytes ? pictureSize({bytes->GetPointer(), bytes->GetLength()}) : PictureSize{};
    frames += areRuns || found.isPicture ? 1 : 0;
    if (found.isPicture && (found.columns != size[0] || (found.rows != size[1] && found.rows != 0)))
      failToRead(path,
                 "a compressed frame of " + std::to_string(found.columns) + " x " + std::to_string(found.rows)
                     + " pixels beside Columns " + std::to_string(size[0]) + " and Rows "
                     + std::to_string(size[1]),
                 "frames of one size");
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
    checkFrames(path, image, size);
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

}

PixelType valueType(const DicomSlice& slice, const gdcm::PixelFormat& stored)
{
  const bool isStored = slice.slope == 1 && slice.intercept == 0;
  return pixelTypeOf(slice.file, isStored ? stored.GetScalarType()
                                          : rescalerOf(slice, stored).ComputeInterceptSlopePixelType());
}

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

}
