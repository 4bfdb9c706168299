#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageSource.h"
#include "Tools/Python/Arrays.h"
#include "Tools/Python/Bindings.h"
#include "Tools/Python/Work.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace tessera::python {
namespace {

/// Scalars are kept as they are in the file. Colours become luminance.
template <int D>
Work::Make read(Work& work, const std::string& path, const ImageSource& source, const ImageHeader& header,
                int threads)
{
  std::vector<std::string> notes;
  ResultImage<D> image{geometryOf<D>(header), header.componentType};
  if (header.components == 1) {
    image.pixels = std::make_unique_for_overwrite<std::byte[]>(image.byteCount());
    source.read(image.pixels.get(), threads);
  } else {
    const LoadedImage<D> loaded = readImage<D>(path, {}, notes, threads);
    image.type = PixelType::float32;
    image.pixels = std::make_unique_for_overwrite<std::byte[]>(image.byteCount());
    std::memcpy(image.pixels.get(), loaded.image.voxels.data(), image.byteCount());
  }
  for (const std::vector<std::string>& lines : {header.notes, notes})
    for (const std::string& line : lines)
      work.log.note(line);
  return [made = std::make_shared<ResultImage<D>>(std::move(image))] {
    using Owned = std::shared_ptr<ResultImage<D>>;
    return viewOf<D>(*made,
                     nb::capsule(new Owned(made), [](void* p) noexcept { delete static_cast<Owned*>(p); }));
  };
}

Work* readFile(const std::string& path, int threads, int leastLevel)
{
  return new Work(nb::none(), leastLevel, [=](Work& work) -> Work::Make {
    const auto source = openImage(path, {});
    const ImageHeader& header = source->header();
    if (header.dimension < 2 || header.dimension > 4)
      throw Error(ExitCode::unreadableInput, path + ": an image of " + std::to_string(header.dimension)
                                                 + " dimensions. Allowed: 2 to 4.");
    return withConstant<2, 4>(header.dimension,
                              [&]<int D>() { return read<D>(work, path, *source, header, threads); });
  });
}

/// The voxels are in one piece of memory.
Work* writeFile(const std::string& path, const nb::object& object, const GridNumbers& grid, bool compress,
                int threads, int leastLevel)
{
  const auto array = nb::cast<Source::Voxels>(object);
  const Source check(path, array, grid); // throws for what is no image
  // The work holds the object; a copy of the array would be freed without the lock of the interpreter.
  const auto* const voxels = new Source::Voxels(array);
  const nb::capsule owner(voxels, [](void* p) noexcept { delete static_cast<Source::Voxels*>(p); });
  return new Work(nb::make_tuple(object, owner), leastLevel, [=](Work&) -> Work::Make {
    const PixelType type = pixelTypeOf(voxels->dtype(), path);
    const auto* const bytes = static_cast<const std::byte*>(voxels->data());
    withConstant<2, 4>(voxels->ndim(), [&]<int D>() {
      writeStoredImage<D>(path, geometryFrom<D>(grid, path), type, 1,
                          {bytes, voxels->size() * pixelTypeSize(type)}, compress, threads);
    });
    return [] { return nb::none(); };
  });
}

}

void bindFiles(nb::module_& module)
{
  module.def("read_image", readFile);
  module.def("write_image", writeFile);
}

}
