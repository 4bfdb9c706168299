#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

/// Sets products[i] to multiplyPatterns(a, b[i]) for `count` patterns.
void multiplyPatterns(std::uint64_t a, const std::uint64_t* b, std::size_t count, std::uint64_t* products);

/// Packs row r (0 to 7) of `count` tiles: writes the values, given as bits of 4 or 8 bytes, and the columns
/// of its entries without gaps. Returns the number of entries. Up to 8 elements behind the last one are
/// overwritten.
std::size_t packTileRow(unsigned r, std::size_t count, const std::uint32_t* tileColumn,
                        const std::uint64_t* bitmap, const std::uint32_t* numbers, std::uint32_t* column,
                        std::uint32_t* value);
std::size_t packTileRow(unsigned r, std::size_t count, const std::uint32_t* tileColumn,
                        const std::uint64_t* bitmap, const std::uint64_t* numbers, std::uint32_t* column,
                        std::uint64_t* value);

}
