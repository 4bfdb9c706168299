#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::testing {

/// Damages image files in many ways and cuts them: a file that reads whole must not read when it is cut, or
/// must read as the same image (where what was cut off was no part of it). `files` are images, each small,
/// and the data files that some of them name; all lie in one folder. Two kinds of cuts are left out, since
/// nobody can see them: one within the last number of a text, and one of a data file whose voxels are counted
/// from its end. Prints how many cases were tried, how many damaged files read whole, and how many of those
/// did not read when cut. 0, or 1 if a part was read as if it were whole; then the file and its part are kept
/// in the working folder, as cut-NUMBER-whole.* and cut-NUMBER-part.*. A case whose library ends the process,
/// or takes more than 20 s, is counted, kept as cut-NUMBER-ended.*, and no failure: the programs read such
/// files in processes of their own.
int cutFiles(const std::vector<std::string>& files, std::uint64_t cases, std::uint64_t seed);

}
