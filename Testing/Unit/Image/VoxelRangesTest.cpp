// needs: ITK
#include "Core/Image/Voxels/VoxelRanges.h"

#include "Testing/Support/Files/ItkFiles.h"
#include "Testing/Support/Files/PlaceOf.h"
#include "Testing/Support/Files/StoredImages.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>

namespace tessera {
namespace {

using namespace testing;

struct StoredAs {
  std::string name;
  bool compress, isOurs; // else ITK's
};

const StoredAs everyWay[] = {{"a.nii", false, false},   {"a.mha", false, false}, {"a.nrrd", false, false},
                             {"a.nii.gz", true, false}, {"a.mha", true, false},  {"a.nrrd", true, false},
                             {"a.nii.gz", true, true},  {"a.mha", true, true},   {"a.nrrd", true, true}};

class VoxelRangesTest : public StoredNoise {
protected:
  std::string write(const StoredAs& how)
  {
    if (how.isOurs)
      writeImage(folder / how.name, image, PixelType::int16, how.compress, 2);
    else
      writeByItk<short>(folder / how.name, image.geometry, 1, shorts, how.compress);
    return folder / how.name;
  }
};

TEST_F(VoxelRangesTest, AreThoseOfTheWholeInAnyOrder)
{
  const std::uint64_t count = shorts.size();
  const std::uint64_t ranges[][2] = {{0, 5},         {7, 300000},      {200000, 1},
                                     {count - 3, 3}, {131071, 2},      {count / 2, 150000},
                                     {0, count},     {131072, 131072}, {131000, 250000},
                                     {3, 0}}; // blocks of 131072 shorts, pieces of four of them
  for (const StoredAs& how : everyWay) {
    SCOPED_TRACE(how.name + (how.compress ? ", compressed" : "") + (how.isOurs ? ", ours" : ""));
    const std::string path = write(how);
    for (const int threads : {1, 3}) {
      VoxelRanges voxels(*placeOf(path), path);
      for (const auto& [first, length] : ranges) {
        std::vector<short> values(length);
        voxels.read(2 * first, std::as_writable_bytes(std::span(values)), threads);
        EXPECT_EQ(
            std::equal(values.begin(), values.end(), shorts.begin() + static_cast<std::ptrdiff_t>(first)),
            true)
            << first;
      }
      voxels.finish(threads);
    }
  }
}

TEST_F(VoxelRangesTest, GiveEachByteToTheConsumerOnce)
{
  for (const StoredAs& how : everyWay) {
    SCOPED_TRACE(how.name + (how.compress ? ", compressed" : "") + (how.isOurs ? ", ours" : ""));
    const std::string path = write(how);
    constexpr std::uint64_t first = 2 * 70001, count = 2 * 300003;
    std::vector<std::atomic<int>> times(count);
    VoxelRanges(*placeOf(path), path)
        .read(first, count, 3, [&](std::uint64_t at, std::span<const std::byte> bytes) {
          for (std::size_t i = 0; i < bytes.size(); ++i)
            ++times.at(at - first + i);
          EXPECT_EQ(
              std::memcmp(bytes.data(), reinterpret_cast<const std::byte*>(shorts.data()) + at, bytes.size()),
              0);
        });
    EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](const std::atomic<int>& t) { return t == 1; }));
  }
}

/// Early ranges of a file that is damaged late can be read; a caller that ends with finish() gets the error.
TEST_F(VoxelRangesTest, DamageThatWasNotAskedForIsToldAtTheEnd)
{
  for (const StoredAs& how : everyWay) {
    if (!how.compress)
      continue;
    for (const bool isCutOff : {false, true}) {
      SCOPED_TRACE(how.name + (how.isOurs ? ", ours" : "") + (isCutOff ? ", cut off" : ""));
      const std::string path = write(how);
      const VoxelPlace place = *placeOf(path);
      const std::string whole = folder.read(how.name);
      VoxelRanges voxels(place, path); // knows the index of what was whole
      std::string damaged = whole;
      if (isCutOff)
        damaged.resize(whole.size() * 3 / 4);
      else
        damaged[whole.size() * 3 / 4] ^= 0x20;
      folder.write(how.name, damaged);
      std::vector<short> values(100000);
      voxels.read(0, std::as_writable_bytes(std::span(values)), 2);
      EXPECT_EQ(std::equal(values.begin(), values.end(), shorts.begin()), true);

      EXPECT_EQ(errorText([&] { voxels.finish(2); }, ExitCode::unreadableInput),
                path
                    + ": the voxels cannot be read: the compressed data are damaged or cut off. Allowed: a "
                      "whole file; it may have been cut off while it was copied.");
    }
  }
}

TEST_F(VoxelRangesTest, RangesThatTheFileDoesNotHaveAreErrors)
{
  const std::string path = write({"a.nii", false, false});
  VoxelRanges voxels(*placeOf(path), path);
  folder.write("a.nii", folder.read("a.nii").substr(0, 700000));
  std::vector<short> values(1000);

  voxels.read(600000, std::as_writable_bytes(std::span(values)), 1);

  EXPECT_PRED2(contains,
               errorText([&] { voxels.read(699000, std::as_writable_bytes(std::span(values)), 1); },
                         ExitCode::unreadableInput),
               path + ": the file holds less than the " + std::to_string(2 * shorts.size())
                   + " bytes of its voxels");
}

TEST_F(VoxelRangesTest, AFileThatIsMissingIsAnError)
{
  const std::string path = write({"a.nii", false, false});
  VoxelPlace place = *placeOf(path);
  place.file.reset(); // which the parser has opened
  std::filesystem::remove(path);

  EXPECT_PRED2(contains, errorText([&] { VoxelRanges(place, "the.name"); }, ExitCode::unreadableInput),
               "the.name: the file cannot be opened");
}

}
}
