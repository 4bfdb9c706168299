#include "Core/Image/Files/ImageFormat.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/LowerCase.h"

#include <algorithm>

namespace tessera {
namespace {

using enum PixelType;

constexpr unsigned bits(auto... types)
{
  return ((1u << static_cast<unsigned>(types)) | ...);
}

constexpr unsigned everyType = 0x3ff;

enum class Compression { never, ifAsked, always };

constexpr unsigned scalars = 1 << 1, colours = scalars | 1 << 3, // bit n: n components a voxel
    withOpacity = colours | 1 << 4, anyNumber = ~0u;

struct Format {
  const char* extension;
  bool planes, volumes; // dimension 2, dimension 3
  unsigned components;
  unsigned types;
  const char* lost; // part of the geometry that the format does not store
  Compression compression = Compression::ifAsked;
  bool onlyPerpendicular = false; // axes that are not perpendicular are stored as others
};

// The voxels that ITK 5.2 writes and reads back unchanged, for each format.
constexpr Format formats[] = {
    {"mhd", true, true, anyNumber, everyType, ""},
    {"mha", true, true, anyNumber, everyType, ""},
    {"nii", true, true, anyNumber, everyType, "", Compression::never, true},
    {"nii.gz", true, true, anyNumber, everyType, "", Compression::always, true},
    {"hdr", true, true, anyNumber, everyType, "", Compression::never, true},
    {"img", true, true, anyNumber, everyType, "", Compression::never, true},
    {"nrrd", true, true, anyNumber, everyType, ""},
    {"nhdr", true, true, anyNumber, everyType, ""},
    {"vtk", true, true, anyNumber, everyType, "direction"},
    {"gipl", false, true, scalars, bits(int8, uint8, int16, uint16, float32, float64), "direction",
     Compression::never},
    {"gipl.gz", false, true, scalars, bits(int8, uint8, int16, uint16, float32, float64), "direction",
     Compression::always},
    {"tif", true, true, anyNumber, bits(int8, uint8, int16, uint16, float32), "origin and direction"},
    {"tiff", true, true, anyNumber, bits(int8, uint8, int16, uint16, float32), "origin and direction"},
    {"png", true, false, withOpacity, bits(uint8, uint16), "origin and direction", Compression::always},
    {"jpg", true, false, colours, bits(uint8), "origin and direction", Compression::always},
    {"jpeg", true, false, colours, bits(uint8), "origin and direction", Compression::always},
    {"bmp", true, false, colours, bits(uint8), "origin and direction", Compression::never},
    {"h5", true, true, anyNumber, everyType, ""},
    {"hdf5", true, true, anyNumber, everyType, ""},
    // A plane is written as a volume of one slice.
    {"dcm", true, true, scalars, bits(uint8, int16, uint16), "", Compression::always},
};

const Format* find(const std::string& extension)
{
  const auto* found = std::find_if(std::begin(formats), std::end(formats),
                                   [&](const Format& f) { return extension == f.extension; });
  return found == std::end(formats) ? nullptr : found;
}

template <class Accept>
std::string listFormats(Accept accept)
{
  std::string list;
  for (const Format& format : formats)
    if (accept(format))
      list += std::string(list.empty() ? "" : ", ") + format.extension;
  return list;
}

/// Formats that hold everything else hold more axes, too.
bool holdsDimension(const Format& format, int dimension)
{
  return dimension == 2   ? format.planes
         : dimension == 3 ? format.volumes
                          : format.components == anyNumber && format.types == everyType && !*format.lost;
}

bool holdsComponents(const Format& format, int components)
{
  return format.components == anyNumber || (components < 5 && (format.components >> components & 1) != 0);
}

}

std::vector<std::string> writableFormats()
{
  std::vector<std::string> names;
  for (const Format& format : formats)
    names.emplace_back(format.extension);
  return names;
}

std::string readableFormats()
{
  return "NIfTI and Analyze (.nii, .nii.gz, .hdr, .img), MetaImage (.mhd, .mha), NRRD (.nrrd, .nhdr), GIPL, "
         "VTK, TIFF, PNG, JPEG, BMP, HDF5 (.h5, .hdf5), DICOM (a file, or a folder with one series)";
}

std::string formatOf(const std::string& path)
{
  const std::string name = lowerCase(path.substr(path.find_last_of('/') + 1));
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    if (find(name.substr(dot + 1)))
      return name.substr(dot + 1);
  return "";
}

void checkWritable(const std::string& format, int dimension, PixelType type, int components)
{
  const auto refuse = [&](const std::string& wrong, const std::string& allowed) {
    failAs(ExitCode::unwritableOutput, "image format \"" + format + "\"", wrong, allowed);
  };
  const Format* known = find(format);
  if (!known)
    refuse("no such format", listFormats([](const Format&) { return true; }));
  const auto fits = [&](const Format& f) {
    return holdsDimension(f, dimension) && (f.types & bits(type)) && holdsComponents(f, components);
  };
  const std::string others = "the formats that can: " + listFormats(fits);
  if (!holdsDimension(*known, dimension))
    refuse("cannot hold an image of dimension " + std::to_string(dimension), others);
  if (!holdsComponents(*known, components))
    refuse("cannot hold " + std::to_string(components) + " components a voxel", others);
  if (!(known->types & bits(type))) {
    std::string types;
    for (const PixelType other : allPixelTypes)
      if (known->types & bits(other))
        types += (types.empty() ? "\"" : ", \"") + pixelTypeName(other) + "\"";
    refuse("cannot hold pixels of type \"" + pixelTypeName(type) + "\"",
           "the types " + types + ", or " + others);
  }
}

bool formatCompresses(const std::string& format, bool asked)
{
  const Format* known = find(format);
  return known
         && (known->compression == Compression::always
             || (asked && known->compression == Compression::ifAsked));
}

bool holdsOnlyPerpendicularAxes(const std::string& format)
{
  const Format* known = find(format);
  return known && known->onlyPerpendicular;
}

bool formatHolds(const std::string& format, PixelType type, int components)
{
  const Format* known = find(format);
  return known && (known->types & bits(type)) && holdsComponents(*known, components);
}

std::string geometryLostBy(const std::string& format, int dimension)
{
  const Format* known = find(format);
  if (format == "dcm" && dimension == 2) // a secondary capture, which has no place
    return "origin and direction";
  if (dimension == 3 && format.starts_with("tif"))
    return "origin, direction and (except for ImageJ) distance of slices";
  return known ? known->lost : "";
}

}
