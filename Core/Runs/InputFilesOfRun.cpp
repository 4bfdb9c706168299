#include "Core/Runs/InputFilesOfRun.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Registration/TransformFiles/TransformFilePath.h"

namespace tessera {

void addImage(InputFiles& inputs, const std::string& path, const std::string& what)
{
  try {
    for (const std::string& file : filesOfImage(path))
      inputs.add(file, what);
  } catch (const Error&) { // reading the file will report the error
  }
}

void addTransform(InputFiles& inputs, const std::string& path, const std::string& what)
{
  if (!path.empty())
    for (const std::string& file : filesOfTransform(path))
      inputs.add(file, what);
}

}
