#pragma once

#include "Core/Registration/Resampler.h"
#include "Core/Registry/Registry.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Register/RegisterOptions.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// The files of --inverse-too, in the output folder.
constexpr const char *inverseStem = "InverseTransformParameters", *inverseLabelsStem = "inverseLabels";
std::vector<std::string> namesOfInverse(const RegisterOptions&, const std::string& resultFormat);

/// The result of a run whose inverse is asked for.
template <int D>
struct InverseRequest {
  const RegisterOptions& options;
  std::string folder;
  std::shared_ptr<const TransformChain<D>> chain;
  ImageGeometry<D> moving;                   // as the stage works with it
  ImageGeometry<D> movingInFile;             // with the direction of its header
  std::shared_ptr<const ParameterMap> stage; // the parameters of the last stage
  const Resampler<D>& resampler;             // of that stage
  bool useDirectionCosines = true;
  Context host;
};

/// Writes InverseTransformParameters.N.txt beside the transform of the last stage N, with a field beside it
/// if the transform is not linear, and carries --fLabels to the grid of the moving image. Returns the files.
/// Throws Error, as inverseChain does.
template <int D>
std::vector<std::string> writeInverseResults(const Registry&, const InverseRequest<D>&, RunLog&);

}
