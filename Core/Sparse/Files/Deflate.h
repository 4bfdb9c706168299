#pragma once

#include "Core/Sparse/Array.h"

#include <string>
#include <string_view>

namespace tessera {

bool isGzip(std::string_view bytes);

/// Inflates all members of a gzip file and joins them. Throws Error(unreadableInput) `where: ...` if the data
/// are damaged or cut off.
Array<char> inflatedGzip(std::string_view bytes, const std::string& where);

/// Inflates data without a header, such as a member of a zip file, to `inflatedBytes` bytes. Throws
/// Error(unreadableInput) `where: ...` if the data are damaged or have another length.
Array<char> inflatedRaw(std::string_view bytes, std::size_t inflatedBytes, const std::string& where);

/// Compresses the bytes to one whole gzip member.
std::string gzipMember(std::string_view bytes);

}
