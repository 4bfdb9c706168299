#pragma once

// Kernels that walk a lattice keep indices of the moving image as fixed-point numbers with 32 fractional
// bits, whose fraction is added to a shift in single precision. Adding and subtracting wholeNumbers then
// rounds to a whole number; a conversion would be slower on a GPU.
namespace tessera {

constexpr float wholeNumbers =
    12582912; // 3 * 2^22: the sum with it is rounded to a whole number, which is in its lowest bits
constexpr int bitsOfWholeNumbers = 0x4b400000;

}
