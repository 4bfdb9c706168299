#include "Core/Image/Files/DicomSeries.h"

#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/ReadingOptions.h"
#include "Core/Parameters/ParameterText.h"

#include <gdcmScanner.h>
#include <gdcmTrace.h>
#include <itkGDCMSeriesFileNames.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

namespace tessera {
namespace {

const gdcm::Tag seriesUid(0x0020, 0x000e), description(0x0008, 0x103e), modality(0x0008, 0x0060),
    rows(0x0028, 0x0010), columns(0x0028, 0x0011), position(0x0020, 0x0032);

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
    for (const gdcm::Tag& tag : {seriesUid, description, modality, rows, columns, position})
      scanner_.AddTag(tag);
    scanner_.Scan(files);
  }

  /// The text of an element; empty if the file has none.
  std::string text(const std::string& file, const gdcm::Tag& tag) const
  {
    const char* const value = scanner_.GetValue(file.c_str(), tag);
    return value ? std::string(trimmed(value)) : "";
  }

  std::optional<std::array<double, 3>> positionMm(const std::string& file) const
  {
    std::array<double, 3> mm;
    const bool isThere =
        std::sscanf(text(file, position).c_str(), "%lf\\%lf\\%lf", &mm[0], &mm[1], &mm[2]) == 3;
    return isThere ? std::optional(mm) : std::nullopt;
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

/// The one that the user named among several.
const Series& chosenSeries(const std::string& folder, const std::vector<Series>& all)
{
  const Series* chosen = nullptr;
  std::size_t matching = 0;
  std::string list;
  for (const Series& series : all) {
    list += "\n  " + series.shown;
    if (std::ranges::any_of(readingOptions().dicomSeries,
                            [&](const std::string& name) { return series.isCalled(name); })) {
      chosen = &series;
      ++matching;
    }
  }
  if (matching != 1)
    failToRead(folder,
               "the folder holds " + std::to_string(all.size()) + " DICOM series"
                   + (readingOptions().dicomSeries.empty()
                          ? ""
                          : ", --series names " + std::to_string(matching) + " of them"),
               "--series with the UID or the description of one of them. The series are:" + list);
  return *chosen;
}

std::string decimalText(double value)
{
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// Distances of the slices from the first one along the line to the last one, in mm; empty if a slice does
/// not say where it lies.
std::vector<double> distancesMm(const std::vector<std::string>& files)
{
  const Headers headers(files);
  std::vector<std::array<double, 3>> places;
  for (const std::string& file : files) {
    const std::optional<std::array<double, 3>> place = headers.positionMm(file);
    if (!place)
      return {};
    places.push_back(*place);
  }
  std::array<double, 3> along{};
  double length = 0;
  for (int d = 0; d < 3; ++d) {
    along[d] = places.back()[d] - places.front()[d];
    length += along[d] * along[d];
  }
  length = std::sqrt(length);
  if (!(length > 0))
    return {};
  std::vector<double> distances;
  for (const std::array<double, 3>& place : places) {
    double distance = 0;
    for (int d = 0; d < 3; ++d)
      distance += (place[d] - places.front()[d]) * along[d] / length;
    distances.push_back(distance);
  }
  return distances;
}

/// The places of slices on a grid whose step is the median of their distances. A slice is missing where the
/// distance is about a whole number of steps; slices that are otherwise uneven lie side by side.
std::vector<std::size_t> placesOf(const std::string& folder, const std::vector<std::string>& files)
{
  std::vector<std::size_t> places(files.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = i;
  if (files.size() < 3)
    return places;
  const std::vector<double> distances = distancesMm(files);
  if (distances.empty())
    return places;
  std::vector<double> steps;
  for (std::size_t i = 1; i < distances.size(); ++i)
    steps.push_back(distances[i] - distances[i - 1]);
  std::vector<double> sorted = steps;
  std::ranges::nth_element(sorted, sorted.begin() + (sorted.size() - 1) / 2);
  const double step = sorted[(sorted.size() - 1) / 2];
  constexpr double tolerated = 0.1; // share of the step, beside a whole number of them
  std::string gaps;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double wholeSteps = std::round(steps[i] / step);
    const bool isGap = step > 0 && wholeSteps >= 2 && std::abs(steps[i] / step - wholeSteps) <= tolerated;
    const auto skipped = isGap ? static_cast<std::size_t>(wholeSteps) - 1 : 0;
    places[i + 1] = places[i] + 1 + skipped;
    if (skipped > 0)
      gaps += (gaps.empty() ? "" : "; ") + std::to_string(skipped) + " between " + files[i] + " and "
              + files[i + 1] + ", which are " + decimalText(steps[i]) + " mm apart";
    missing += skipped;
  }
  if (missing > 0 && !readingOptions().allowMissingSlices)
    failToRead(folder,
               std::to_string(missing) + " slice(s) of the series are missing, whose slices are "
                   + decimalText(step) + " mm apart: " + gaps,
               "a complete series, or --allow-missing-slices, which fills them in from their neighbours");
  return places;
}

}

void quietenGdcm()
{
  gdcm::Trace::WarningOff();
  gdcm::Trace::ErrorOff();
}

DicomSeries dicomSeriesOf(const std::string& folder)
{
  std::vector<Series> all = seriesIn(folder);
  if (all.empty())
    failToRead(folder, "the folder holds no DICOM images",
               "an image file, or a folder with one DICOM series");
  if (all.size() > 1)
    describe(all);
  const Series& series = all.size() == 1 ? all.front() : chosenSeries(folder, all);
  return {series.files, placesOf(folder, series.files)};
}

}
