#pragma once

// Transforms that have more than parameters, splines of landmarks and images of displacements, in a term's scene.

#include "Components/Transforms/DeformationFieldTransform.h"
#include "Components/Transforms/SplineKernelTransform.h"
#include "Core/Image/ImageFile.h"
#include "Testing/Support/BendingScenes.h"
#include "Testing/Support/TemporaryFolder.h"

#include <string>
#include <vector>

namespace tessera::testing {

inline const std::vector<std::string> splineTypes{"ThinPlateSpline", "ThinPlateR2LogRSpline", "VolumeSpline", "ElasticBodySpline",
                                                  "ElasticBodyReciprocalSpline"};

/// Landmarks all over the fixed image and beyond its border, each at most `largestMm` off along each axis.
template <int D>
PointPairs<D> scatteredLandmarks(const TermScene<D>& scene, std::size_t count, double largestMm)
{
  PointPairs<D> pairs;
  const std::vector<double> places = checks::randomVector(D * count, 51, -0.1, 1.1);
  const std::vector<double> noise = checks::randomVector(D * count, 52, -largestMm, largestMm);
  for (std::size_t i = 0; i < count; ++i) {
    Vec<D> index;
    for (int d = 0; d < D; ++d)
      index[d] = places[i * D + d] * static_cast<double>(scene.fixed->geometry.size[d]);
    pairs.fixedMm.push_back(scene.fixed->geometry.pointFromIndex()(index));
    pairs.movingMm.push_back(pairs.fixedMm.back());
    for (int d = 0; d < D; ++d)
      pairs.movingMm.back()[d] += noise[i * D + d];
  }
  return pairs;
}

template <int D>
void useSpline(TermScene<D>& scene, const std::string& type, std::size_t landmarks = 13, double largestMm = 1.5)
{
  const auto spline = std::make_shared<SplineKernelTransform<D>>(
      parametersOf("(SplineKernelType \"" + type + "\")\n(SplineRelaxationFactor 0.1)", D, 1, "Transform0"));
  const PointPairs<D> pairs = scatteredLandmarks<D>(scene, landmarks, largestMm);
  Context context;
  scene.chain->parameters = spline->initialize(context, {scene.fixed, scene.moving, nullptr, nullptr, nullptr, &pairs});
  scene.chain->transform = spline;
}

/// Random displacements on a turned grid that covers most of the fixed image. Order 1 jumps nowhere but at the field's border.
template <int D>
void useField(TermScene<D>& scene, int order)
{
  const ImageGeometry<D>& fixed = scene.fixed->geometry;
  VectorImage<D> field;
  field.geometry.size.fill(7);
  field.geometry.size[0] = 9;
  field.geometry.direction[0][0] = field.geometry.direction[1][1] = 0.8;
  field.geometry.direction[0][1] = -0.6;
  field.geometry.direction[1][0] = 0.6;
  field.geometry.spacingMm.fill(0.14 * static_cast<double>(fixed.size[0]) * fixed.spacingMm[0]);
  for (int d = 0; d < D; ++d) // their centres coincide
    field.geometry.originMm[d] += fixed.centerMm()[d] - field.geometry.centerMm()[d];
  for (const double value : checks::randomVector(D * field.geometry.voxelCount(), 61, -1.5, 1.5))
    field.voxels.push_back(static_cast<float>(value));
  const TemporaryFolder folder;
  writeVectorImage(folder / "field.mha", field, false);
  const std::string path =
      folder.write("transform.txt", "(DeformationFieldFileName \"field.mha\")\n(DeformationFieldInterpolationOrder "
                                        + std::to_string(order) + ")\n");
  std::vector<std::string> notes;
  const auto transform = std::make_shared<DeformationFieldTransform<D>>(parametersOf("", D, 1, "Transform0"));
  scene.chain->parameters =
      transform->restore(Parameters(std::make_shared<ParameterMap>(readParameterFile(path, notes)), "", D, 1));
  scene.chain->transform = transform;
}

/// Visits splines of every kernel, alone and before a B-spline, splines and fields in chains of three, in all ways to join them;
/// the last transform has parameters to find. Jumps of fields of order 0 have no derivatives: `withJumps` visits those too.
template <int D, class Visit>
void forEachModelScene(bool withJumps, Visit&& visit)
{
  TermScene<D> scene(1, unequalSize<D>());
  const auto restart = [&] { scene.level.chain = (scene.chain = std::make_shared<TransformChain<D>>()).get(); };
  const std::size_t kernels = D == 2 ? 1 : splineTypes.size();
  for (std::size_t kernel = 0; kernel < kernels; ++kernel) {
    restart();
    useSpline<D>(scene, splineTypes[kernel]);
    visit(scene, splineTypes[kernel]);
    scene.useAsInitial(Combination::compose);
    useBSpline<D>(scene, 3, false);
    visit(scene, "B-spline after " + splineTypes[kernel]);
  }
  for (const Combination combination : {Combination::compose, Combination::add}) {
    const std::string joined = combination == Combination::add ? " added to " : " after ";
    for (const int order : {0, 1}) {
      if (order == 0 && !withJumps)
        continue;
      restart();
      useField<D>(scene, order);
      scene.useAsInitial(combination);
      useBSpline<D>(scene, 2, false);
      visit(scene, "B-spline" + joined + "field of order " + std::to_string(order));
    }
    restart();
    scene.useAffine();
    scene.useAsInitial(combination);
    useField<D>(scene, 1);
    scene.useAsInitial(combination);
    useSpline<D>(scene, "ElasticBodySpline", 29); // with the affine part 33 rows in 3D
    visit(scene, "spline" + joined + "field" + joined + "affine");
    restart();
    useBSpline<D>(scene, 3, false);
    scene.useAsInitial(combination);
    useSpline<D>(scene, "ThinPlateSpline");
    scene.useAsInitial(combination);
    scene.useAffine();
    visit(scene, "affine" + joined + "spline" + joined + "B-spline");
    restart();
    useSpline<D>(scene, "VolumeSpline", D + 1);
    scene.useAsInitial(combination);
    useField<D>(scene, 1);
    scene.useAsInitial(combination == Combination::add ? Combination::compose : Combination::add);
    useBSpline<D>(scene, 3, false);
    visit(scene, "B-spline joined the other way to field" + joined + "spline");
  }
}

}
