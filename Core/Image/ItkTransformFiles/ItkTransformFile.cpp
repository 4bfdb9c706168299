#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/Decoder.h"
#include "Core/Image/ItkTransformFiles/ItkTransformClass.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace tessera {
namespace {

bool readsBack(const std::string& path, const std::vector<ItkTransform>& expected)
{
  try {
    return readItkTransforms(path) == expected;
  } catch (const Error& error) {
    if (error.code() != ExitCode::unreadableInput)
      throw;
    return false;
  }
}

}

std::vector<ItkTransform> readItkTransforms(const std::string& path)
{
  return decodeTransforms(path);
}

void writeItkTransforms(const std::string& path, const std::vector<ItkTransform>& transforms, bool composite)
{
  if (!std::ranges::count(std::array{".tfm", ".txt", ".h5", ".hdf5", ".hdf"},
                          std::filesystem::path(path).extension().string()))
    failAs(ExitCode::unwritableOutput, path, "the extension is not that of a transform file",
           itkTransformFiles);
  AtomicFile file(path);
  if (transforms.empty())
    file.fail("there is no transform to write");
  encodeTransforms(file, transforms, composite);
  if (!readsBack(file.temporaryPath(), transforms))
    file.fail("the transforms could not be written whole");
  file.commit();
}

template <int D>
void writeItkDisplacementField(const std::string& path, const VectorImage<D>& field)
{
  AtomicFile file(path);
  encodeField(file, headerOf(path, field.geometry, PixelType::float32, D), field.voxels);
  file.commit();
}

TESSERA_INSTANTIATE_FUNCTIONS(writeItkDisplacementField<D>);

}
