#pragma once

#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Log.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/ImageInMemory.h"

#include <string>
#include <variant>

namespace tessera {

/// The header of an image or mask; of one in memory, whose voxels have this type, what a header would say.
/// Throws as readImageHeader and checkInMemory.
template <class Source>
ImageHeader headerOf(const Source& given, PixelType inMemory, const ReadingOptions& reading)
{
  return std::visit(
      [&](const auto& content) {
        if constexpr (requires { content->geometry; }) {
          checkInMemory(given.path, content->geometry, content->voxels.size());
          return headerOf(given.path, content->geometry, inMemory);
        } else {
          return readImageHeader(given.path, reading);
        }
      },
      given.inMemory);
}

/// Reads the header of an image that an option names, and tells its notes. Throws as readImageHeader, with
/// the option before the message.
ImageHeader readHeaderAndTell(const std::string& option, const std::string& path, const ReadingOptions&, Log&,
                              void (Log::*tell)(const std::string&) = &Log::note);
/// The same for an image or mask that may be in memory.
template <class Source>
ImageHeader readHeaderAndTell(const std::string& option, const Source& given, PixelType inMemory,
                              const ReadingOptions& reading, Log& log)
{
  if (given.isFile())
    return readHeaderAndTell(option, given.path, reading, log);
  return withContext(option, [&] { return headerOf(given, inMemory, reading); });
}

}
