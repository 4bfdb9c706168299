#pragma once

#include <span>
#include <string>

namespace tessera {

/// The bytes that this process may still take: what the system has left, swap space included, within the
/// limits of its control groups and of its address space. Infinite if the system does not say. `root` is put
/// before /proc and /sys.
double availableMemoryBytes(const std::string& root = "");

/// Call this before memory is taken, because the system promises more than it has and ends a process that
/// uses it. Throws Error(outOfMemory) `what: about 3.2 GB of memory are needed, 1.1 GB are free. Allowed:
/// allowed.`
void requireMemory(double bytes, const std::string& what, const std::string& allowed);

/// From now on, freed memory goes back to the system at once, except that of small arrays. Otherwise each
/// thread keeps up to some MB of what it freed.
void giveFreedMemoryBack();
/// From now on, freed memory is kept for the next arrays, of up to 32 MB each. It is for work that takes and
/// gives back arrays of the same sizes again and again, and would else wait for new pages each time.
void keepFreedMemory();

/// The texts "30 x 40" and the product 1200. The product of sizes that a user asks for may be too large for
/// an integer.
std::string extentText(std::span<const std::size_t> size);
double extentCount(std::span<const std::size_t> size);

}
