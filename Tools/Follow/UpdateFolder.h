#pragma once

#include "Core/Runs/Following/Follower.h"
#include "Tools/Follow/FollowOptions.h"
#include "Tools/Register/StageOutputs.h"

#include <optional>
#include <string>

namespace tessera {

/// Writes the files of one update into a folder of its own: transforms and images while it runs, the rest at
/// its end.
template <int D>
class UpdateFolder final : public RunListener<D> {
public:
  UpdateFolder(const Registry&, const FollowOptions&, std::size_t number, Log&);

  bool writesFiles() const override { return true; }
  void stageStarted(RunningStage<D>&) override;
  void transformFound(const ChainPointer<D>&) override;
  void resultMade(ResultImage<D>&) override;
  void stageFinished(const StageSummary&) override;

  /// What was run, and where these points of the fixed image are.
  void writeRest(const FollowUpdate<D>&, const std::vector<Vec<D>>& pointsMm) const;
  const std::string& path() const { return folder_; } // with a slash at its end
  const std::string& lastTransform() const { return transform_.path; }

private:
  const Registry& registry_;
  const FollowOptions& options_;
  const std::string folder_;
  Log& log_;
  InitialFile transform_; // of the stage that was finished last
  std::optional<StageOutputs<D>> outputs_;
  ChainPointer<D> chain_;
};

}
