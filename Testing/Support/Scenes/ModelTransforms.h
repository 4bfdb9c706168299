#pragma once

// Transforms that have more than parameters: splines of landmarks, images of displacements and combinations.

#include "Components/Transforms/DeformationFieldTransform.h"
#include "Components/Transforms/SplineKernelTransform.h"
#include "Components/Transforms/WeightedCombinationTransform.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/ParameterText.h"

#include <string>
#include <vector>

namespace tessera::testing {

inline const std::vector<std::string> splineTypes{"ThinPlateSpline", "ThinPlateR2LogRSpline", "VolumeSpline",
                                                  "ElasticBodySpline", "ElasticBodyReciprocalSpline"};

/// Landmarks all over the fixed image and beyond its border, each at most `largestMm` off along each axis.
template <int D>
PointPairs<D> scatteredLandmarks(const ImageGeometry<D>& fixed, std::size_t count, double largestMm)
{
  PointPairs<D> pairs;
  const std::vector<double> places = checks::randomVector(D * count, 51, -0.1, 1.1);
  const std::vector<double> noise = checks::randomVector(D * count, 52, -largestMm, largestMm);
  for (std::size_t i = 0; i < count; ++i) {
    Vec<D> index;
    for (int d = 0; d < D; ++d)
      index[d] = places[i * D + d] * static_cast<double>(fixed.size[d]);
    pairs.fixedMm.push_back(fixed.pointFromIndex()(index));
    pairs.movingMm.push_back(pairs.fixedMm.back());
    for (int d = 0; d < D; ++d)
      pairs.movingMm.back()[d] += noise[i * D + d];
  }
  return pairs;
}

/// A single spline with a relaxation of 0.1; `entries` stand in its parameters too.
template <int D>
TransformChain<D> splineOf(const std::string& type, const PointPairs<D>& pairs,
                           const std::string& entries = "")
{
  const auto spline = std::make_shared<SplineKernelTransform<D>>(parametersOf(
      "(SplineKernelType \"" + type + "\")\n(SplineRelaxationFactor 0.1)\n" + entries, D, 1, "Transform0"));
  return {.transform = spline,
          .parameters = spline->initialize(host, {nullptr, nullptr, nullptr, nullptr, nullptr, &pairs})};
}

/// A single image of random displacements of at most `largestMm` an axis on this grid, moved so that its
/// centre lies at `centerMm`.
template <int D>
TransformChain<D> randomField(const ImageGeometry<D>& grid, const Vec<D>& centerMm, int order,
                              double largestMm = 1.5)
{
  VectorImage<D> field;
  field.geometry = grid;
  for (int d = 0; d < D; ++d)
    field.geometry.originMm[d] += centerMm[d] - grid.centerMm()[d];
  for (const double value : checks::randomVector(D * grid.voxelCount(), 61, -largestMm, largestMm))
    field.voxels.push_back(static_cast<float>(value));
  const TemporaryFolder folder;
  writeVectorImage(folder / "field.mha", field, false);
  const std::string path = folder.write(
      "transform.txt", "(DeformationFieldFileName \"field.mha\")\n(DeformationFieldInterpolationOrder "
                           + std::to_string(order) + ")\n");
  std::vector<std::string> notes;
  const auto transform = std::make_shared<DeformationFieldTransform<D>>(parametersOf("", D, 1, "Transform0"));
  TransformChain<D> chain;
  chain.parameters = transform->restore(
      {}, Parameters(std::make_shared<ParameterMap>(readParameterFile(path, notes)), "", D, 1));
  chain.transform = transform;
  return chain;
}

/// A single combination of chains, one weight each, which go through files.
template <int D>
TransformChain<D> combinationOf(const std::vector<TransformChain<D>>& chains,
                                const std::vector<double>& weights, bool normalizes)
{
  const TemporaryFolder folder;
  const auto write = [&](const auto& self, const TransformChain<D>& chain,
                         const std::string& name) -> std::string {
    TransformFileSource<D> source;
    source.chain = &chain;
    source.fixed.size.fill(1);
    source.fixed.spacingMm.fill(1);
    if (chain.initial)
      source.initialPath = self(self, *chain.initial, "before-" + name);
    std::vector<std::string> warnings;
    return folder.write(name, transformFileText<D>(source, warnings));
  };
  std::string names;
  for (std::size_t i = 0; i < chains.size(); ++i)
    names += " \"" + write(write, chains[i], std::to_string(i) + ".txt") + "\"";
  return {.transform = std::make_shared<WeightedCombinationTransform<D>>(
              parametersOf("(SubTransforms" + names + ")\n(NormalizeCombinationWeights \""
                               + (normalizes ? "true" : "false") + "\")",
                           D, 1, "Transform0"),
              allComponents()),
          .parameters = weights};
}

}
