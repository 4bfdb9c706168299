#pragma once

#include "Core/Registration/Fields/FieldMethods.h"
#include "Core/Registration/Resampler.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Runs/Resampling/ImageBatch.h"
#include "Core/Compute/Files/InputFiles.h"
#include "Tools/Transform/TransformOptions.h"
#include "Tools/Transform/TransformRecord.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// Everything that the actions of a run have in common.
template <int D>
struct PreparedTransform {
  const TransformOptions& options;
  std::string folder;
  Log& log;
  TransformRecord& record;
  TransformFileContent<D> file; // its chain maps the output grid: with --inverse it is the inverse
  std::shared_ptr<const TransformChain<D>> chainOfFile;
  const Registry& registry;
  std::optional<ImageGeometry<D>> moving;
  ImageGeometry<D> lattice; // points at which T is evaluated; without direction if the file says so
  Parameters parameters;    // those of the transform file
  std::unique_ptr<Resampler<D>> resampler;
  MakeInterpolator<D> makeInterpolator;
  FieldMethods<D> methods;
  std::vector<ImageTask> tasks;
  Context context;
  std::optional<double> predictedSeconds;
  double computeSeconds = 0; // to start the device, and to compute images and fields there

  const ResultImageSettings& result() const { return resampler->resultImage(); }
  std::string pathOf(const std::string& stem) const { return folder + stem + "." + result().format; }
};

/// Reads the transforms, names the results, chooses the device and checks before any work that the options
/// can be done. Throws Error.
template <int D>
PreparedTransform<D> prepareTransform(const Registry&, const TransformOptions&, const std::string& folder,
                                      std::vector<ImageTask> images, const InputFiles&, TransformRecord&,
                                      Log&);

}
