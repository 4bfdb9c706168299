#pragma once

#include "Core/Sparse/Array.h"

#include <string>
#include <string_view>

namespace tessera {

bool isGzip(std::string_view bytes);

/// All members of a gzip file one after the other. Throws Error(unreadableInput) `where: ...` if it is
/// damaged or cut off.
Array<char> inflatedGzip(std::string_view bytes, const std::string& where);

/// Deflated data without a header whose length when inflated is known (a member of a zip file).
Array<char> inflatedRaw(std::string_view bytes, std::size_t inflatedBytes, const std::string& where);

/// One whole gzip member.
std::string gzipMember(std::string_view bytes);

}
