// Headers and voxels of NIfTI, MetaImage and NRRD, as far as Tessera itself reads them. What reads whole
// reads as an error or the same when it is cut.
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Voxels/VoxelPlace.h"
#include "Testing/Fuzz/Fuzz.h"
#include "Tools/Decode/PictureFileCheck.h"

#include <cstdlib>
#include <optional>
#include <vector>

using namespace tessera;

namespace {

/// The voxels; nothing if a library would have to read them, or if they are many.
std::optional<std::vector<std::byte>> voxelsOf(const std::string& path)
{
  constexpr std::uint64_t most = 1 << 22;
  checkVtkFile(path);
  checkPictureFile(path);
  const FileHead head(path);
  for (const auto parse : {parseNifti, parseMetaImage, parseNrrd})
    if (const ParsedImage image = parse(head);
        image.voxels && image.voxels->byteCount <= most && image.voxels->path == path) {
      std::vector<std::byte> voxels(image.voxels->byteCount);
      readVoxels(*image.voxels, path, 1, voxels.data());
      return voxels;
    }
  return std::nullopt;
}

}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count)
{
  std::optional<std::vector<std::byte>> whole, cut;
  fuzz::succeeds([&] { whole = voxelsOf(fuzz::fileOf(bytes, count)); });
  if (!whole || whole->empty())
    return 0;
  const std::size_t kept = count - 1 - static_cast<std::size_t>(bytes[count / 2]) % count;
  fuzz::succeeds([&] { cut = voxelsOf(fuzz::fileOf(bytes, kept)); });
  if (cut && *cut != *whole)
    std::abort(); // a part was read as if it were whole
  return 0;
}
