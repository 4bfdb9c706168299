#pragma once

#include "Core/Image/Files/OutputDigests.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Registry/Registry.h"
#include "Core/Runs/RunListener.h"

#include <future>
#include <set>
#include <string>
#include <vector>

namespace tessera {

/// The transform from which a stage starts, as transform files name it.
struct InitialFile {
  std::string path;   // empty: none
  std::string digest; // transformDigest() of it; empty: no such file
};

/// The lines of a transform file from which a later program resamples as these parameters say.
template <int D>
std::vector<FileSection> resamplingSections(const Registry&, const Parameters&, const Resampler<D>&);

/// Writes the files of one stage.
template <int D>
class StageOutputs {
public:
  /// `folder` is the path that was given, with a slash at its end. The stage must outlive this. `digests`, if
  /// not null, gets those of result images while they are written.
  StageOutputs(const Registry&, const RunningStage<D>&, std::string folder, InitialFile, Log&,
               OutputDigests* digests = nullptr);

  void writePyramidImages(std::size_t level, const std::vector<ImagePointer<D>>& fixed,
                          const std::vector<ImagePointer<D>>& moving);
  bool writesAfterIterations(std::size_t level) const
  {
    return stage_.settings.writesTransformOfIterations || stage_.resampler.writesResultAfterIterations(level);
  }
  void writeAfterIteration(std::size_t level, std::size_t iteration, const TransformChain<D>&);
  void writeAfterLevel(const LevelSummary&, const std::string& iterationTable, const TransformChain<D>&);
  /// Of the files after a level the tables, and the surface that a search has scanned.
  void writeTables(const LevelSummary&, const std::string& iterationTable);
  /// Writes the transform files of the stage.
  void writeTransforms(const TransformChain<D>&);
  void writeResult(const std::string& suffix, const ResultImage<D>&);

  /// Writes TransformParameters.<stage><suffix>.txt (or .toml) and returns its path.
  std::string writeTransform(const std::string& suffix, const TransformChain<D>&,
                             const std::vector<FileEntry>* model = nullptr);

  /// TransformParameters.<stage>.txt, without a digest if it was not written, and of the last stage, which no
  /// other one names.
  InitialFile transformFile() const
  {
    return {pathOf("TransformParameters", "", stage_.settings.transformExtension),
            digest_.valid() ? digest_.get() : ""};
  }
  const RunningStage<D>& stage() const { return stage_; }
  const std::string& folder() const { return folder_; }
  /// Returns the lines of the transform file that logTransformFile writes.
  const std::vector<std::string>& linesForLog() const { return linesForLog_; }
  /// Every file written so far, in order.
  const std::vector<std::string>& files() const { return files_; }

private:
  std::string pathOf(const std::string& stem, const std::string& suffix, const std::string& extension) const
  {
    return folder_ + stem + "." + std::to_string(stage_.number) + suffix + "." + extension;
  }
  void writeImageFile(const std::string& path, Image<D>);
  void writeSurface(std::size_t level, const OptimizationSurface&);
  void writeItkFiles(const TransformChain<D>&);
  void checkInitialIsAsWritten() const;

  const Registry& registry_;
  const RunningStage<D>& stage_;
  std::string folder_;
  OutputDigests* digests_;
  std::shared_future<std::string> digest_; // of the transform
  InitialFile initial_;
  std::vector<std::string> files_, linesForLog_;
  std::set<std::string> reported_; // warnings, each once
  Log& log_;
};

}
