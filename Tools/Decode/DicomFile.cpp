#include "Tools/Decode/DicomSeries.h"

#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Log.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Decode/PictureFileCheck.h"

#include <gdcmDict.h>
#include <gdcmDicts.h>
#include <gdcmGlobal.h>
#include <gdcmImageHelper.h>
#include <gdcmReader.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <tuple>

namespace tessera {
namespace {

using gdcm::Tag;
using Items = gdcm::SmartPointer<gdcm::SequenceOfItems>;

const Tag planePosition(0x0020, 0x9113), position(0x0020, 0x0032), pixelMeasures(0x0028, 0x9110),
    spacingBetweenSlices(0x0018, 0x0088), frameOffsets(0x3004, 0x000c);

/// Each of these tells volumes apart. Its tags are those of a sequence and a value in the functional groups
/// of a frame, and of the value in a file.
const std::tuple<const char*, Tag, Tag, Tag> sliceKinds[] = {
    {"echo times", Tag(0x0018, 0x9114), Tag(0x0018, 0x9082), Tag(0x0018, 0x0081)},
    {"b-values", Tag(0x0018, 0x9117), Tag(0x0018, 0x9087), Tag(0x0018, 0x9087)},
    {"temporal positions", Tag(0x0020, 0x9111), Tag(0x0020, 0x9128), Tag(0x0020, 0x0100)},
    {"trigger times", Tag(0x0018, 0x9118), Tag(0x0020, 0x9153), Tag(0x0018, 0x1060)},
    {"acquisition times", Tag(0x0020, 0x9111), Tag(0x0018, 0x9074), Tag(0x0008, 0x0032)}};

/// The text of several values, as it is in DICOM.
template <class Number>
std::string textOfNumbers(const std::string& bytes)
{
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
  constexpr int everyDigit = 17;
  return joined(numbers, "\\",
                [](Number number) { return significant(static_cast<double>(number), everyDigit); });
}

/// The text of an element, also of numbers that are not text; empty if there is none.
std::string textOf(const gdcm::DataSet& elements, const Tag& tag)
{
  const gdcm::ByteValue* const value = elements.GetDataElement(tag).GetByteValue();
  if (!value)
    return "";
  const std::string bytes(value->GetPointer(), std::size_t(value->GetLength()));
  const gdcm::VR kind = gdcm::Global::GetInstance().GetDicts().GetPublicDict().GetDictEntry(tag).GetVR();
  return kind == gdcm::VR::FD                           ? textOfNumbers<double>(bytes)
         : kind == gdcm::VR::UL                         ? textOfNumbers<std::uint32_t>(bytes)
         : kind == gdcm::VR::US || kind == gdcm::VR::AT ? textOfNumbers<std::uint16_t>(bytes)
                                                        : std::string(trimmed(bytes.c_str()));
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
    if (!elements().FindDataElement(Tag(0x0028, 0x0010))) // Rows
      failToRead(path,
                 "a DICOM object of modality \"" + textOf(elements(), Tag(0x0008, 0x0060))
                     + "\" that holds no image",
                 "DICOM image files");
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
  if (doseGridScaling.empty() && textOf(header.elements(), Tag(0x0008, 0x0060)) == "RTDOSE")
    failToRead(slice.file, "it is a dose without Dose Grid Scaling",
               "a dose that says what its numbers mean");
  read("dose grid scaling", doseGridScaling, slice.slope);
  if (!doseGridScaling.empty()) // a dose has no other numbers
    slice.intercept = 0;
  if (const Items mapping = header.items(slice.frame, Tag(0x0040, 0x9096))) {
    const gdcm::DataSet& mapped = mapping->GetItem(1).GetNestedDataSet();
    const auto differs = [&](const Tag& tag, double value) {
      return parseReal(textOf(mapped, tag)).value_or(value) != value;
    };
    slice.hasOtherScale =
        differs(Tag(0x0040, 0x9225), slice.slope) || differs(Tag(0x0040, 0x9224), slice.intercept);
  }
  const double largest = parseReal(textOf(header.elements(), Tag(0x0062, 0x000e))).value_or(0);
  if (textOf(header.elements(), Tag(0x0062, 0x0001)) == "FRACTIONAL" && largest > 0)
    slice.slope = 1 / largest;
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
  for (const double number : numbersIn(textOf(header.elements(), Tag(0x0028, 0x0009)))) // C.7.6.6.1.1
    if (number == 0x1063 || number == 0x1065)
      failToRead(path, "its frames are pictures at several times (Frame Time)",
                 "frames that are slices of one volume");
  static constexpr std::pair<std::uint16_t, const char*> vectors[] = {
      // a number for each frame (C.8.4.8)
      {0x10, "Energy Window"}, {0x20, "Detector"},  {0x30, "Phase"},        {0x50, "Rotation"},
      {0x60, "R-R Interval"},  {0x70, "Time Slot"}, {0x90, "Angular View"}, {0x100, "Time Slice"}};
  for (const auto& [vector, name] : vectors)
    if (const std::vector<double> numbers = numbersIn(textOf(header.elements(), Tag(0x0054, vector)));
        std::ranges::adjacent_find(numbers, std::not_equal_to()) != numbers.end())
      failToRead(path, std::string("its frames are of several kinds (") + name + " Vector)",
                 "frames that are slices of one volume");
  const std::optional<double> spacingMm = parseReal(header.text(0, pixelMeasures, spacingBetweenSlices));
  std::vector<double> order =
      numbersIn(textOf(header.elements(), Tag(0x0054, 0x0080))); // Slice Vector, from 1
  const bool areEven = offsetsMm.empty();
  for (std::size_t frame = offsetsMm.size(); spacingMm && frame < slices.size(); ++frame)
    offsetsMm.push_back(*spacingMm * (frame < order.size() ? order[frame] - 1 : double(frame)));
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
  const double samples = parseReal(textOf(header.elements(), Tag(0x0028, 0x0002))).value_or(1);
  const auto isOneOf = [&name](auto... names) { return ((name == names) || ...); };
  const bool isGrey = isOneOf("MONOCHROME1", "MONOCHROME2", "PALETTE COLOR"),
             isCompressed = header.file().GetHeader().GetDataSetTransferSyntax().IsEncapsulated(),
             isColour = isOneOf("RGB", "YBR_FULL", "YBR_FULL_422")
                        || (isCompressed && isOneOf("YBR_ICT", "YBR_RCT"));
  if (!name.empty() && samples != (isGrey ? 1 : isColour ? 3 : 0))
    failToRead(path,
               shortText(samples) + " sample(s) a pixel of Photometric Interpretation " + name
                   + " are not read",
               "one of MONOCHROME1, MONOCHROME2 or PALETTE COLOR, three of RGB, YBR_FULL or YBR_FULL_422, or "
               "of YBR_ICT or YBR_RCT in JPEG 2000");
}

}

std::vector<DicomSlice> slicesOfFile(const std::string& path)
{
  const Header header(path);
  const gdcm::PixelFormat stored = gdcm::ImageHelper::GetPixelFormatValue(header.file());
  const std::size_t frames = gdcm::ImageHelper::GetDimensionsValue(header.file())[2];
  const double highBit = parseReal(textOf(header.elements(), Tag(0x0028, 0x0102))).value_or(0);
  const bool isSwapped =
      stored.GetBitsAllocated() == 32 // GDCM swaps halves of 16 bits
      && header.file().GetHeader().GetDataSetTransferSyntax() == gdcm::TransferSyntax::ExplicitVRBigEndian;
  if (isSwapped || highBit >= stored.GetBitsStored())
    failToRead(path,
               "its numbers of " + std::to_string(stored.GetBitsStored())
                   + " bits, of which the highest is bit " + shortText(highBit) + ", are not read"
                   + (isSwapped ? " in big-endian order" : ""),
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
    for (const auto& [kind, group, ofFrame, ofFile] : sliceKinds) {
      const std::string own = header.text(frame, group, ofFrame);
      slice.kinds[kind] = own.empty() ? textOf(header.elements(), ofFile) : own;
    }
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
  const std::size_t frames = gdcm::ImageHelper::GetDimensionsValue(header.file())[2];
  if (!offsetsMm.empty() && (numbersIn(offsetsMm).size() != frames || frames < 2))
    failToRead(path,
               "its Grid Frame Offset Vector is \"" + offsetsMm + "\" for " + std::to_string(frames)
                   + " frame(s), which GDCM cannot read",
               "a number for each of at least two frames, or a file without this element");
}

}
