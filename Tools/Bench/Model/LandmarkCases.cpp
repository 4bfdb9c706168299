#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Components/Transforms/Shared/OnCuda/SplineFieldOnCuda.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Image/Landmarks/StructureTensorsOnCuda.h"
#include "Tools/Bench/Model/CaseParts.h"
#include "Tools/Bench/Model/KernelCounts.h"
#include "Tools/Bench/Model/LandmarkSum.h"

#include <algorithm>
#include <memory>

namespace tessera::modelcases {
namespace {

/// The bits that `run` adds to an empty field.
template <class Run>
Bits bitsOf(Context& context, Field& field, const Run& run)
{
  Bits bits;
  for (Buffer<float>& component : field.of)
    clear(context, component);
  run();
  for (const Buffer<float>& component : field.of)
    append(context, component, bits);
  return bits;
}

}

Work landmarksCase(Context& context, const Volume& volume)
{
  constexpr int landmarks = 64;
  struct Scene {
    Buffer<double> landmarksMm, vectors;
    Field field;
    SamplesOnCuda<3> samples;
    ChainOnCuda<3> chain;
  };
  const auto scene = std::make_shared<Scene>(Scene{Buffer<double>(context, 3 * landmarks),
                                                   Buffer<double>(context, 3 * (landmarks + 4)),
                                                   Field(context, volume),
                                                   latticeOf(volume, nullptr),
                                                   {}});
  fillWithNoise(context, scene->landmarksMm.size(), 0.0, static_cast<double>(volume[0]),
                scene->landmarksMm.span().data());
  fillWithNoise(context, scene->vectors.size(), -1e-3, 1e-3, scene->vectors.span().data());
  scene->chain.count = 1;
  TransformOnCuda<3>& spline = scene->chain.links[0];
  spline.kind = TransformKind::kernelSpline;
  spline.landmarks = landmarks;
  spline.landmarksMm = scene->landmarksMm.span().data();
  spline.coefficients = scene->vectors.span().data();
  const auto run = [scene, &context] {
    addDisplacementsOnCuda<3>(context, scene->samples, scene->chain, scene->field.values());
  };
  return {run, [volume] { return std::vector<KernelLaunch>{landmarkCounts(voxelsOf(volume), landmarks)}; },
          [scene, run, &context] { return bitsOf(context, scene->field, run); }};
}

namespace {

Work landmarkSumCase(Context& context, const Volume& volume, bool inShared)
{
  constexpr int landmarks = 300;
  struct Scene {
    Buffer<float> places, vectors;
    Field field;
  };
  const auto scene =
      std::make_shared<Scene>(Scene{noiseOf(context, 4 * landmarks, 100.0f),
                                    noiseOf(context, 4 * landmarks, 1e-3f), Field(context, volume)});
  const auto run = [scene, volume, inShared, &context] {
    landmarkSumOnCuda(context, volume, landmarks, scene->places.span().data(), scene->vectors.span().data(),
                      inShared, scene->field.values());
  };
  return {run,
          [volume, inShared] {
            return std::vector<KernelLaunch>{landmarkSumLaunch(volume, landmarks, inShared)};
          },
          [scene, run, &context] { return bitsOf(context, scene->field, run); }};
}

}

Work globalLandmarksCase(Context& context, const Volume& volume)
{
  return landmarkSumCase(context, volume, false);
}

Work sharedLandmarksCase(Context& context, const Volume& volume)
{
  return landmarkSumCase(context, volume, true);
}

namespace {

/// A number from 0 to 1 by a hash of i.
double hashed(unsigned i)
{
  i = (i ^ i >> 16) * 0x7feb352du;
  i = (i ^ i >> 15) * 0x846ca68bu;
  return (i ^ i >> 16) * 0x1p-32;
}

}

Work splineFieldCase(Context& context, const Volume& volume)
{
  constexpr int landmarks = 1000;
  std::vector<double> placesMm, vectors(3 * (landmarks + 4));
  for (unsigned i = 0; i < 3 * landmarks; ++i) {
    placesMm.push_back(hashed(i) * volume[i % 3]);
    vectors[i] = 1e-3 * (hashed(i + 7000) - 0.5);
  }
  for (std::size_t d = 0; d < 3; ++d)
    vectors[3 * (landmarks + d) + d] = 1;
  SplineOfLandmarks<3> spline{SplineKernel::thinPlate, 0, landmarks, placesMm.data(), vectors.data()};
  const auto plan = planSplineField(spline, {identityMatrix<3>(), {}}, geometryOf(volume).size);
  if (!plan || !plan->isSingle)
    throw Error(ExitCode::registrationFailed, "the spline of the benchmark needs double precision");
  double near = 0, maxNear = 0;
  for (int z = 0; z < plan->blocks(2); ++z)
    for (int y = 0; y < plan->blocks(1); ++y)
      for (int x = 0; x < plan->blocks(0); ++x) {
        const splinefield::Block block(*plan, {x, y, z});
        double nearBlock = 0;
        for (int i = 0; i < landmarks; ++i)
          nearBlock += distanceBetween<3>(spline.landmarkMm(i), block.middleMm) < plan->farMm;
        near += nearBlock;
        maxNear = std::max(maxNear, nearBlock);
      }
  const double meanNear = near / (1.0 * plan->blocks(0) * plan->blocks(1) * plan->blocks(2));
  struct Scene {
    Buffer<double> placesMm, vectors;
    Buffer<float> field;
    SplineFieldPlan plan;
    SplineOfLandmarks<3> spline;
  };
  const auto scene =
      std::make_shared<Scene>(Scene{{}, {}, Buffer<float>(context, 3 * voxelsOf(volume)), *plan, spline});
  scene->placesMm.fromHost(context, placesMm);
  scene->vectors.fromHost(context, vectors);
  scene->spline.landmarksMm = scene->placesMm.span().data();
  scene->spline.vectors = scene->vectors.span().data();
  const auto run = [scene, &context] {
    splineFieldOnCuda(context, scene->plan, scene->spline, 0, static_cast<std::size_t>(scene->plan.size[2]),
                      scene->field.span().data());
  };
  return {run,
          [plan, meanNear, maxNear] {
            return std::vector<KernelLaunch>{splineFieldCounts(*plan, landmarks, meanNear, maxNear)};
          },
          [scene, run, &context] { return bitsWritten(context, run, scene->field); }};
}

Work sestCase(Context& context, const Volume& volume)
{
  using namespace structuretensors;
  constexpr int apart = 16; // voxels
  const Window window{};
  struct Scene {
    Buffer<float> here, there;
    Buffer<Voxel> keypoints;
    Buffer<Found> found;
  };
  std::vector<Voxel> keypoints;
  for (int z = apart / 2; z < volume[2]; z += apart)
    for (int y = apart / 2; y < volume[1]; y += apart)
      for (int x = apart / 2; x < volume[0]; x += apart)
        keypoints.push_back({x, y, z});
  const std::size_t count = keypoints.size();
  const auto scene = std::make_shared<Scene>(Scene{noiseOf(context, 8 * voxelsOf(volume), 1000),
                                                   noiseOf(context, 8 * voxelsOf(volume), 900),
                                                   {},
                                                   Buffer<Found>(context, count)});
  scene->keypoints.fromHost(context, keypoints);
  const auto run = [scene, window, count, size = geometryOf(volume).size, &context] {
    const Voxel* const places = scene->keypoints.span().data();
    enqueueSearch(context, {scene->here.span().data(), size}, {scene->there.span().data(), size}, count,
                  places, places, window, scene->found.span().data());
  };
  return {run,
          [window, count, volume] {
            return std::vector<KernelLaunch>{searchCounts(count, window, 1.0 * voxelsOf(volume))};
          },
          [scene, run, &context] { return bitsWritten(context, run, scene->found); }};
}

}
