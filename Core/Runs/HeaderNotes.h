#pragma once

#include "Core/Compute/Log.h"
#include "Core/Image/Files/ImageHeader.h"

#include <string>

namespace tessera {

/// Reads the header of an image that an option names, and tells its notes. Throws as readImageHeader, with
/// the option before the message.
ImageHeader readHeaderAndTell(const std::string& option, const std::string& path, const ReadingOptions&, Log&,
                              void (Log::*tell)(const std::string&) = &Log::note);

}
