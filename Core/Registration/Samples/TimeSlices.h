#pragma once

#include "Core/Registration/Samples/Samples.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// Throws Error(unreadableInput) with `what` in front unless the image is a series: its last axis is time,
/// with two times at least, and no direction mixes it with space.
template <int D>
void requireSeries(const ImageGeometry<D>&, const std::string& what);

/// The geometry of each slice of a series, without its last axis.
template <int D>
ImageGeometry<D - 1> sliceGeometry(const ImageGeometry<D>& series);

/// The geometry of a slice as a series of two times, the first of which is that of `number` in another
/// series.
template <int D>
ImageGeometry<D> geometryAtTime(const ImageGeometry<D - 1>& slice, const ImageGeometry<D>& series,
                                std::size_t number);

/// Calls visit(entry of the series, entry of the slice) for all entries of a Jacobian in space.
template <int D, class Visit>
void forEachJacobianEntry(Visit&& visit)
{
  for (int row = 0; row + 1 < D; ++row)
    for (int column = 0; column + 1 < D; ++column)
      visit(row * D + column, row * (D - 1) + column);
}

/// Visits the entries of a Hessian, of which the upper triangle is stored.
template <int D, class Visit>
void forEachHessianEntry(Visit&& visit)
{
  int ofSeries = 0, ofSlice = 0;
  for (int component = 0; component + 1 < D; ++component)
    for (int row = 0; row < D; ++row)
      for (int column = row; column < D; ++column, ++ofSeries)
        if (column + 1 < D)
          visit(ofSeries, ofSlice++);
}

/// Samples of a series, sorted by slice; within a slice they keep their order.
template <int D>
class SlicedSamples {
public:
  /// The samples of one slice, without their last coordinate. `gather` takes a number of each from an array
  /// of all samples, and `scatter` puts it back there.
  struct Slice {
    std::size_t number;
    ListSamples<D - 1> samples;
    const std::uint32_t* places; // among all samples

    template <class T>
    void gather(const T* all, T* ofSlice) const
    {
      for (std::size_t i = 0; i < samples.count; ++i)
        ofSlice[i] = all[places[i]];
    }
    template <class T>
    void scatter(const T* ofSlice, T* all) const
    {
      for (std::size_t i = 0; i < samples.count; ++i)
        all[places[i]] = ofSlice[i];
    }
  };

  /// `sliceOf[i]` is the slice of sample i; samples whose number is not below `slices` are left out.
  void sort(const ListSamples<D>&, std::span<const std::size_t> sliceOf, std::size_t slices);

  /// Calls visit(slice) for each slice that has samples.
  template <class Visit>
  void forEachSlice(Visit&& visit) const
  {
    for (std::size_t slice = 0; slice + 1 < first_.size(); ++slice)
      if (const std::size_t count = first_[slice + 1] - first_[slice]; count > 0)
        visit(Slice{slice, {pointersTo<D - 1>(mm_, first_[slice]), count}, places_.data() + first_[slice]});
  }

private:
  std::vector<std::size_t> first_; // of each slice among the sorted samples, and their number
  std::vector<std::uint32_t> places_;
  std::array<std::vector<double>, D - 1> mm_;
};

}
