#include "Core/Compute/Math/VectorLength.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/ShearedGrid.h"
#include "Tools/Decode/DicomSeries.h"
#include "Tools/Decode/ItkImage.h"
#include "Tools/Decode/PictureFileCheck.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace tessera {
namespace {

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
    header.notes.push_back(
        header.path
        + ": the slices are shifted against each other (gantry tilt), so the axes of the image are "
          "not perpendicular");
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

DecodedImage openDicom(const ImageHeader& header, DicomSeries slices)
{
  const auto series = std::make_shared<const OpenSeries>(header, std::move(slices));
  return {series->header(), [series](std::byte* buffer) { series->read(buffer); }};
}

}
