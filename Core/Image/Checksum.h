#pragma once

#include <cstdint>
#include <span>

namespace tessera {

/// The "Registration result checksum" of elastix's log: CRC-32 of the parameters times 1e6, rounded, as
/// doubles.
std::uint32_t resultChecksum(std::span<const double> parameters);

}
