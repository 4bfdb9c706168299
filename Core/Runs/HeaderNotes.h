#pragma once

#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Log.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Runs/RunRequest.h"

#include <string>

namespace tessera {

/// Makes the header that a file with this image, mask or grid would have. Throws as checkInMemory.
template <int D>
ImageHeader headerInMemory(const std::string& name, const HeldImage<D>& held)
{
  checkInMemory(name, held.image->geometry, voxelsInMemory<D>(held.image));
  return headerOf(name, held.image->geometry, held.type);
}
template <int D>
ImageHeader headerInMemory(const std::string& name, const MaskPointer<D>& mask)
{
  checkInMemory(name, mask->geometry, mask->voxels.size());
  return headerOf(name, mask->geometry, PixelType::uint8);
}
template <int D>
ImageHeader headerInMemory(const std::string& name, const ImageGeometry<D>& grid)
{
  checkInMemory(name, grid, grid.voxelCount());
  return headerOf(name, grid);
}

/// The header of what is given. Throws as readImageHeader and checkInMemory.
template <template <int> class Content>
ImageHeader headerOf(const Given<Content>& given, const ReadingOptions& reading)
{
  if (const auto* const in2D = std::get_if<Content<2>>(&given.inMemory))
    return headerInMemory<2>(given.path, *in2D);
  if (const auto* const in3D = std::get_if<Content<3>>(&given.inMemory))
    return headerInMemory<3>(given.path, *in3D);
  if (const auto* const in4D = std::get_if<Content<4>>(&given.inMemory))
    return headerInMemory<4>(given.path, *in4D);
  return readImageHeader(given.path, reading);
}

/// Reads the header of an image that an option names, and tells its notes. Throws as readImageHeader, with
/// the option before the message.
inline ImageHeader readHeaderAndTell(const std::string& option, const std::string& path,
                                     const ReadingOptions& reading, Log& log,
                                     void (Log::*tell)(const std::string&) = &Log::note)
{
  ImageHeader header = withContext(option, [&] { return readImageHeader(path, reading); });
  for (const std::string& note : header.notes)
    (log.*tell)(option + ": " + note);
  return header;
}
/// Reads the header of a file with its notes, as above, or makes the one of what is in memory.
template <template <int> class Content>
ImageHeader readHeaderAndTell(const std::string& option, const Given<Content>& given,
                              const ReadingOptions& reading, Log& log)
{
  if (given.isFile())
    return readHeaderAndTell(option, given.path, reading, log);
  return withContext(option, [&] { return headerOf(given, reading); });
}

}
