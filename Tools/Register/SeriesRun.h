#pragma once

#include "Core/Compute/Threads/Interruption.h"
#include "Core/Registry/Registry.h"
#include "Core/Runs/RunSummary.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>

namespace tessera {

/// An image whose volumes are registered: registerSeries() for a file.
struct SeriesOptions {
  RunRequest request;                            // without moving images
  std::string file, outFolder;                   // outFolder: with a slash at its end
  std::string reference = "mean", order = "fsl"; // mean, first, fixed or a number; of motion.tsv: fsl or spm
  bool writesTransforms = false;
  std::string pageName = {};   // empty: no page
  bool lastAxisIsTime = false; // the image has three dimensions
};

struct SeriesOutcome {
  SeriesFigures figures;
  std::string firstFailure;       // why a volume has no result; empty: all have one
  std::string device;             // "cpu", "cuda:0"
  std::vector<std::string> files; // that were written
};

/// Takes a line about each volume in its turn: dox/follow.schema.json.
using TellVolume = std::function<void(const nlohmann::ordered_json&)>;

/// Writes series.nii.gz, the volumes on the grid of the reference in their own type, where those without a
/// result are 0; transforms and a page if they are asked for; and motion.tsv if the transforms are rigid.
/// Throws Error and Interrupted; what is there of an earlier run then stays.
SeriesOutcome runSeries(const Registry&, const SeriesOptions&, const TellVolume&, Log&, Stop = {});

}
