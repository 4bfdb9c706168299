#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/LowerCase.h"
#include "Core/Image/FileChecks/MetaImageHeader.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/NumberedName.h"
#include "Core/Image/Files/TextWords.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;

bool isLocal(const std::string& dataFile)
{
  return dataFile == "LOCAL" || dataFile == "Local" || dataFile == "local";
}

/// Whether ElementDataFile names several data files.
bool isList(const std::string& dataFile)
{
  return dataFile.starts_with("LIST") || dataFile.find('%') != std::string::npos;
}

fs::path dataFileOf(const std::string& path, const std::string& dataFile)
{
  return isLocal(dataFile) ? fs::path(path) : fs::path(path).parent_path() / dataFile;
}

/// Throws unless the lists of numbers are as long as the number of axes asks, which checkSizes knows to be
/// one, and say one thing.
void checkNumbers(const std::string& path, const MetaHeader& header)
{
  if (!header.beforeAxes.empty())
    failToRead(path, "NDims stands behind " + header.beforeAxes, "NDims before every list of numbers");
  const auto axes = static_cast<std::size_t>(wholeNumber(header.value("NDims")).value_or(0));
  for (const auto& [key, exponent] : numbersOfAxes()) {
    const std::vector<std::string> numbers = wordsOf(header.value(key));
    const std::string line = key + " = " + header.value(key);
    double squared = 0;
    for (const std::string& number : numbers)
      if (const std::optional<double> value = finiteNumber(number))
        squared += *value * *value;
      else
        failToRead(path, line + ": " + number + " is not a finite number", "finite numbers");
    if (const std::size_t needed = exponent == 1 ? axes : axes * axes;
        !numbers.empty() && numbers.size() != needed)
      failToRead(path, line + ": " + std::to_string(numbers.size()) + " numbers",
                 std::to_string(needed) + " for " + std::to_string(axes) + " axes");
    if (constexpr double rounded = 0.01;
        exponent == 2 && squared > 0 && std::abs(squared / static_cast<double>(axes) - 1) > rounded)
      failToRead(path, line + ": its axes are not of length 1",
                 "directions; the lengths are those of ElementSpacing");
  }
  for (const auto& names : {std::array{"Offset", "Position", "Origin"},
                            std::array{"TransformMatrix", "Rotation", "Orientation"}}) {
    std::string first;
    for (const std::string key : names) {
      if (header.value(key).empty())
        continue;
      if (first.empty())
        first = key;
      if (wordsOf(header.value(key)) != wordsOf(header.value(first)))
        failToRead(path, first + " and " + key + " say two things", "one of them");
    }
  }
}

/// Throws unless the header has one whole number for each axis, and one for the components.
void checkSizes(const std::string& path, const MetaHeader& header)
{
  constexpr std::int64_t maxAxes = 10; // for which the library has room
  const std::int64_t axes = wholeNumber(header.value("NDims")).value_or(0);
  std::int64_t given = 0;
  for (const std::string& size : wordsOf(header.value("DimSize")))
    given += wholeNumber(size).value_or(-1) >= 0 ? 1 : maxAxes + 1;
  if (axes < 1 || axes > maxAxes || given != axes)
    failToRead(path,
               "NDims = " + header.value("NDims") + ", DimSize = " + header.value("DimSize")
                   + ": not a size of an image",
               "one whole number above 0 for each axis");
  const std::string channels = header.value("ElementNumberOfChannels");
  if (!channels.empty() && wholeNumber(channels).value_or(0) < 1)
    failToRead(path, "ElementNumberOfChannels = " + channels + ": not a number of components",
               "a whole number above 0");
}

/// Throws if a value that says where and how the voxels are stored can be understood in more than one way.
void checkStorage(const std::string& path, const MetaHeader& header)
{
  if (!header.twice.empty())
    failToRead(path, "its header has " + header.twice + " twice", "each key once");
  for (const auto& [key, value] : header.values)
    if (constexpr std::size_t room = 250; // of the library, for names and comments
        value.size() > room
        && (key == "Name" || key == "Comment" || key.starts_with("Object") || key == "AcquisitionDate"
            || key == "AnatomicalOrientation"))
      failToRead(path, key + " has " + std::to_string(value.size()) + " letters",
                 "at most " + std::to_string(room));
  for (const char* key : {"BinaryData", "CompressedData", "BinaryDataByteOrderMSB", "ElementByteOrderMSB"})
    if (const std::string value = header.value(key); !value.empty() && lowerCase(value) != "true"
                                                     && lowerCase(value) != "false" && value != "1"
                                                     && value != "0" && value != "T" && value != "F")
      failToRead(path, std::string(key) + " = " + value + ": neither true nor false", "True or False");
  const std::string order = header.value("BinaryDataByteOrderMSB"),
                    other = header.value("ElementByteOrderMSB");
  if (!order.empty() && !other.empty() && isTrue(order) != isTrue(other))
    failToRead(path, "BinaryDataByteOrderMSB = " + order + " and ElementByteOrderMSB = " + other,
               "one order");
  const std::string type = header.value("ElementType"), skipped = header.value("HeaderSize"),
                    compressed = header.value("CompressedDataSize");
  if (!compressed.empty() && wholeNumber(compressed).value_or(-1) < 0)
    failToRead(path, "CompressedDataSize = " + compressed + ": not a number of bytes", "a whole number");
  if (!skipped.empty() && wholeNumber(skipped).value_or(-2) < -1)
    failToRead(path, "HeaderSize = " + skipped + ": not a number of bytes",
               "a whole number; -1 for voxels at the end of their file");
  if (!metaPixelType(type))
    failToRead(path, "ElementType = " + type + ": voxels of this type cannot be read",
               "MET_ with CHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, LONG_LONG, ULONG_LONG, FLOAT "
               "or DOUBLE");
  const bool isTurned =
      (isTrue(header.value("BinaryDataByteOrderMSB")) || isTrue(header.value("ElementByteOrderMSB")))
      && pixelTypeSize(*metaPixelType(type)) > 1;
  if (isText(header) && (isTurned || wholeNumber(header.value("ElementNumberOfChannels")).value_or(1) > 1))
    failToRead(path,
               "its voxels are text of several components, or with BinaryDataByteOrderMSB = True: the "
               "library reads other numbers",
               "text of one component with BinaryDataByteOrderMSB = False, which means the same");
  if (isTrue(header.value("CompressedData")) && (isText(header) || isList(header.value("ElementDataFile"))))
    failToRead(path, "its voxels are compressed, and text or in several files",
               "compressed voxels in one file, as numbers and not as text");
}

/// The files that follow `ElementDataFile = LIST`, one a line. In `LIST 2` the number is that of the axes of
/// each file.
std::vector<std::string> listedFiles(const std::string& path, const MetaHeader& header)
{
  const std::string text = readWholeFile(path);
  std::vector<std::string> files;
  bool isBehindBlank = false;
  for (const std::string& line :
       linesOf(std::string_view(text).substr(std::min<std::size_t>(header.bytes, text.size()))))
    if (const std::string_view name = trimmed(line); name.empty()) {
      isBehindBlank = true;
    } else {
      if (isBehindBlank) // on which its library crashes
        failToRead(path, "an empty line stands before the data file " + std::string(name),
                   "a name on each line");
      files.emplace_back(name);
    }
  if (!files.empty() && !isBehindBlank && !text.ends_with('\n'))
    failToRead(path,
               "the line of the data file " + files.back()
                   + " does not end, so that its library would not read that file",
               "a line break behind the last name, too");
  return files;
}

/// The files of `ElementDataFile = slice%03d.raw FIRST LAST STEP`, at most `sliceCount`. Throws if the step
/// is not positive: the library would read without an end, or divide by zero.
std::vector<std::string> numberedFiles(const std::string& path, const std::vector<std::string>& words,
                                       std::int64_t sliceCount)
{
  std::array<std::int64_t, 3> given{1, 0, 1};
  constexpr std::int64_t largest = 1000000000; // numbers of slices are smaller
  const NumberedName nameOf(words.front());
  bool isUsable =
      nameOf.isNumbered() && std::ranges::count(words.front(), '%') == 1 && words.size() <= given.size() + 1;
  for (std::size_t i = 1; isUsable && i < words.size(); ++i) {
    given[i - 1] = wholeNumber(words[i]).value_or(-1);
    isUsable = given[i - 1] >= 0 && given[i - 1] <= largest;
  }
  const std::int64_t first = given[0], last = words.size() > 2 ? given[1] : first + sliceCount - 1,
                     step = words.size() == 3 ? (last - first) / sliceCount : given[2];
  if (!isUsable || step < 1)
    failToRead(path, "ElementDataFile: no numbers of slices can be made of it",
               "a name such as slice%03d.raw FIRST LAST STEP");
  std::vector<std::string> files;
  for (std::int64_t i = first; i <= last && static_cast<std::int64_t>(files.size()) < sliceCount; i += step)
    files.push_back(nameOf(static_cast<long>(i)));
  return files;
}

/// The files of an image with several data files: how many it needs, and those that its header names.
struct Slices {
  std::uint64_t count = 1;
  std::vector<std::string> files;
};

Slices slicesOf(const std::string& path, const MetaHeader& header)
{
  const std::vector<std::string> words = wordsOf(header.value("ElementDataFile")),
                                 sizes = wordsOf(header.value("DimSize"));
  const bool isListed = words.front() == "LIST";
  const std::size_t given = isListed && words.size() > 1 ? std::strtoul(words[1].c_str(), nullptr, 10) : 0;
  const std::size_t axesOfFile = given == 0 || given > sizes.size() ? sizes.size() - 1 : given;
  Slices slices;
  for (std::size_t axis = axesOfFile; axis < sizes.size(); ++axis)
    slices.count = bytesTimes(slices.count, std::strtoull(sizes[axis].c_str(), nullptr, 10));
  if (slices.count > maxDataFiles)
    failToRead(path, std::to_string(slices.count) + " data files", "at most " + std::to_string(maxDataFiles));
  slices.files = isListed ? listedFiles(path, header)
                          : numberedFiles(path, words,
                                          std::max<std::int64_t>(1, static_cast<std::int64_t>(slices.count)));
  return slices;
}

/// Throws unless a data file exists and holds its part of the voxels, from byte `start` on.
void checkDataFile(const std::string& path, const MetaHeader& header, const fs::path& file,
                   std::uint64_t start, std::uint64_t parts)
{
  if (std::error_code ignored; !fs::is_regular_file(file, ignored)) // names may be such that no file has them
    failToRead(path, "its data file " + file.string() + " is missing",
               "a data file where ElementDataFile says");
  const auto requireAll = [&](std::uint64_t held, const char* unit, std::uint64_t needed) {
    if (held < needed)
      failToRead(path,
                 file.string() + " holds " + std::to_string(held) + unit + " of the " + std::to_string(needed)
                     + " that its header promises",
                 wholeFile);
  };
  if (isText(header)) {
    const PixelType type = *metaPixelType(header.value("ElementType"));
    const std::uint64_t needed = voxelBytes(header) / pixelTypeSize(type) / parts;
    return requireAll(countTextNumbers(path, {file.string(), start, needed, type, true}), " numbers", needed);
  }
  const std::uint64_t length = fs::file_size(file);
  if (isTrue(header.value("CompressedData")) && voxelBytes(header) > bytesTimes(length, maxInflation))
    failToRead(path,
               file.string() + " is too short for the " + std::to_string(voxelBytes(header))
                   + " bytes that its header promises, even if it is compressed",
               wholeFile);
  requireAll(length, " bytes", start + storedBytes(header) / parts);
}

/// Throws unless all data files exist and are long enough.
void checkSlices(const std::string& path, const MetaHeader& header, std::uint64_t skipped)
{
  const auto [count, files] = slicesOf(path, header);
  if (files.size() < count)
    failToRead(path,
               "ElementDataFile names " + std::to_string(files.size()) + " files of " + std::to_string(count),
               "a file for each slice");
  for (std::size_t i = 0; i < count; ++i)
    checkDataFile(path, header, fs::path(path).parent_path() / files[i], skipped, count);
}

/// The numbers of the first of these keys that is there: checkNumbers has seen that they say one thing.
std::vector<double> numbersOf(const MetaHeader& header, std::initializer_list<const char*> keys)
{
  for (const char* key : keys) {
    std::vector<double> numbers;
    for (const std::string& word : wordsOf(header.value(key)))
      numbers.push_back(*finiteNumber(word));
    if (!numbers.empty())
      return numbers;
  }
  return {};
}

/// From numbers to intensities, which the library does not compute. A slope of 0 is none.
ValueScaling scalingOf(const MetaHeader& header)
{
  const double slope = finiteNumber(header.value("ElementToIntensityFunctionSlope")).value_or(1),
               offset = finiteNumber(header.value("ElementToIntensityFunctionOffset")).value_or(0);
  return slope == 0 ? ValueScaling{} : ValueScaling{slope, offset};
}

ImageHeader imageHeaderOf(const std::string& path, const MetaHeader& header, const VoxelPlace& voxels)
{
  ImageHeader image;
  image.path = path;
  for (const double size : numbersOf(header, {"DimSize"}))
    image.size.push_back(static_cast<std::size_t>(size));
  const std::size_t axes = image.size.size();
  image.dimension = static_cast<int>(axes);
  image.spacingMm = numbersOf(header, {"ElementSpacing", "ElementSize"});
  image.originMm = numbersOf(header, {"Offset", "Position", "Origin"});
  image.spacingMm.resize(axes, 1.0), image.originMm.resize(axes);
  const std::vector<double> columns = numbersOf(header, {"TransformMatrix", "Rotation", "Orientation"});
  image.direction.assign(axes, std::vector<double>(axes));
  for (std::size_t row = 0; row < axes; ++row)
    for (std::size_t axis = 0; axis < axes; ++axis)
      image.direction[row][axis] = columns.empty() ? row == axis : columns[axis * axes + row];
  while (image.dimension > 3 && image.size.back() == 1)
    image = withFirstAxes(std::move(image), image.dimension - 1);
  const std::string channels = header.value("ElementNumberOfChannels");
  image.components = channels.empty() ? 1 : std::atoi(channels.c_str());
  image.componentType = typeOfValues(voxels);
  image.meaning = meaningOf(image.components, voxels.type == PixelType::uint8);
  return image;
}

VoxelPlace voxelsOf(const FileHead& file, const MetaHeader& header)
{
  const std::string dataFile = header.value("ElementDataFile");
  VoxelPlace place;
  place.path = dataFileOf(file.path, dataFile).string();
  if (isLocal(dataFile))
    place.file = file.file;
  place.offset = isLocal(dataFile) ? header.bytes : 0;
  place.byteCount = voxelBytes(header);
  place.type = *metaPixelType(header.value("ElementType"));
  place.scaling = scalingOf(header);
  place.swapped =
      isTrue(header.value("BinaryDataByteOrderMSB")) || isTrue(header.value("ElementByteOrderMSB"));
  if (isTrue(header.value("CompressedData"))) {
    place.encoding = FileEncoding::zlib;
    place.streamAt = std::exchange(place.offset, 0);
    place.zlibBytes = storedBytes(header);
  }
  return place;
}

}

ParsedImage parseMetaImage(const FileHead& file)
{
  const std::string& path = file.path;
  const std::optional<MetaHeader> header = metaHeaderOf(file);
  if (!header && isNamedMetaImage(path)
      && (file.bytes.starts_with("ObjectType") || file.bytes.starts_with("NDims")))
    failToRead(path, "its header does not come to ElementDataFile", "a whole header");
  if (!header)
    return {};
  for (const char* key : {"ElementType", "ElementDataFile"})
    if (header->value(key).empty())
      failToRead(path, "its header has no " + std::string(key), "a whole header");
  checkSizes(path, *header);
  checkNumbers(path, *header);
  checkStorage(path, *header);
  const std::string name = header->value("ElementDataFile"), skips = header->value("HeaderSize");
  const auto skipped = static_cast<std::uint64_t>(std::max(std::int64_t(0), wholeNumber(skips).value_or(0)));
  // The library counts bytes to skip from the start of the file, and takes the last bytes if they are -1.
  if (isLocal(name) && !skips.empty() && skips != "0")
    failToRead(path, "HeaderSize = " + skips + ": voxels behind their header need none",
               "a header without HeaderSize, or a data file of its own");
  if (isList(name))
    checkSlices(path, *header, skipped);
  else
    checkDataFile(path, *header, dataFileOf(path, name), isLocal(name) ? header->bytes : skipped, 1);
  const std::string object = header->value("ObjectType");
  const bool isImage = object.empty() || object == "Image", startsAtOnce = skips.empty() || skips == "0";
  const std::string channels = header->value("ElementNumberOfChannels");
  const bool isPlain = !isList(name) && !isText(*header) && startsAtOnce && isImage;
  if (scalingOf(*header).isScaled() && !(isPlain && (channels.empty() || channels == "1")))
    failToRead(path, "ElementToIntensityFunctionSlope of text, several files or channels",
               "numbers of one channel in one file");
  if (!isPlain)
    return {true, {}, std::nullopt};
  const VoxelPlace voxels = voxelsOf(file, *header);
  return {true, imageHeaderOf(path, *header, voxels), voxels};
}

std::vector<std::string> metaImageDataFiles(const FileHead& file)
{
  const std::string& path = file.path;
  const std::optional<MetaHeader> header = metaHeaderOf(file);
  if (!header || header->value("ElementDataFile").empty() || isLocal(header->value("ElementDataFile")))
    return {};
  const std::string name = header->value("ElementDataFile");
  std::vector<std::string> files;
  for (const std::string& file : isList(name) ? slicesOf(path, *header).files : std::vector{name})
    files.push_back(dataFileOf(path, file).string());
  return files;
}

}
