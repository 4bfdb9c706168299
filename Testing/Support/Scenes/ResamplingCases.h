#pragma once

#include "Core/Registration/Inverse/InverseTransform.h"
#include "Testing/Support/Checks/ResamplingChecks.h"
#include "Testing/Support/Scenes/ModelTransforms.h"
#include "Testing/Support/Scenes/ResampleScenes.h"

#include <string>
#include <vector>

namespace tessera::testing {

/// A chain whose resampling takes memory of its own on a CUDA device.
struct ResamplingCase {
  std::string name;
  TransformChain<3> chain;
};

/// Every way of the kernels onto the grid of `fixed`: one map, a B-spline, points, few landmarks, a field of
/// many landmarks, an inverse.
inline std::vector<ResamplingCase> resamplingCases(const ImagePointer<3>& fixed)
{
  std::vector<ResamplingCase> cases;
  for (const std::string word : {"A", "AB", "BB"})
    cases.push_back({word, letterChain<3>(word, fixed)});
  const auto voxels = static_cast<double>(fixed->geometry.voxelCount());
  for (const auto& [name, pairs] :
       {std::pair{"few landmarks", 20.0}, std::pair{"many landmarks", 1.1e9 / voxels}})
    cases.push_back(
        {name, splineOf<3>("ThinPlateSpline",
                           scatteredLandmarks<3>(fixed->geometry, static_cast<std::size_t>(pairs), 2))});
  const auto inverted = std::make_shared<const TransformChain<3>>(letterChain<3>("B", fixed));
  cases.push_back({"inverse", *inverseChain<3>(inverted, allComponents(), fixed->geometry, 1e-3)});
  return cases;
}

}
