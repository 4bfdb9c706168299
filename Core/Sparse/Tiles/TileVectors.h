#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

/// Patterns of the products of a tile and each of `count` others, as multiplyPatterns makes them.
void multiplyPatterns(std::uint64_t a, const std::uint64_t* b, std::size_t count, std::uint64_t* products);

/// The numbers of row r (0 to 7) of `count` tiles, given as bits of 4 or 8 bytes, without gaps, and their
/// columns; returns how many. Up to 8 elements behind the last one are overwritten too.
std::size_t packTileRow(unsigned r, std::size_t count, const std::uint32_t* tileColumn,
                        const std::uint64_t* bitmap, const std::uint32_t* numbers, std::uint32_t* column,
                        std::uint32_t* value);
std::size_t packTileRow(unsigned r, std::size_t count, const std::uint32_t* tileColumn,
                        const std::uint64_t* bitmap, const std::uint64_t* numbers, std::uint32_t* column,
                        std::uint64_t* value);

}
