#pragma once

// Kernels that walk a lattice keep indices of the moving image in fixed point, 32 bits behind the point, and
// add a shift in single precision to their fraction; or count them in single precision from a whole one
// nearby. Rounding such numbers by the adder alone spares a conversion, which a GPU does slowly.
namespace tessera {

constexpr float wholeNumbers =
    12582912; // 3 * 2^22: adding it rounds to whole numbers, which its lowest bits then hold
constexpr int bitsOfWholeNumbers = 0x4b400000;

}
