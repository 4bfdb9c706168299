#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registration/Reporter.h"
#include "Core/Registration/Resampler.h"
#include "Core/Registry/Registry.h"
#include "Tools/Register/StageSettings.h"

#include <set>
#include <string>
#include <vector>

namespace tessera {

/// The part of a file's name for a level, ".R1", and for an iteration of it, ".R1.It0000012".
std::string levelSuffix(std::size_t level);
std::string iterationSuffix(std::size_t level, std::size_t iteration);

/// The data that all files of a stage are written with.
template <int D>
struct StageOutputContext {
  Context context;
  std::size_t stage = 0;
  std::string folder;             // the path that was given, with a slash at its end
  std::string initialTransform;   // path to name in transform files; empty: none
  std::string initialDigest;      // transformDigest() of it; empty: no such file
  ImageGeometry<D> fixedGeometry; // with the direction that the stage works with
  Matrix<D> writtenDirection;     // the direction in the header, which files get
  ImagePointer<D> moving;
  MaskPointer<D> validMoving; // null: all its voxels are numbers
  Parameters parameters;
  StageSettings settings;
  const Resampler<D>& resampler;
  Interpolator<D>& resampleInterpolator;
};

/// Writes the files of one stage.
template <int D>
class StageOutputs {
public:
  StageOutputs(const Registry&, StageOutputContext<D>, Log&);

  void writePyramidImages(std::size_t level, const std::vector<ImagePointer<D>>& fixed,
                          const std::vector<ImagePointer<D>>& moving);
  bool writesAfterIterations(std::size_t level) const;
  void writeAfterIteration(std::size_t level, std::size_t iteration, const TransformChain<D>&);
  void writeAfterLevel(const LevelSummary&, const std::string& iterationTable, const TransformChain<D>&);
  /// Writes the transform files and the result image of the stage.
  void writeFinal(const TransformChain<D>&);

  /// Writes TransformParameters.<stage><suffix>.txt (or .toml) and returns its path.
  std::string writeTransform(const std::string& suffix, const TransformChain<D>&,
                             const std::vector<FileEntry>* model = nullptr);

  /// transformDigest() of TransformParameters.<stage>.txt as it was written; empty: it was not.
  const std::string& digest() const { return digest_; }
  /// Path of TransformParameters.<stage>.txt.
  std::string transformPath() const
  {
    return pathOf("TransformParameters", "", stage_.settings.transformExtension());
  }
  /// Every file written so far, in order.
  const std::vector<std::string>& files() const { return files_; }

private:
  std::string pathOf(const std::string& stem, const std::string& suffix, const std::string& extension) const;
  Context contextOfResult(const TransformChain<D>&);
  void writeResult(const std::string& suffix, const TransformChain<D>&);
  void writeImageFile(const std::string& path, Image<D>);
  void writeSurface(std::size_t level, const OptimizationSurface&);
  void writeItkFiles(const TransformChain<D>&);
  void checkInitialIsAsWritten() const;
  std::vector<FileEntry> interpolatorEntries() const;

  const Registry& registry_;
  StageOutputContext<D> stage_;
  std::string interpolatorName_, digest_;
  std::vector<std::string> files_;
  std::set<std::string> reported_; // warnings, each once
  Log& log_;
};

}
