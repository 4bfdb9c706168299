#include "Core/Registration/Samples/TimeSlices.h"

#include "Core/Compute/Error.h"

#include <cmath>

namespace tessera {

template <int D>
void requireSeries(const ImageGeometry<D>& image, const std::string& what)
{
  constexpr int time = D - 1;
  constexpr double tolerance = 1e-5; // of direction cosines in files
  const std::string size = std::to_string(image.size[time]);
  if (image.size[time] < 2)
    failAs(ExitCode::unreadableInput, what,
           "the last axis is time, and has " + size + " slice: one time only",
           "a series of two times or more");
  for (int d = 0; d < D; ++d) {
    const double wanted = d == time ? 1 : 0;
    if (std::abs(image.direction[d][time] - wanted) > tolerance
        || std::abs(image.direction[time][d] - wanted) > tolerance)
      throw Error(
          ExitCode::unreadableInput,
          what
              + (image.direction[time][time] < tolerance - 1
                     ? ": the last axis, which is time, runs backwards. "
                     : ": the directions of the image mix its last axis, which is time, with the others. ")
              + "Allowed: 0 0 .. 1 as the direction of the last axis, or (UseDirectionCosines "
                "\"false\").");
  }
}

template <int D>
ImageGeometry<D - 1> sliceGeometry(const ImageGeometry<D>& series)
{
  ImageGeometry<D - 1> slice;
  for (int d = 0; d + 1 < D; ++d) {
    slice.size[d] = series.size[d];
    slice.spacingMm[d] = series.spacingMm[d];
    slice.originMm[d] = series.originMm[d];
    for (int e = 0; e + 1 < D; ++e)
      slice.direction[d][e] = series.direction[d][e];
  }
  return slice;
}

template <int D>
ImageGeometry<D> geometryAtTime(const ImageGeometry<D - 1>& slice, const ImageGeometry<D>& series,
                                std::size_t number)
{
  ImageGeometry<D> lifted = series;
  for (int d = 0; d + 1 < D; ++d) {
    lifted.size[d] = slice.size[d];
    lifted.spacingMm[d] = slice.spacingMm[d];
    lifted.originMm[d] = slice.originMm[d];
    for (int e = 0; e + 1 < D; ++e)
      lifted.direction[d][e] = slice.direction[d][e];
  }
  lifted.size[D - 1] = 2;
  lifted.originMm[D - 1] += series.spacingMm[D - 1] * static_cast<double>(number);
  return lifted;
}

template <int D>
void SlicedSamples<D>::sort(const ListSamples<D>& samples, std::span<const std::size_t> sliceOf,
                            std::size_t slices)
{
  first_.assign(slices + 1, 0);
  for (const std::size_t slice : sliceOf)
    if (slice < slices)
      ++first_[slice + 1];
  for (std::size_t slice = 0; slice < slices; ++slice)
    first_[slice + 1] += first_[slice];
  places_.resize(first_.back());
  thread_local std::vector<std::size_t> next;
  next = first_;
  for (std::size_t i = 0; i < samples.count; ++i)
    if (sliceOf[i] < slices)
      places_[next[sliceOf[i]]++] = static_cast<std::uint32_t>(i);
  for (int d = 0; d + 1 < D; ++d) {
    mm_[d].resize(places_.size());
    for (std::size_t k = 0; k < places_.size(); ++k)
      mm_[d][k] = samples.pointMm[d][places_[k]];
  }
}

// Series are images of two or three dimensions over time.
template void requireSeries(const ImageGeometry<3>&, const std::string&);
template void requireSeries(const ImageGeometry<4>&, const std::string&);
template ImageGeometry<2> sliceGeometry(const ImageGeometry<3>&);
template ImageGeometry<3> sliceGeometry(const ImageGeometry<4>&);
template ImageGeometry<3> geometryAtTime(const ImageGeometry<2>&, const ImageGeometry<3>&, std::size_t);
template ImageGeometry<4> geometryAtTime(const ImageGeometry<3>&, const ImageGeometry<4>&, std::size_t);
template class SlicedSamples<3>;
template class SlicedSamples<4>;

}
