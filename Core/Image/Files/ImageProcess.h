#pragma once

#include "Core/Image/Files/ImageSource.h"

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tessera {

struct ItkTransform;

/// Lets other processes open images and ITK's transform files while it exists, so that a library that a
/// damaged file brings to its end does not take this program along. They also read the voxels, unless the
/// place of these in the file is known. Each reads one file at a time, and none after one that could not be
/// read. The constructor forks, so it must run before this process has other threads or uses a GPU. At most
/// one exists.
class ImageProcess {
public:
  /// Throws std::system_error if the system refuses a process.
  ImageProcess();
  ~ImageProcess();
  ImageProcess(const ImageProcess&) = delete;
  ImageProcess& operator=(const ImageProcess&) = delete;

  static bool isRunning();

  /// Returns or throws what openImageHere() does in the other process. Throws Error(unreadableInput) if that
  /// process ended without an answer.
  static std::unique_ptr<ImageSource> open(const std::string& path, const ReadingOptions&);
  /// Does for readItkTransformsHere() what open() does for openImageHere().
  static std::vector<ItkTransform> readTransforms(const std::string& path);

private:
  pid_t process_;
};

}
