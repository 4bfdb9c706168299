#pragma once

#include "Core/Compute/Log.h"
#include "Core/Compute/Math/WithConstant.h"
#include "Core/Runs/Resampling/ResultSink.h"
#include "Core/Runs/RunRequest.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace tessera::python {

namespace nb = nanobind;

/// Size, spacing and origin in mm, and the rows of the direction one after the other: x, y, z.
using GridNumbers =
    std::tuple<std::vector<std::size_t>, std::vector<double>, std::vector<double>, std::vector<double>>;

/// An image, a mask or a label map that Python gives: the path of a file, or an array of z, y, x, or of t, z,
/// y, x. The array of an image may lie on a CUDA device, x fastest, ready for the default stream.
class Source {
public:
  using Voxels = nb::ndarray<nb::ro>;

  explicit Source(std::string path) : name_(std::move(path)) {}
  /// Throws Error(usage) for an array of other than two to four axes, or of a type without a PixelType.
  Source(std::string name, Voxels, const GridNumbers&);

  // These copy the voxels, without the lock of the interpreter; those on a device stay there. Notes about
  // them go to the log. They throw as imageFromStrided() and maskFromStrided().
  GivenImage image(int threads, Log&) const;
  GivenMask mask(int threads) const;
  /// Throws Error(unreadableInput) also for labels that float cannot tell apart.
  GivenImage labels(int threads) const;

private:
  template <int D>
  struct Strided {
    StridedVoxels<D> voxels;
    ImageGeometry<D> geometry;
  };

  template <int D>
  HeldImage<D> onCuda(const Strided<D>&, int threads, std::vector<std::string>& notes) const;

  std::string name_;
  Voxels array_;                                                             // owns the voxels
  std::variant<std::monostate, Strided<2>, Strided<3>, Strided<4>> strided_; // monostate: a file
};

/// Throws Error(usage) if the counts are not those of D axes.
template <int D>
ImageGeometry<D> geometryFrom(const GridNumbers&, const std::string& name);
GivenGrid givenGrid(const GridNumbers&, const std::string& name);

template <int D>
GridNumbers numbersOf(const ImageGeometry<D>&);

/// An array of Python that owns these values; `shape` is z, y, x and then the components.
template <class T>
nb::object arrayOf(std::vector<T> values, const std::vector<std::size_t>& shape);

/// The shape of an array of a grid's voxels.
template <int D>
std::vector<std::size_t> shapeOf(const ImageGeometry<D>&, int components = 1);

/// (array, grid) of the pixels of an image, which are those of the array; None if it has no pixels. `owner`
/// keeps them alive. Of pixels on a device: an object with the methods of DLPack.
template <int D>
nb::object viewOf(const ResultImage<D>&, nb::handle owner);

/// The type of voxels of this type. Throws Error(usage) if there is none.
PixelType pixelTypeOf(const nb::dlpack::dtype&, const std::string& name);

/// Points in mm from an array of n x D.
using PointArray = nb::ndarray<nb::ro, const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
GivenPoints givenPoints(const std::string& name, const PointArray&);

/// Text of which it is not known that it is UTF-8.
nb::str textOf(const std::string&);
std::vector<nb::str> textsOf(const std::vector<std::string>&);

}
