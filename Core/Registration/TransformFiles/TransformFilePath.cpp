#include "Core/Registration/TransformFiles/TransformFilePath.h"

#include "Core/Compute/Error.h"

#include <filesystem>

namespace tessera {

std::string pathBesideTransformFile(const Parameters& transformFile, const std::string& key,
                                    const std::string& path)
{
  namespace fs = std::filesystem;
  const fs::path ownFile = transformFile.map().fileName(), folder = ownFile.parent_path(),
                 beside = folder / path;
  std::error_code ignored;
  if (fs::exists(path, ignored))
    return path;
  if (fs::exists(beside, ignored))
    return beside.string();
  const std::string missing =
      beside == path ? "there is no " + path : "there is neither " + path + " nor " + beside.string();
  const fs::path moved = folder / fs::path(path).filename();
  const bool lies = fs::exists(moved, ignored) && !fs::equivalent(moved, ownFile, ignored);
  throw Error(ExitCode::unreadableInput,
              transformFile.where(key) + ": " + missing
                  + ". Allowed: a path from the working folder or from the transform file's folder"
                  + (lies ? "; if " + moved.string() + " is meant, write (" + key + " \""
                                + moved.filename().string() + "\")."
                          : "."));
}

}
