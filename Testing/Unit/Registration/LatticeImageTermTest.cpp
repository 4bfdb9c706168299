#include "Core/Registration/Terms/LatticeImageTerm.h"

#include "Core/Registration/Terms/ImageTerm.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/Checks/TermChecks.h"
#include "Testing/Support/Naive/NaiveLocalCorrelation.h"

namespace tessera {
namespace {

using namespace testing;

// Agreement of both ways to warp a lattice, masks, boxes and bits: DenseImageTermTest has this metric too.

template <int D>
ImageTerm<D> termOf()
{
  const Parameters parameters = parametersOf("(RequiredRatioOfValidSamples 0.05)", D, 1, "Metric0");
  return ImageTerm<D>(parameters, makeMetric<LocalNormalizedCorrelation>(parameters));
}

template <int D>
void expectRightGradient(TermScene<D>& scene, const SampleSet<D>& samples, double step,
                         const std::string& what)
{
  SCOPED_TRACE(what);
  ImageTerm<D> term = termOf<D>();
  term.prepareForLevel(host, scene.level);
  expectGradientMatchesFiniteDifferences<D>(term, samples, scene.chain->parameters, step, 5e-3);
}

/// Voxels so far inside that none leaves the moving image.
template <int D>
VoxelLattice<D> innerBox(const TermScene<D>& scene, std::size_t step = 1)
{
  VoxelLattice<D> box{scene.fixed, nullptr, {}, {}, {}};
  box.first.fill(4);
  box.step.fill(step);
  for (int d = 0; d < D; ++d)
    box.count[d] = (scene.fixed->geometry.size[d] - 9) / step + 1;
  return box;
}

TEST(LatticeImageTermTest, GradientsOfTransformsThatGoPointByPointMatchFiniteDifferences)
{
  TermScene<3> scene(3, {27, 21, 17}, 0.6);
  scene.useAffine();
  expectRightGradient<3>(scene, innerBox(scene), 1e-5, "affine");
  scene.useAsInitial(Combination::compose);
  scene.useBSpline();
  expectRightGradient<3>(scene, innerBox(scene), 1e-3, "B-spline of an affine's points");
  TermScene<2> flat(3, {41, 37}, 0.6);
  flat.useAffine();
  expectRightGradient<2>(flat, innerBox(flat), 1e-5, "affine, 2D");
}

TEST(LatticeImageTermTest, AGridIsALatticeOfItsOwn)
{
  TermScene<3> scene(3, {27, 21, 17}, 0.6);
  scene.useAffine();
  expectRightGradient<3>(scene, innerBox(scene, 2), 1e-5, "every second voxel");
}

TEST(LatticeImageTermTest, ABoxIsAnImageOfItsOwn)
{
  TermScene<2> scene(1, {41, 37});
  scene.useAffine();
  std::ranges::fill(scene.chain->parameters, 0.0);
  scene.chain->parameters[0] = scene.chain->parameters[3] = 1;
  scene.moving = scene.level.moving = scene.fixed;
  scene.interpolator->prepareForLevel(host, scene.moving, 0);
  ImageTerm<2> term = termOf<2>();
  term.prepareForLevel(host, scene.level);

  // An image and itself: the coefficients tell how much contrast the windows of these voxels have.
  for (const std::size_t step : {1, 2, 3}) {
    const VoxelLattice<2> box = innerBox(scene, step);
    LocalCorrelationCase images({box.count[0], box.count[1], 1});
    const auto range = std::ranges::minmax(scene.fixed->voxels);
    for (std::size_t y = 0; y < box.count[1]; ++y)
      for (std::size_t x = 0; x < box.count[0]; ++x) {
        const float voxel = scene.fixed->voxels[(4 + step * y) * 41 + 4 + step * x];
        images.fixed[y * box.count[0] + x] = images.moving[y * box.count[0] + x] =
            100 * (voxel - range.min) / (range.max - range.min);
      }
    const TermValue found = term.evaluate(host, box, scene.chain->parameters, {});
    EXPECT_NEAR(found.value, naiveResult("", images).value, 1e-5) << step;
    EXPECT_EQ(found.valid, images.fixed.size()) << step;
  }
}

TermEvaluation inSlabs(const TermScene<3>& scene, const SampleSet<3>& samples, std::size_t bytes)
{
  const Parameters parameters = parametersOf("", 3, 1, "Metric0");
  LocalNormalizedCorrelation metric(parameters);
  metric.prepareForLevel(0, {0, 300, 0, 300});
  FieldOfLattice<3> fields(scene.level, DeviceKind::cpu);
  LatticeImageTerm<3> term(scene.level, {}, metric, bytes);
  const LatticeImageTerm<3>::Target target{std::get<VoxelLattice<3>>(samples), fields.at(samples),
                                           scene.chain->parameters};
  Context context{{}, 2};
  TermEvaluation result{{}, std::vector<double>(scene.chain->parameters.size(), 1e30)};
  const SampleCount count = term.accumulate(context, target, true);
  result.term = {term.finish(context, count.valid), count.valid, count.asked};
  term.pullBack(context, target, result.gradient);
  return result;
}

TEST(LatticeImageTermTest, SlabsGiveWhatTheWholeDoes)
{
  TermScene<3> scene(1, {27, 21, 17});
  const auto expectWhole = [&](const std::string& what) {
    const SampleSet<3> samples = scene.lattice(1);
    const TermEvaluation whole = inSlabs(scene, samples, std::size_t(1) << 30);
    for (const std::size_t slices : {1, 3, 16}) {
      const TermEvaluation slabs = inSlabs(scene, samples, slices * 27 * 21 * 16);
      EXPECT_EQ(slabs.term.value, whole.term.value) << what << slices << ": windows reach over slabs";
      EXPECT_EQ(slabs.term.valid, whole.term.valid) << what << slices;
      EXPECT_LE(largestDifference(slabs.gradient, whole.gradient), 1e-12 * checks::norm(whole.gradient))
          << what << slices;
    }
  };
  scene.useAffine();
  expectWhole("affine, slices ");
  scene.useBSpline();
  scene.level.registry = &allComponents();
  expectWhole("B-spline by tiles, slices ");
}

TEST(LatticeImageTermTest, TooFewValidSamplesAreAnError)
{
  TermScene<3> scene(1, {27, 21, 17});
  scene.useAffine();
  scene.chain->parameters[9] += 1000; // mm
  ImageTerm<3> term = termOf<3>();
  term.prepareForLevel(host, scene.level);
  EXPECT_THROW(term.evaluate(host, scene.lattice(1), scene.chain->parameters, {}), Error);
}

TEST(LatticeImageTermTest, PartsAreTimed)
{
  TermScene<3> scene(1, {27, 21, 17});
  scene.useAffine();
  ImageTerm<3> term = termOf<3>();
  term.prepareForLevel(host, scene.level);
  std::vector<double> gradient(scene.chain->parameters.size());
  std::vector<std::string> names;
  for (const Phase& phase : term.timePhases(host, scene.lattice(1), scene.chain->parameters, gradient))
    names.push_back(phase.name);
  EXPECT_EQ(names, (std::vector<std::string>{"transform", "interpolation", "metric", "pull-back"}));
  EXPECT_EQ(term.timePhases(host, scene.lattice(1), scene.chain->parameters, {}).size(), 3u);
}

}
}
