#pragma once

#include "Core/Compute/Error.h"
#include "Core/Image/FileChecks/FileCheck.h"

#include <optional>
#include <string>

namespace tessera::testing {

/// What one of our parsers knows of a file whose header it knows whole. Empty for other files, and for those
/// that they refuse.
inline std::optional<ParsedImage> parsedImage(const std::string& path)
{
  try {
    const FileHead head(path);
    for (const auto parse : {parseNifti, parseMetaImage, parseNrrd})
      if (ParsedImage image = parse(head); image.voxels)
        return image;
  } catch (const Error&) {
  }
  return std::nullopt;
}

/// The place of its voxels.
inline std::optional<VoxelPlace> placeOf(const std::string& path)
{
  const std::optional<ParsedImage> image = parsedImage(path);
  return image ? image->voxels : std::nullopt;
}

}
