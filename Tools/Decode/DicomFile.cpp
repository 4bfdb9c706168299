#include "Tools/Decode/DicomSeries.h"

#include "Core/Compute/LowerCase.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Decode/PictureFileCheck.h"

#include <gdcmAttribute.h>
#include <gdcmImageApplyLookupTable.h>
#include <gdcmImageChangePhotometricInterpretation.h>
#include <gdcmImageChangePlanarConfiguration.h>
#include <gdcmImageHelper.h>
#include <gdcmImageReader.h>
#include <gdcmRescaler.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

namespace tessera {
namespace {

using gdcm::Tag;
using Items = gdcm::SmartPointer<gdcm::SequenceOfItems>;

const Tag planePosition(0x0020, 0x9113), position(0x0020, 0x0032), pixelMeasures(0x0028, 0x9110),
    spacingBetweenSlices(0x0018, 0x0088), frameOffsets(0x3004, 0x000c);

/// The text of an element; empty if there is none.
std::string textOf(const gdcm::DataSet& elements, const Tag& tag)
{
  const gdcm::ByteValue* const value = elements.GetDataElement(tag).GetByteValue();
  return value
             ? std::string(trimmed(std::string(value->GetPointer(), std::size_t(value->GetLength())).c_str()))
             : "";
}

Items itemsOf(const gdcm::DataSet& elements, const Tag& sequence)
{
  Items items = elements.GetDataElement(sequence).GetValueAsSQ();
  return items && items->GetNumberOfItems() > 0 ? items : Items();
}

/// The header of a file, in which an element may differ from frame to frame.
class Header {
public:
  explicit Header(const std::string& path)
  {
    reader_.SetFileName(path.c_str());
    if (!reader_.ReadUpToTag(Tag(0x7fe0, 0x0008)))
      failToRead(path, "the DICOM header cannot be read", "DICOM image files");
    for (const Tag& tag : {Tag(0x5200, 0x9229), Tag(0x0054, 0x0022), Tag(0x0018, 0x9530)})
      shared_.push_back(itemsOf(elements(), tag));
    perFrame_ = itemsOf(elements(), Tag(0x5200, 0x9230));
  }

  const gdcm::File& file() const { return reader_.GetFile(); }
  const gdcm::DataSet& elements() const { return file().GetDataSet(); }
  std::size_t groupCount() const { return perFrame_ ? perFrame_->GetNumberOfItems() : 0; }

  /// The text in the functional group of a frame alone.
  std::string ownText(std::size_t frame, const Tag& group, const Tag& tag) const
  {
    return frame < groupCount() ? textIn(perFrame_->GetItem(frame + 1).GetNestedDataSet(), group, tag) : "";
  }

  /// The text in the functional group of a frame, or else in what holds for all frames.
  std::string text(std::size_t frame, const Tag& group, const Tag& tag) const
  {
    std::string found = ownText(frame, group, tag);
    for (const Items& items : shared_)
      if (found.empty() && items)
        found = textIn(items->GetItem(1).GetNestedDataSet(), group, tag);
    return found.empty() ? textOf(elements(), tag) : found;
  }

  /// The items of a sequence of a frame, of all frames, or of the file.
  Items items(std::size_t frame, const Tag& sequence) const
  {
    Items found = frame < groupCount() ? itemsOf(perFrame_->GetItem(frame + 1).GetNestedDataSet(), sequence)
                                       : itemsOf(elements(), sequence);
    if (!found && shared_.front())
      found = itemsOf(shared_.front()->GetItem(1).GetNestedDataSet(), sequence);
    return found;
  }

private:
  /// The text in the group, or without one.
  static std::string textIn(const gdcm::DataSet& elements, const Tag& group, const Tag& tag)
  {
    const Items items = itemsOf(elements, group);
    return textOf(items ? items->GetItem(1).GetNestedDataSet() : elements, tag);
  }

  gdcm::Reader reader_;
  Items perFrame_;
  std::vector<Items> shared_; // functional groups, detectors of nuclear medicine, reconstructions of X-rays
};

/// Numbers that are separated by backslashes; none if a text is no number.
std::vector<double> numbersIn(std::string text)
{
  std::ranges::replace(text, '\\', ' ');
  std::vector<double> numbers;
  for (const std::string& word : wordsOf(text)) {
    if (!parseReal(word))
      return {};
    numbers.push_back(*parseReal(word));
  }
  return numbers;
}

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

PixelType valueType(const DicomSlice& slice, const gdcm::PixelFormat& stored)
{
  const bool isStored = slice.slope == 1 && slice.intercept == 0;
  return pixelTypeOf(slice.file, isStored ? stored.GetScalarType()
                                          : rescalerOf(slice, stored).ComputeInterceptSlopePixelType());
}

/// Reads what stored numbers mean: by rescaling, as a dose (C.8.8.3), or as shares of a segment (C.8.20.2).
void readRescaling(const Header& header, DicomSlice& slice)
{
  if (itemsOf(header.elements(), Tag(0x0028, 0x3000)))
    failToRead(slice.file,
               "a table says what its stored numbers mean (Modality LUT Sequence), which is not applied",
               "files with Rescale Slope and Intercept");
  const auto read = [&](const std::string& name, const std::string& text, double& number) {
    const std::optional<double> found = parseReal(text);
    const bool isSlope = &number == &slice.slope;
    if (!text.empty() && (!found || (isSlope && *found == 0)))
      failToRead(slice.name, "its " + name + " is \"" + text + "\"",
                 isSlope ? "a number that is not 0" : "a number");
    number = found.value_or(number);
  };
  const Tag group(0x0028, 0x9145);
  read("rescale intercept", header.text(slice.frame, group, Tag(0x0028, 0x1052)), slice.intercept);
  read("rescale slope", header.text(slice.frame, group, Tag(0x0028, 0x1053)), slice.slope);
  const std::string doseGridScaling = textOf(header.elements(), Tag(0x3004, 0x000e));
  read("dose grid scaling", doseGridScaling, slice.slope);
  if (!doseGridScaling.empty()) // a dose has no other numbers
    slice.intercept = 0;
  gdcm::Attribute<0x0040, 0x9224> intercept{slice.intercept};
  gdcm::Attribute<0x0040, 0x9225> slope{slice.slope};
  if (const Items mapping = header.items(slice.frame, Tag(0x0040, 0x9096))) {
    intercept.SetFromDataSet(mapping->GetItem(1).GetNestedDataSet());
    slope.SetFromDataSet(mapping->GetItem(1).GetNestedDataSet());
  }
  slice.hasOtherScale = slope.GetValue() != slice.slope || intercept.GetValue() != slice.intercept;
  gdcm::Attribute<0x0062, 0x000e> maximum{0};
  maximum.SetFromDataSet(header.elements());
  if (textOf(header.elements(), Tag(0x0062, 0x0001)) == "FRACTIONAL" && maximum.GetValue() > 0)
    slice.slope = 1.0 / maximum.GetValue();
}

/// Whether the picture holds many slices, by its Image Type or private elements of Siemens.
bool isMosaic(const gdcm::DataSet& elements)
{
  if (textOf(elements, Tag(0x0008, 0x0008)).find("MOSAIC") != std::string::npos)
    return true;
  const auto bytesOf = [&](std::uint16_t group, std::uint8_t number, const char* owner) {
    const gdcm::ByteValue* const value =
        elements.GetDataElement(gdcm::PrivateTag(group, number, owner)).GetByteValue();
    return value ? std::string(value->GetPointer(), value->GetLength()) : "";
  };
  if (const std::string count = bytesOf(0x0019, 0x0a, "SIEMENS MR HEADER"); count.size() == 2)
    return count[0] > 1 || count[1] != 0;
  constexpr std::size_t toValue = 64 + 20 + 16; // the name of an entry, its kind, and the head of an item
  const std::string entries = bytesOf(0x0029, 0x10, "SIEMENS CSA HEADER");
  const std::size_t name = entries.find("NumberOfImagesInMosaic");
  return name < entries.size() && entries.size() - name > toValue
         && parseReal(trimmed(entries.substr(name + toValue, 12).c_str())).value_or(0) > 1;
}

/// Places frames that have no place of their own along the normal of the first one.
void placeFrames(const Header& header, std::vector<DicomSlice>& slices)
{
  const std::string& path = slices.front().file;
  Vec<3> firstMm = slices.front().positionMm,
         normal = crossProduct(&slices.front().axes[0], &slices.front().axes[3]);
  std::vector<double> offsetsMm = numbersIn(textOf(header.elements(), frameOffsets));
  if (!offsetsMm.empty() && offsetsMm.front() != 0) { // they are coordinates along z
    if (std::abs(offsetsMm.front() - firstMm[2]) > 1e-3)
      failToRead(path, "its Grid Frame Offset Vector begins with " + shortText(offsetsMm.front()),
                 "0, or the z of Image Position");
    firstMm[2] = 0;
    normal = {0, 0, 1};
  }
  gdcm::Attribute<0x0028, 0x0009> pointer; // to what tells frames apart (C.7.6.6.1.1)
  pointer.SetFromDataSet(header.elements());
  for (unsigned int i = 0; i < pointer.GetNumberOfValues(); ++i)
    if (pointer.GetValue(i) == Tag(0x0018, 0x1063) || pointer.GetValue(i) == Tag(0x0018, 0x1065))
      failToRead(path, "its frames are pictures at several times (Frame Time)",
                 "frames that are slices of one volume");
  static constexpr std::pair<std::uint16_t, const char*> vectors[] = {
      // a number for each frame (C.8.4.8)
      {0x10, "Energy Window"}, {0x20, "Detector"},  {0x30, "Phase"},        {0x50, "Rotation"},
      {0x60, "R-R Interval"},  {0x70, "Time Slot"}, {0x90, "Angular View"}, {0x100, "Time Slice"}};
  for (const auto& [vector, name] : vectors)
    if (const auto* const numbers = header.elements().GetDataElement(Tag(0x0054, vector)).GetByteValue())
      if (const std::string bytes(numbers->GetPointer(), numbers->GetLength());
          bytes.size() > 2 && bytes.substr(2) != bytes.substr(0, bytes.size() - 2))
        failToRead(path, std::string("its frames are of several kinds (") + name + " Vector)",
                   "frames that are slices of one volume");
  const std::optional<double> spacingMm = parseReal(header.text(0, pixelMeasures, spacingBetweenSlices));
  gdcm::Attribute<0x0054, 0x0080> order; // Slice Vector: the number of each frame's slice, from 1 on
  order.SetFromDataSet(header.elements());
  const bool areEven = offsetsMm.empty();
  for (std::size_t frame = offsetsMm.size(); spacingMm && frame < slices.size(); ++frame)
    offsetsMm.push_back(*spacingMm
                        * (frame < order.GetNumberOfValues() ? order.GetValue(frame) - 1.0 : double(frame)));
  if (offsetsMm.size() != slices.size())
    failToRead(path,
               "its " + std::to_string(slices.size())
                   + " frames do not say where they lie (Image Position, Grid Frame Offset Vector or Spacing "
                     "Between Slices)",
               "frames that are slices of one volume");
  for (DicomSlice& slice : slices) {
    slice.isPlaced = true;
    slice.isPlacedBySpacing = areEven;
    for (int d = 0; d < 3; ++d)
      slice.positionMm[d] = firstMm[d] + offsetsMm[slice.frame] * normal[d];
  }
}

/// Throws for colours that are not read, and for another number of samples than they have.
void checkColours(const std::string& path, const Header& header)
{
  const std::string name = textOf(header.elements(), Tag(0x0028, 0x0004));
  gdcm::Attribute<0x0028, 0x0002> samples{1};
  samples.SetFromDataSet(header.elements());
  const auto isOneOf = [&name](auto... names) { return ((name == names) || ...); };
  const bool isGrey = isOneOf("MONOCHROME1", "MONOCHROME2", "PALETTE COLOR"),
             isCompressed = header.file().GetHeader().GetDataSetTransferSyntax().IsEncapsulated(),
             isColour = isOneOf("RGB", "YBR_FULL", "YBR_FULL_422")
                        || (isCompressed && isOneOf("YBR_ICT", "YBR_RCT"));
  if (!name.empty() && samples.GetValue() != (isGrey ? 1 : isColour ? 3 : 0))
    failToRead(path,
               std::to_string(samples.GetValue()) + " sample(s) a pixel of Photometric Interpretation " + name
                   + " are not read",
               "one of MONOCHROME1, MONOCHROME2 or PALETTE COLOR, three of RGB, YBR_FULL or YBR_FULL_422, or "
               "of YBR_ICT or YBR_RCT in JPEG 2000");
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

std::vector<DicomSlice> slicesOfFile(const std::string& path)
{
  const Header header(path);
  const gdcm::PixelFormat stored = gdcm::ImageHelper::GetPixelFormatValue(header.file());
  const std::size_t frames = gdcm::ImageHelper::GetDimensionsValue(header.file())[2];
  gdcm::Attribute<0x0028, 0x0102> highBit{0};
  highBit.SetFromDataSet(header.elements());
  const bool isSwapped =
      stored.GetBitsAllocated() == 32 // GDCM swaps halves of 16 bits
      && header.file().GetHeader().GetDataSetTransferSyntax() == gdcm::TransferSyntax::ExplicitVRBigEndian;
  if (isSwapped || highBit.GetValue() >= stored.GetBitsStored())
    failToRead(path,
               "its numbers of " + std::to_string(stored.GetBitsStored())
                   + " bits, of which the highest is bit " + std::to_string(highBit.GetValue())
                   + ", are not read" + (isSwapped ? " in big-endian order" : ""),
               "stored bits that are the lowest ones, at most 16 of them in big-endian order");
  if ((header.groupCount() > 0 && header.groupCount() != frames) || !holdsBytes(path, frames))
    failToRead(path,
               "it has " + std::to_string(frames) + " frames, and functional groups for "
                   + std::to_string(header.groupCount()),
               wholeFile);
  checkColours(path, header);
  if (isMosaic(header.elements()))
    failToRead(path, "its slices are tiles of one picture (MOSAIC of Siemens)",
               "a volume, such as dcm2niix makes of it");
  if (frames > 1 && header.elements().FindDataElement(Tag(0x0048, 0x0006))) // Total Pixel Matrix Columns
    failToRead(path, "its frames are tiles of one picture (a slide of microscopy)",
               "one picture, such as a level or a part of the slide in TIFF");
  std::vector<DicomSlice> slices(frames);
  for (std::size_t frame = 0; frame < frames; ++frame) {
    DicomSlice& slice = slices[frame];
    slice.file = path;
    slice.frame = frame;
    slice.name = path + (frames > 1 ? ", frame " + std::to_string(frame + 1) : "");
    const auto read = [&](const Tag& group, const Tag& tag, std::span<double> numbers) {
      const std::vector<double> found = numbersIn(header.text(frame, group, tag));
      const bool isWhole = found.size() == numbers.size();
      std::copy_n(found.begin(), isWhole ? found.size() : 0, numbers.begin());
      return isWhole;
    };
    const bool hasPosition = read(planePosition, position, slice.positionMm);
    slice.isPlaced = read(Tag(0x0020, 0x9116), Tag(0x0020, 0x0037), slice.axes) && hasPosition;
    const Tag pixelSpacing(0x0028, 0x0030);
    if (const std::string spacing = header.text(frame, pixelMeasures, pixelSpacing);
        !read(pixelMeasures, pixelSpacing, slice.pixelSpacingMm) && !spacing.empty())
      failToRead(slice.name, "its Pixel Spacing is \"" + spacing + "\"",
                 "two numbers, with \".\" before decimals");
    if (header.text(frame, pixelMeasures, spacingBetweenSlices).empty())
      slice.thicknessMm = parseReal(header.text(frame, pixelMeasures, Tag(0x0018, 0x0050))).value_or(0);
    readRescaling(header, slice);
    slice.frameOfReference = textOf(header.elements(), Tag(0x0020, 0x0052));
    slice.isSegment = textOf(header.elements(), Tag(0x0008, 0x0060)) == "SEG";
    slice.type = valueType(slice, stored);
    const Tag segment(0x0062, 0x000a), number(0x0062, 0x000b);
    if (header.text(frame, segment, number) != header.text(0, segment, number))
      failToRead(path, "its frames belong to several segments", "a file with one segment");
  }
  if (frames > 1 && header.ownText(0, planePosition, position).empty())
    placeFrames(header, slices);
  return slices;
}

void checkForGdcm(const std::string& path)
{
  const Header header(path);
  checkColours(path, header);
  const std::string offsetsMm = textOf(header.elements(), frameOffsets);
  if (!offsetsMm.empty() && numbersIn(offsetsMm).size() < 2)
    failToRead(path, "its Grid Frame Offset Vector is \"" + offsetsMm + "\", which GDCM cannot read",
               "at least two numbers, or a file without this element");
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
