#pragma once

#include <span>
#include <string>

namespace tessera {

/// Bytes that this process may still take: what the system has left, swap space too, and what is left of the
/// limits of its control groups and of its address space. Infinite where the system does not say. `root`
/// stands before /proc and /sys.
double availableMemoryBytes(const std::string& root = "");

/// To be asked before memory is taken: the system hands out more than it has, and ends the process that
/// touches it. Throws Error(outOfMemory): `what: about 3.2 GB of memory are needed, 1.1 GB are free. Allowed:
/// allowed.`
void requireMemory(double bytes, const std::string& what, const std::string& allowed);

/// From now on all but small arrays go back to the system where they are freed. Without this, threads keep
/// for later what they freed, up to some MB each.
void giveFreedMemoryBack();

/// "30 x 40", and 1200: sizes that a user asks for may have a product that no integer holds.
std::string extentText(std::span<const std::size_t> size);
double extentCount(std::span<const std::size_t> size);

}
