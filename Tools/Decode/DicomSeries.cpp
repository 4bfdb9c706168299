#include "Tools/Decode/DicomSeries.h"

#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/FileNumbers.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Decode/PictureFileCheck.h"

#include <gdcmReader.h>
#include <gdcmStringFilter.h>
#include <gdcmTrace.h>
#include <itkGDCMSeriesFileNames.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>

namespace tessera {
namespace {

namespace fs = std::filesystem;

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
  itk::Object::SetGlobalWarningDisplay(false); // problems are reported as errors
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
    gdcm::Reader reader;
    reader.SetFileName(first.c_str());
    reader.ReadUpToTag(gdcm::Tag(0x0028, 0x0012));
    gdcm::StringFilter elements;
    elements.SetFile(reader.GetFile());
    const auto text = [&](std::uint16_t group, std::uint16_t element) {
      return std::string(trimmed(elements.ToString(gdcm::Tag(group, element)).c_str()));
    };
    series.uid = text(0x0020, 0x000e);
    series.description = text(0x0008, 0x103e);
    series.shown = "\"" + series.description + "\", " + text(0x0008, 0x0060) + ", " + text(0x0028, 0x0011)
                   + " x " + text(0x0028, 0x0010) + " x " + std::to_string(series.files.size())
                   + " voxels, series " + series.uid;
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

/// Throws if slices differ in what all slices of a volume share. A few times of groups of slices are noted.
std::vector<std::string> checkKinds(const std::string& path, const std::vector<DicomSlice>& slices)
{
  constexpr std::size_t fewTimes = 4;
  std::vector<std::string> notes;
  for (const auto& [kind, ofFirst] : slices.front().kinds) {
    const bool isTime = kind == "trigger times" || kind == "acquisition times"; // of groups of slices
    std::map<std::string, std::size_t> counts;
    for (const DicomSlice& slice : slices) {
      const std::string& text = slice.kinds.at(kind);
      const std::optional<double> number = parseReal(text);
      ++counts[number && !isTime ? shortText(*number) : text.substr(0, text.find('.'))];
    }
    const std::string what = "its slices have " + std::to_string(counts.size()) + " " + kind + ": "
                             + joined(counts, ", ", [](const auto& count) {
                                 return (count.first.empty() ? "none" : count.first) + " ("
                                        + std::to_string(count.second) + " slices)";
                               });
    if (counts.size() > 1 && !isTime)
      failToRead(path, what, "the slices of one of them");
    if (counts.size() > 1 && counts.size() <= std::min(fewTimes, slices.size() / 2))
      notes.push_back(path + ": " + what + "; they are taken as one volume");
  }
  return notes;
}

/// Sorts slices by their places along the normal. Throws Error(unreadableInput) if they are no stack.
void sortAlongNormal(const std::string& path, std::vector<DicomSlice>& slices)
{
  const auto require = [&](bool isSo, const std::string& wrong) {
    if (!isSo)
      failToRead(path, wrong, "one volume, each of its slices once");
  };
  const DicomSlice first = slices.front();
  const auto pixelText = [](const DicomSlice& slice) {
    return slice.name + " (Pixel Spacing \"" + shortText(slice.pixelSpacingMm[0]) + "\\"
           + shortText(slice.pixelSpacingMm[1]) + "\")";
  };
  const auto agree = [](const auto& a, const auto& b, double tolerated) { // all are decimal texts
    return std::ranges::equal(a, b, [&](double x, double y) { return std::abs(x - y) <= tolerated; });
  };
  const Vec<3> normal = crossProduct(&first.axes[0], &first.axes[3]);
  for (DicomSlice& slice : slices) {
    require(agree(slice.pixelSpacingMm, first.pixelSpacingMm, 1e-4 * std::abs(first.pixelSpacingMm[0])),
            pixelText(slice) + " is a slice with pixels of another size than " + pixelText(first));
    require(slice.isPlaced,
            slice.name + " is a slice that does not say where it lies (Image Position and Orientation)");
    require(agree(slice.axes, first.axes, 1e-3),
            slice.name + " is a slice of another direction (Image Orientation) than " + first.name);
    for (int d = 0; d < 3; ++d)
      slice.alongMm += (slice.positionMm[d] - first.positionMm[d]) * normal[d];
  }
  std::ranges::stable_sort(slices, {}, &DicomSlice::alongMm);
  const double firstMm = slices.front().alongMm;
  for (DicomSlice& slice : slices)
    slice.alongMm -= firstMm;
  for (std::size_t i = 1; i < slices.size(); ++i) {
    constexpr double sameMm = 1e-4;
    require(slices[i].alongMm - slices[i - 1].alongMm >= sameMm,
            "two slices lie at the same place: " + slices[i - 1].name + " and " + slices[i].name);
  }
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
void checkLine(const std::string& path, const std::vector<DicomSlice>& slices, double stepMm)
{
  const double toleratedMm = 0.1 * stepMm + 0.05; // positions are decimal texts
  const auto &first = slices.front(), &last = slices.back();
  for (const DicomSlice& slice : slices) {
    Vec<3> onLineMm;
    for (int d = 0; d < 3; ++d)
      onLineMm[d] =
          first.positionMm[d] + slice.alongMm / last.alongMm * (last.positionMm[d] - first.positionMm[d]);
    if (const double besideMm = distanceBetween<3>(slice.positionMm, onLineMm); besideMm > toleratedMm)
      failToRead(path,
                 slice.name + " lies " + shortText(besideMm)
                     + " mm beside the line from the first slice to the last one, " + first.name + " and "
                     + last.name,
                 "one volume, whose slices lie one above the other");
  }
}

/// Orders slices along their normal. A slice is missing where the distance is about a whole number of steps;
/// slices that are otherwise uneven lie side by side.
DicomSeries stackOf(const std::string& path, std::vector<DicomSlice> slices, bool allowsMissingSlices)
{
  if (slices.size() == 1)
    return {std::move(slices), {0}, {}};
  std::vector<std::string> notes = checkKinds(path, slices);
  sortAlongNormal(path, slices);
  DicomSeries stack{std::move(slices), {0}, std::move(notes)};
  std::vector<double> distancesMm;
  for (std::size_t i = 1; i < stack.slices.size(); ++i)
    distancesMm.push_back(stack.slices[i].alongMm - stack.slices[i - 1].alongMm);
  const double stepMm = stepOf(distancesMm);
  checkLine(path, stack.slices, stepMm);
  constexpr double tolerated = 0.1; // share of the step, beside a whole number of them
  std::string gaps;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < distancesMm.size(); ++i) {
    const double steps = distancesMm[i] / stepMm, wholeSteps = std::round(steps);
    const bool isGap = wholeSteps >= 2 && std::abs(steps - wholeSteps) <= tolerated;
    const auto skipped = isGap ? static_cast<std::size_t>(wholeSteps) - 1 : 0;
    stack.places.push_back(stack.places[i] + 1 + skipped);
    if (skipped > 0)
      gaps += (gaps.empty() ? "" : "; ") + std::to_string(skipped) + " between " + stack.slices[i].name
              + " and " + stack.slices[i + 1].name + ", which are " + shortText(distancesMm[i]) + " mm apart";
    missing += skipped;
  }
  if (missing > 0 && !allowsMissingSlices && !stack.slices.front().isSegment)
    failToRead(path,
               std::to_string(missing) + " slice(s) of the series are missing, whose slices are "
                   + shortText(stepMm) + " mm apart: " + gaps,
               "a complete series, or --allow-missing-slices, which fills them in from their neighbours");
  return stack;
}

/// Throws if a file of the folder ends within the group of elements that begins a DICOM file, on which GDCM
/// crashes. The group's first element tells how many bytes follow it.
void checkBeginnings(const std::string& folder)
{
  constexpr std::size_t preamble = 128, firstBytes = 16;
  for (const std::string& path : filesOfImage(folder)) {
    const std::string begin = bytesOfFile(path, preamble, firstBytes);
    if (!begin.starts_with("DICM"))
      continue;
    std::uint64_t needed = preamble + firstBytes;
    if (begin.size() == firstBytes && begin.substr(4, 8) == std::string("\2\0\0\0UL\4\0", 8))
      needed += numberAt(begin, 12, 4, false);
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
  for (const std::string& path : filesOfImage(folder)) {
    if (known.contains(fs::path(path).filename()))
      continue;
    checkPictureFile(path);
    gdcm::Reader reader;
    reader.SetFileName(path.c_str());
    if (!reader.Read())
      failToRead(folder, path + " is a DICOM file that cannot be read, and may be a slice",
                 "a folder without damaged files");
  }
}

}

Vec<3> crossProduct(const double* a, const double* b)
{
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

DicomSeries dicomSeriesOf(const std::string& path, const ReadingOptions& reading)
{
  const std::optional<DicomPlace> place = dicomPlace(path);
  if (!place)
    return stackOf(path, slicesOfFile(path), reading.allowMissingSlices);
  const std::string& folder = place->folder;
  checkBeginnings(folder);
  std::vector<Series> all = seriesIn(folder);
  if (all.empty())
    failToRead(folder, "the folder holds no DICOM images",
               "an image file, or a folder with one DICOM series");
  checkOtherFiles(folder, all);
  const std::vector<std::string>& names = reading.dicomSeries;
  const bool isNamed = !place->series.empty();
  if (all.size() > 1 || !names.empty() || isNamed)
    describe(all);
  const Series& series = all.size() == 1 && !isNamed ? all.front() : chosenSeries(path, *place, all, names);
  std::vector<DicomSlice> slices;
  for (const std::string& file : series.files)
    std::ranges::move(slicesOfFile(file), std::back_inserter(slices));
  DicomSeries stack = stackOf(folder, std::move(slices), reading.allowMissingSlices);
  if (!names.empty() && !isNamed
      && std::ranges::none_of(names, [&](const std::string& name) { return series.isCalled(name); }))
    stack.notes.push_back(folder + ": its only series is none of --series: " + series.shown);
  return stack;
}

void quietenGdcm()
{
  gdcm::Trace::WarningOff();
  gdcm::Trace::ErrorOff();
}

}
