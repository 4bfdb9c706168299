#pragma once

#include "Core/Sparse/Array.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

bool isGzip(std::string_view bytes);

/// The most bytes that a text may have, from its first ones; empty if these do not tell it yet.
using TextLimit = std::function<std::optional<double>(std::string_view first)>;
/// Room for comments and blank lines. A text may have so many bytes while its limit is not known.
constexpr double freeTextBytes = 64 << 20;

/// Inflates all members of a gzip file and joins them. Throws Error(unreadableInput) `where: ...` if the data
/// are damaged or cut off, or longer than `limit` tells; no memory is taken for what is too long.
Array<char> inflatedGzip(std::string_view bytes, const std::string& where, const TextLimit& limit);

/// Inflates data without a header, such as a member of a zip file, to `inflatedBytes` bytes. Throws
/// Error(unreadableInput) `where: ...` if the data are damaged or have another length.
Array<char> inflatedRaw(std::string_view bytes, std::size_t inflatedBytes, const std::string& where);

/// Compresses the bytes to one whole gzip member.
std::string gzipMember(std::string_view bytes);

}
