#pragma once

// Cost terms on CUDA beside the same terms on the CPU.

#include "Components/Transforms/EulerTransform.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/Checks/TermChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/MaskScenes.h"
#include "Testing/Support/Scenes/ModelScenes.h"

namespace tessera::testing {

/// How far results on CUDA may be from the CPU's, in shares of these: of the gradient's norm, and of the
/// number of valid samples, of which some lie within rounding of a border.
struct TermTolerance {
  double value = 0, gradient = 0, valid = 0;
  bool ofSameSamples = false; // other valid samples have another value
};

/// The CPU's results on CUDA; there the same bits again, and without a gradient. `evaluateOn(context,
/// withGradient)` makes the term and evaluates it.
template <class EvaluateOn>
void expectTheCpusResults(const EvaluateOn& evaluateOn, const TermTolerance& tolerance)
{
  const Context onCuda = makeContext({DeviceKind::cuda, 0}, 1);
  const TermEvaluation cpu = evaluateOn(Context{}, true), cuda = evaluateOn(onCuda, true),
                       again = evaluateOn(onCuda, true);
  const auto valid = static_cast<double>(cpu.term.valid);
  EXPECT_EQ(cuda.term.asked, cpu.term.asked);
  EXPECT_NEAR(static_cast<double>(cuda.term.valid), valid, tolerance.valid * valid);
  ASSERT_EQ(cuda.gradient.size(), cpu.gradient.size());
  if (!tolerance.ofSameSamples || cuda.term.valid == cpu.term.valid) {
    EXPECT_NEAR(cuda.term.value, cpu.term.value, tolerance.value * std::abs(cpu.term.value));
    EXPECT_LE(checks::norm(checks::moved(cuda.gradient, -1, cpu.gradient)),
              tolerance.gradient * checks::norm(cpu.gradient));
  }
  EXPECT_EQ(again.gradient, cuda.gradient) << "not the same bits again";
  EXPECT_EQ(again.term.value, cuda.term.value) << "not the same bits again";
  EXPECT_EQ(evaluateOn(onCuda, false).term.value, cuda.term.value) << "value alone";
}

/// The CPU's error, which holds `part`, on CUDA, too. `evaluateOn(context, true)` throws it.
template <class EvaluateOn>
void expectTheCpusError(const EvaluateOn& evaluateOn, const std::string& part)
{
  const std::string onCpu = messageOf([&] { evaluateOn(Context{}, true); });
  EXPECT_PRED2(contains, onCpu, part);
  EXPECT_EQ(messageOf([&] { evaluateOn(makeContext({DeviceKind::cuda, 0}, 1), true); }), onCpu);
}

/// Visits points, every voxel, and every `step`-th voxel along each axis.
template <int D, class Visit>
void forEachKindOfSamples(TermScene<D>& scene, std::size_t step, const Visit& visit)
{
  scene.level.registry = &allComponents();
  const std::pair<std::string, SampleSet<D>> sets[] = {
      {"points", scene.points(2500, 0)},
      {"every voxel", scene.lattice(1)},
      {"every " + std::to_string(step) + " voxels", scene.lattice(step)}};
  for (const auto& [name, samples] : sets) {
    SCOPED_TRACE(name);
    visit(samples);
  }
}

/// Visits an affine transform alone, and B-splines and Euler transforms that follow, composed and added; in
/// 3D with an interpolator of order `order`.
template <class Visit>
void forEachParametricScene(int order, const Visit& visit)
{
  for (const Combination combination : {Combination::compose, Combination::add}) {
    const std::string joined = combination == Combination::add ? " added to " : " after ";
    TermScene<3> scene(order, {27, 20, 18});
    scene.useAffine();
    visit(scene, "affine");
    scene.useAsInitial(combination);
    scene.useBSpline();
    visit(scene, "B-spline" + joined + "affine");
    scene.useAsInitial(combination);
    scene.use(std::make_shared<EulerTransform<3>>(parametersOf("", 3, 1, "Transform0")), 0.02);
    visit(scene, "Euler" + joined + "B-spline" + joined + "affine");
    TermScene<2> flat(3, {41, 36});
    flat.useAffine();
    flat.useAsInitial(combination);
    flat.useBSpline();
    visit(flat, "2D B-spline" + joined + "affine");
  }
}

/// Visits a B-spline and an affine transform in masks of both images.
template <class Visit>
void forEachMaskedScene(int order, const Visit& visit)
{
  TermScene<3> scene(order, {27, 20, 18});
  useMasksOfABall(scene);
  scene.useBSpline();
  visit(scene, "B-spline in masks");
  scene.useAffine();
  visit(scene, "affine in masks");
}

}
