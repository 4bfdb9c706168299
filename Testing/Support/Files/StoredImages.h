#pragma once

// Images that tests write to files and read back.

#include "Core/Image/Files/ImageFile.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <cmath>
#include <string>
#include <vector>

namespace tessera::testing {

/// The image of a file without the notes on it.
template <int D>
LoadedImage<D> loadedImage(const std::string& path, int threads = 1)
{
  std::vector<std::string> notes;
  return readImage<D>(path, {}, notes, threads);
}

/// The message for a volume that cannot be read, without the path before it.
inline std::string complaintOf(const std::string& path)
{
  const std::string message = errorText([&] { loadedImage<3>(path); }, ExitCode::unreadableInput);
  return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
}

/// A test of files of one volume of noise: 1.1 MB of shorts, which are several blocks of a compressed file.
class StoredNoise : public ::testing::Test {
protected:
  StoredNoise()
  {
    for (float& value : image.voxels)
      value = std::floor(value);
    shorts.assign(image.voxels.begin(), image.voxels.end());
  }

  TemporaryFolder folder;
  Image<3> image = noiseImage<3>(obliqueGeometry<3>({101, 83, 67}), 1);
  std::vector<short> shorts;
};

}
