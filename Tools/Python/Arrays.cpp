#include "Tools/Python/Arrays.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Image/Voxels/LabelImage.h"
#include "Tools/Python/Bindings.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::python {
PixelType pixelTypeOf(const nb::dlpack::dtype& type, const std::string& name)
{
  if (type == nb::dtype<bool>())
    return PixelType::uint8;
  for (const PixelType known : allPixelTypes)
    if (withPixelType(known, [&]<class T>(std::type_identity<T>) { return type == nb::dtype<T>(); }))
      return known;
  throw Error(ExitCode::usage,
              name
                  + ": voxels of this type cannot be read. Allowed: whole numbers of 8 to 64 "
                    "bits, float32 and float64.");
}

Source::Source(std::string name, Voxels array, const GridNumbers& grid)
    : name_(std::move(name)), array_(array)
{
  for (std::size_t d = 0; d < array.ndim() && d < std::get<0>(grid).size(); ++d)
    if (array.shape(array.ndim() - 1 - d) != std::get<0>(grid)[d])
      throw Error(ExitCode::usage, name_ + ": the array has another size than its grid. Allowed: one size.");
  if (array.ndim() < 2 || array.ndim() > 4)
    throw Error(ExitCode::usage, name_ + ": an array of " + std::to_string(array.ndim())
                                     + " axes. Allowed: two to four, the last one x.");
  withConstant<2, 4>(array.ndim(), [&]<int D>() {
    StridedVoxels<D> voxels{array.data(), pixelTypeOf(array.dtype(), name_), {}};
    for (int d = 0; d < D; ++d)
      voxels.stepBytes[d] = array.stride(D - 1 - d) * static_cast<std::ptrdiff_t>(pixelTypeSize(voxels.type));
    strided_ = Strided<D>{voxels, geometryFrom<D>(grid, name_)};
  });
}

namespace {

/// The file that a source names, or what `make` makes of its array.
template <class Given, class Held, class Make>
Given givenFrom(const Held& held, const std::string& name, Make&& make)
{
  return std::visit(
      [&]<class Of>(const Of& array) -> Given {
        if constexpr (std::is_same_v<Of, std::monostate>)
          return {name};
        else
          return {name, make(array)};
      },
      held);
}

}

/// Voxels that are not finite, or rounded, are told of by the host.
template <int D>
HeldImage<D> Source::onCuda(const Strided<D>& array, int threads, std::vector<std::string>& notes) const
{
  const Context context = makeContext({DeviceKind::cuda, array_.device_id()}, threads);
  const PixelType type = array.voxels.type;
  if (auto image = imageOfOthersOnCuda<D>(name_, context, array.voxels.first, type, array.geometry)) {
    HeldImage<D> held(std::move(image));
    held.type = type;
    return held;
  }
  std::vector<std::byte> copy(array_.nbytes());
  context.stream->copyToHost(copy.data(), array.voxels.first, copy.size());
  StridedVoxels<D> voxels = array.voxels;
  voxels.first = copy.data();
  return {imageFromStrided(name_, voxels, array.geometry, notes, threads), type};
}

GivenImage Source::image(int threads, Log& log) const
{
  return givenFrom<GivenImage>(strided_, name_, [&](const auto& held) {
    std::vector<std::string> notes;
    HeldImage image = array_.device_type() == nb::device::cuda::value
                          ? onCuda(held, threads, notes)
                          : HeldImage(imageFromStrided(name_, held.voxels, held.geometry, notes, threads),
                                      held.voxels.type);
    for (const std::string& note : notes)
      log.note(note);
    return image;
  });
}

GivenMask Source::mask(int threads) const
{
  return givenFrom<GivenMask>(strided_, name_, [&](const auto& held) {
    auto mask = maskFromStrided(name_, held.voxels, held.geometry, threads);
    return std::shared_ptr<const decltype(mask)>(std::make_shared<decltype(mask)>(std::move(mask)));
  });
}

GivenImage Source::labels(int threads) const
{
  return givenFrom<GivenImage>(strided_, name_, [&](const auto& held) {
    std::vector<std::string> notes;
    auto loaded = imageFromStrided(name_, held.voxels, held.geometry, notes, threads);
    requireWholeLabels(name_, loaded.image.voxels);
    constexpr float largest = 1 << std::numeric_limits<float>::digits;
    if (!notes.empty()
        || std::ranges::any_of(loaded.image.voxels, [](float v) { return std::abs(v) > largest; }))
      failToRead(name_, "a label above 2^24 in an array", "smaller labels, or the label map as a file");
    return HeldImage(std::move(loaded), held.voxels.type);
  });
}

template <int D>
ImageGeometry<D> geometryFrom(const GridNumbers& numbers, const std::string& name)
{
  const auto& [size, spacingMm, originMm, direction] = numbers;
  if (size.size() != D || spacingMm.size() != D || originMm.size() != D || direction.size() != D * D)
    throw Error(ExitCode::usage,
                name + ": size, spacing, origin and direction of a grid in " + std::to_string(D)
                    + "D do not have as many numbers. Allowed: " + std::to_string(D)
                    + " of each, and a direction of " + std::to_string(D) + " x " + std::to_string(D) + ".");
  ImageGeometry<D> geometry;
  std::ranges::copy(size, geometry.size.begin());
  std::ranges::copy(spacingMm, geometry.spacingMm.begin());
  std::ranges::copy(originMm, geometry.originMm.begin());
  for (int row = 0; row < D; ++row)
    for (int column = 0; column < D; ++column)
      geometry.direction[row][column] = direction[row * D + column];
  return geometry;
}

GivenGrid givenGrid(const GridNumbers& numbers, const std::string& name)
{
  return withConstant<2, 4>(std::get<0>(numbers).size(), [&]<int D>() {
    return GivenGrid{name, geometryFrom<D>(numbers, name)};
  });
}

template <int D>
GridNumbers numbersOf(const ImageGeometry<D>& geometry)
{
  std::vector<double> direction;
  for (int row = 0; row < D; ++row)
    for (int column = 0; column < D; ++column)
      direction.push_back(geometry.direction[row][column]);
  const auto vectorOf = [](const auto& values) { return std::vector(values.begin(), values.end()); };
  return {vectorOf(geometry.size), vectorOf(geometry.spacingMm), vectorOf(geometry.originMm), direction};
}

template <class T>
nb::object arrayOf(std::vector<T> values, const std::vector<std::size_t>& shape)
{
  auto* const owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner));
}

template <int D>
std::vector<std::size_t> shapeOf(const ImageGeometry<D>& geometry, int components)
{
  std::vector<std::size_t> shape(geometry.size.rbegin(), geometry.size.rend());
  if (components > 1)
    shape.push_back(static_cast<std::size_t>(components));
  return shape;
}

template <int D>
nb::object viewOf(const ResultImage<D>& image, nb::handle owner)
{
  if (!image.pixels && !image.onCuda)
    return nb::none();
  const std::vector<std::size_t> shape = shapeOf<D>(image.geometry, image.components);
  return withPixelType(image.type, [&]<class T>(std::type_identity<T>) {
    if (image.onCuda)
      return nb::object(nb::make_tuple(
          nb::ndarray<nb::array_api, T>(reinterpret_cast<T*>(image.onCuda->pixels.span().data()),
                                        shape.size(), shape.data(), owner, nullptr, nb::dtype<T>(),
                                        nb::device::cuda::value, image.onCuda->context.device.ordinal),
          numbersOf<D>(image.geometry)));
    return nb::object(nb::make_tuple(nb::ndarray<nb::numpy, T>(reinterpret_cast<T*>(image.pixels.get()),
                                                               shape.size(), shape.data(), owner),
                                     numbersOf<D>(image.geometry)));
  });
}

GivenPoints givenPoints(const std::string& name, const PointArray& array)
{
  if (array.shape(1) < 2 || array.shape(1) > 4)
    throw Error(ExitCode::usage, name + ": an array of " + std::to_string(array.shape(1))
                                     + " columns. Allowed: x and y, or x, y and z, in mm, or x, y, z and t.");
  return withConstant<2, 4>(array.shape(1), [&]<int D>() {
    InputPoints<D> points;
    points.values.resize(array.shape(0));
    for (std::size_t i = 0; i < points.values.size(); ++i)
      std::copy_n(array.data() + i * D, D, points.values[i].begin());
    return GivenPoints{name, std::move(points)};
  });
}

nb::str textOf(const std::string& text)
{
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

std::vector<nb::str> textsOf(const std::vector<std::string>& texts)
{
  std::vector<nb::str> all;
  std::ranges::transform(texts, std::back_inserter(all), textOf);
  return all;
}

void bindArrays(nb::module_& module)
{
  module.attr("WITH_CUDA") = builtWithCuda;
  nb::class_<Source>(module, "Source")
      .def(nb::init<std::string>())
      .def(nb::init<std::string, Source::Voxels, const GridNumbers&>(),
           nb::sig(
               "def __init__(self, name: str, voxels: object, "
               "grid: tuple[Sequence[int], Sequence[float], Sequence[float], Sequence[float]], /) -> None"));
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template ImageGeometry<D> geometryFrom<D>(const GridNumbers&, const std::string&);                         \
  template GridNumbers numbersOf<D>(const ImageGeometry<D>&);                                                \
  template std::vector<std::size_t> shapeOf<D>(const ImageGeometry<D>&, int);                                \
  template nb::object viewOf<D>(const ResultImage<D>&, nb::handle)
TESSERA_INSTANTIATE(2);
TESSERA_INSTANTIATE(3);
TESSERA_INSTANTIATE(4);
#undef TESSERA_INSTANTIATE
template nb::object arrayOf(std::vector<float>, const std::vector<std::size_t>&);
template nb::object arrayOf(std::vector<double>, const std::vector<std::size_t>&);

}
