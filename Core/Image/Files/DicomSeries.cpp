#include "Core/Image/Files/DicomSeries.h"

#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Parameters/ParameterText.h"

#include <gdcmReader.h>
#include <gdcmScanner.h>
#include <gdcmTrace.h>
#include <itkGDCMSeriesFileNames.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <optional>
#include <set>

namespace tessera {
namespace {

namespace fs = std::filesystem;

const gdcm::Tag seriesUid(0x0020, 0x000e), description(0x0008, 0x103e), modality(0x0008, 0x0060),
    rows(0x0028, 0x0010), columns(0x0028, 0x0011), position(0x0020, 0x0032), orientation(0x0020, 0x0037),
    pixelSpacing(0x0028, 0x0030);
const gdcm::Tag intercept(0x0028, 0x1052), slope(0x0028, 0x1053);
/// Bits, sign, rescale intercept and slope decide the type of a slice's values.
const std::array<gdcm::Tag, 4> ofValues{gdcm::Tag(0x0028, 0x0100), gdcm::Tag(0x0028, 0x0103), intercept,
                                        slope};

/// Silences ITK's warnings about problems that are reported as errors.
class NoItkWarnings {
public:
  NoItkWarnings() { itk::Object::SetGlobalWarningDisplay(false); }
  ~NoItkWarnings() { itk::Object::SetGlobalWarningDisplay(before_); }

private:
  const bool before_ = itk::Object::GetGlobalWarningDisplay();
};

/// Elements of the headers of some files.
class Headers {
public:
  explicit Headers(const std::vector<std::string>& files)
  {
    for (const gdcm::Tag& tag :
         {seriesUid, description, modality, rows, columns, position, orientation, pixelSpacing})
      scanner_.AddTag(tag);
    for (const gdcm::Tag& tag : ofValues)
      scanner_.AddTag(tag);
    scanner_.Scan(files);
  }

  /// The text of an element; empty if the file has none.
  std::string text(const std::string& file, const gdcm::Tag& tag) const
  {
    const char* const value = scanner_.GetValue(file.c_str(), tag);
    return value ? std::string(trimmed(value)) : "";
  }

  /// The numbers of an element; nothing if the file has fewer.
  template <std::size_t Count>
  std::optional<std::array<double, Count>> numbers(const std::string& file, const gdcm::Tag& tag) const
  {
    std::array<double, Count> found;
    const std::string all = text(file, tag);
    const char* at = all.c_str();
    for (double& number : found) {
      char* end = nullptr;
      number = std::strtod(at, &end);
      if (end == at || !std::isfinite(number))
        return std::nullopt;
      at = *end == '\\' ? end + 1 : end;
    }
    return found;
  }

private:
  gdcm::Scanner scanner_;
};

struct Series {
  std::string identifier; // of ITK: the UID, and the size and more of its images
  std::vector<std::string> files;
  std::string uid, description, shown;

  bool isCalled(const std::string& name) const
  {
    return name == identifier || name == uid || name == description;
  }
};

std::vector<Series> seriesIn(const std::string& folder)
{
  const NoItkWarnings quiet;
  const itk::GDCMSeriesFileNames::Pointer finder = itk::GDCMSeriesFileNames::New();
  finder->SetUseSeriesDetails(true);
  finder->SetRecursive(false);
  finder->SetDirectory(folder);
  std::vector<Series> all;
  for (const std::string& identifier : finder->GetSeriesUIDs())
    all.push_back({identifier, finder->GetFileNames(identifier), "", "", ""});
  return all;
}

/// Reads what tells series apart from the first file of each.
void describe(std::vector<Series>& all)
{
  for (Series& series : all) {
    if (series.files.empty())
      continue;
    const std::string& first = series.files.front();
    const Headers headers({first});
    series.uid = headers.text(first, seriesUid);
    series.description = headers.text(first, description);
    series.shown = "\"" + series.description + "\", " + headers.text(first, modality) + ", "
                   + headers.text(first, columns) + " x " + headers.text(first, rows) + " x "
                   + std::to_string(series.files.size()) + " voxels, series " + series.uid;
    if (std::ranges::count(all, series.uid, &Series::uid)
        > 1) // one UID, images of several sizes or directions
      series.shown += ", or " + series.identifier;
  }
}

/// The one that the user named among several, in the path or by --series.
const Series& chosenSeries(const std::string& path, const DicomPlace& place, const std::vector<Series>& all,
                           const std::vector<std::string>& options)
{
  const std::vector<std::string> names = place.series.empty() ? options : std::vector{place.series};
  const Series* chosen = nullptr;
  std::size_t matching = 0;
  std::string list;
  for (const Series& series : all) {
    list += "\n  " + series.shown;
    if (std::ranges::any_of(names, [&](const std::string& name) { return series.isCalled(name); })) {
      chosen = &series;
      ++matching;
    }
  }
  if (matching != 1)
    failToRead(path,
               (place.series.empty() ? "the" : "there is no such file, and its")
                   + std::string(" folder holds ") + std::to_string(all.size()) + " DICOM series"
                   + (names.empty() ? ""
                                    : (place.series.empty() ? ", --series names " : ", the name is that of ")
                                          + std::to_string(matching) + " of them"),
               "--series with the UID or the description of one of them, or " + place.folder
                   + "/ and that name in place of the folder, for this image alone. The series are:" + list);
  return *chosen;
}

std::string decimalText(double value)
{
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// Where a slice says that it lies.
struct PlacedSlice {
  std::string file;
  std::array<double, 3> positionMm;
  std::array<double, 6> axes; // direction cosines of its rows and columns
  double alongMm = 0;         // from the first slice along the normal
};

/// Throws unless the pixels of all slices have the size of those of the first one.
void checkPixelSpacing(const std::string& folder, const std::vector<std::string>& files,
                       const Headers& headers, const std::string& allowed)
{
  constexpr double tolerated = 1e-4; // share of the spacing: it is a decimal text
  const auto first = headers.numbers<2>(files.front(), pixelSpacing);
  for (const std::string& file : files) {
    const auto other = headers.numbers<2>(file, pixelSpacing);
    bool isEqual = first.has_value() == other.has_value();
    for (std::size_t i = 0; i < 2 && isEqual && first; ++i)
      isEqual = std::abs((*other)[i] - (*first)[i]) <= tolerated * std::abs((*first)[i]);
    if (!isEqual)
      failToRead(folder,
                 file + " is a slice with pixels of another size (Pixel Spacing \""
                     + headers.text(file, pixelSpacing) + "\") than " + files.front() + " (\""
                     + headers.text(files.front(), pixelSpacing) + "\")",
                 allowed);
  }
}

/// Slices in the order of their places along the normal; empty if none says where it lies. Throws
/// Error(unreadableInput) if they are no stack.
std::vector<PlacedSlice> placedSlices(const std::string& folder, const std::vector<std::string>& files,
                                      const Headers& headers)
{
  const std::string oneVolume = "a folder with one volume, each of its slices once";
  checkPixelSpacing(folder, files, headers, oneVolume);
  std::vector<PlacedSlice> slices;
  std::string unplaced;
  for (const std::string& file : files) {
    const auto place = headers.numbers<3>(file, position);
    const auto axes = headers.numbers<6>(file, orientation);
    if (place && axes)
      slices.push_back({file, *place, *axes});
    else if (unplaced.empty())
      unplaced = file;
  }
  if (slices.empty())
    return {};
  if (!unplaced.empty())
    failToRead(
        folder,
        unplaced
            + " is a slice that does not say where it lies (Image Position and Orientation), as others do",
        oneVolume);
  const auto& [r0, r1, r2, c0, c1, c2] = slices.front().axes;
  const std::array<double, 3> normal{r1 * c2 - r2 * c1, r2 * c0 - r0 * c2, r0 * c1 - r1 * c0};
  for (PlacedSlice& slice : slices) {
    constexpr double tolerated = 1e-3; // of cosines, which are decimal texts
    for (std::size_t i = 0; i < slice.axes.size(); ++i)
      if (std::abs(slice.axes[i] - slices.front().axes[i]) > tolerated)
        failToRead(folder,
                   slice.file + " is a slice of another direction (Image Orientation) than "
                       + slices.front().file,
                   oneVolume);
    for (int d = 0; d < 3; ++d)
      slice.alongMm += (slice.positionMm[d] - slices.front().positionMm[d]) * normal[d];
  }
  std::ranges::stable_sort(slices, {}, &PlacedSlice::alongMm);
  const double firstMm = slices.front().alongMm;
  for (PlacedSlice& slice : slices)
    slice.alongMm -= firstMm;
  for (std::size_t i = 1; i < slices.size(); ++i) {
    constexpr double sameMm = 1e-4;
    if (slices[i].alongMm - slices[i - 1].alongMm < sameMm)
      failToRead(folder, "two slices lie at the same place: " + slices[i - 1].file + " and " + slices[i].file,
                 oneVolume);
  }
  return slices;
}

/// The distance of neighbouring slices in mm. Where slices are missing, others are still that far apart: it
/// is the mean of those distances that are about the smallest one.
double stepOf(const std::vector<double>& distancesMm)
{
  const double smallest = std::ranges::min(distancesMm);
  double sum = 0;
  std::size_t count = 0;
  for (const double distance : distancesMm)
    if (distance < 1.5 * smallest) {
      sum += distance;
      ++count;
    }
  return sum / static_cast<double>(count);
}

/// Slices lie on the line from the first to the last one, which is oblique if a gantry was tilted.
void checkLine(const std::string& folder, const std::vector<PlacedSlice>& slices, double stepMm)
{
  const double toleratedMm = 0.1 * stepMm + 0.05; // positions are decimal texts
  const auto &first = slices.front(), &last = slices.back();
  for (const PlacedSlice& slice : slices) {
    double squared = 0;
    for (int d = 0; d < 3; ++d) {
      const double onLine =
          first.positionMm[d] + slice.alongMm / last.alongMm * (last.positionMm[d] - first.positionMm[d]);
      squared += (slice.positionMm[d] - onLine) * (slice.positionMm[d] - onLine);
    }
    if (std::sqrt(squared) > toleratedMm)
      failToRead(folder,
                 slice.file + " lies " + decimalText(std::sqrt(squared))
                     + " mm beside the line from the first slice to the last one, " + first.file + " and "
                     + last.file,
                 "a folder with one volume, whose slices lie one above the other");
  }
}

/// GDCM takes 1 for a slope, and 0 for an intercept, that it cannot read.
void checkRescaling(const std::string& file, const Headers& headers)
{
  for (const gdcm::Tag& tag : {intercept, slope}) {
    const std::string text = headers.text(file, tag);
    const std::optional<double> number = parseReal(text);
    if (!text.empty() && (!number || !std::isfinite(*number) || (tag == slope && *number == 0)))
      failToRead(file,
                 "its rescale " + std::string(tag == slope ? "slope" : "intercept") + " is \"" + text + "\"",
                 tag == slope ? "a number that is not 0" : "a number");
  }
}

/// Orders slices along their normal. A slice is missing where the distance is about a whole number of steps;
/// slices that are otherwise uneven lie side by side.
DicomSeries stackOf(const std::string& folder, const std::vector<std::string>& files,
                    bool allowsMissingSlices)
{
  DicomSeries stack{files, std::vector<std::size_t>(files.size()), {}, ""};
  std::iota(stack.places.begin(), stack.places.end(), std::size_t(0));
  if (files.size() < 2)
    return stack;
  const Headers headers(files);
  const std::vector<PlacedSlice> slices = placedSlices(folder, files, headers);
  for (const std::string& file : files) {
    checkRescaling(file, headers);
    if (std::ranges::any_of(ofValues, [&](const gdcm::Tag& tag) {
          return headers.text(file, tag) != headers.text(files.front(), tag);
        }))
      stack.others.push_back(file);
  }
  if (slices.empty())
    return stack;
  std::vector<double> distancesMm;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    stack.files[i] = slices[i].file;
    if (i > 0)
      distancesMm.push_back(slices[i].alongMm - slices[i - 1].alongMm);
  }
  const double stepMm = stepOf(distancesMm);
  checkLine(folder, slices, stepMm);
  constexpr double tolerated = 0.1; // share of the step, beside a whole number of them
  std::string gaps;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < distancesMm.size(); ++i) {
    const double steps = distancesMm[i] / stepMm, wholeSteps = std::round(steps);
    const bool isGap = wholeSteps >= 2 && std::abs(steps - wholeSteps) <= tolerated;
    const auto skipped = isGap ? static_cast<std::size_t>(wholeSteps) - 1 : 0;
    stack.places[i + 1] = stack.places[i] + 1 + skipped;
    if (skipped > 0)
      gaps += (gaps.empty() ? "" : "; ") + std::to_string(skipped) + " between " + stack.files[i] + " and "
              + stack.files[i + 1] + ", which are " + decimalText(distancesMm[i]) + " mm apart";
    missing += skipped;
  }
  if (missing > 0 && !allowsMissingSlices)
    failToRead(folder,
               std::to_string(missing) + " slice(s) of the series are missing, whose slices are "
                   + decimalText(stepMm) + " mm apart: " + gaps,
               "a complete series, or --allow-missing-slices, which fills them in from their neighbours");
  return stack;
}

/// Throws if a file of the folder ends within the group of elements that begins a DICOM file, on which GDCM
/// crashes. The group's first element tells how many bytes follow it.
void checkBeginnings(const std::string& folder)
{
  constexpr std::size_t preamble = 128, firstBytes = 16;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string path = entry.path().string();
    const std::string begin = entry.is_regular_file(ignored) ? bytesOfFile(path, preamble, firstBytes) : "";
    if (!begin.starts_with("DICM"))
      continue;
    std::uint64_t needed = preamble + firstBytes;
    if (begin.size() == firstBytes && begin.substr(4, 8) == std::string("\2\0\0\0UL\4\0", 8))
      for (int byte = 0; byte < 4; ++byte)
        needed += std::uint64_t(static_cast<unsigned char>(begin[12 + byte])) << (8 * byte);
    if (!holdsBytes(path, needed))
      failToRead(folder, path + " is a DICOM file that is cut off in its header, and may be a slice",
                 "a folder without damaged files");
  }
}

/// Throws if a file of the folder is damaged, so that it belongs to no series: it may be a slice of the one
/// that is read.
void checkOtherFiles(const std::string& folder, const std::vector<Series>& all)
{
  std::set<fs::path> known;
  for (const Series& series : all)
    for (const std::string& file : series.files)
      known.insert(fs::path(file).filename());
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string path = entry.path().string();
    if (known.contains(entry.path().filename()) || !entry.is_regular_file(ignored) || !mayBeDicom(path))
      continue;
    gdcm::Reader reader;
    reader.SetFileName(path.c_str());
    if (!reader.Read())
      failToRead(folder, path + " is a DICOM file that cannot be read, and may be a slice",
                 "a folder without damaged files");
  }
}

}

void quietenGdcm()
{
  gdcm::Trace::WarningOff();
  gdcm::Trace::ErrorOff();
}

DicomSeries dicomSeriesOf(const std::string& path, const ReadingOptions& reading)
{
  const DicomPlace place = dicomPlace(path).value_or(DicomPlace{path, ""});
  const std::string& folder = place.folder;
  checkBeginnings(folder);
  std::vector<Series> all = seriesIn(folder);
  if (all.empty())
    failToRead(folder, "the folder holds no DICOM images",
               "an image file, or a folder with one DICOM series");
  checkOtherFiles(folder, all);
  const std::vector<std::string>& names = reading.dicomSeries;
  const bool isNamed = !place.series.empty();
  if (all.size() > 1 || !names.empty() || isNamed)
    describe(all);
  const Series& series = all.size() == 1 && !isNamed ? all.front() : chosenSeries(path, place, all, names);
  DicomSeries stack = stackOf(folder, series.files, reading.allowMissingSlices);
  if (!names.empty() && !isNamed
      && std::ranges::none_of(names, [&](const std::string& name) { return series.isCalled(name); }))
    stack.note = folder + ": its only series is none of --series: " + series.shown;
  return stack;
}

}
