#pragma once

#include "Core/Compute/Context.h"

#include <cstdint>

namespace tessera {

/// Sets *notFinite to 1 if one of `count` numbers in device memory is infinite or not a number. V is float or
/// double.
template <class V>
void findNotFiniteOnCuda(const Context&, const V* numbers, std::uint64_t count, std::uint32_t* notFinite);

}
