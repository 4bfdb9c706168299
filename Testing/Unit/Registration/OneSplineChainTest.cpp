#include "Core/Registration/Chain/OneSplineChain.h"

#include "Testing/Support/Scenes/BendingScenes.h"

namespace tessera {
namespace {

using namespace testing;

/// Its B-spline alone.
template <int D>
Vec<D> mappedBySpline(const OneSplineChain<D>& whole, const Vec<D>& pointMm)
{
  return mappedPoint<D>({nullptr, Combination::compose, whole.spline->transform, whole.spline->parameters},
                        pointMm);
}

template <int D>
void expectTheChainsPoints(const TermScene<D>& scene, const OneSplineChain<D>& whole, const std::string& what)
{
  const PointList<D> points = std::get<PointList<D>>(scene.points(200, -0.2));
  for (std::size_t i = 0; i < points.positions(); ++i) {
    Vec<D> pointMm;
    for (int d = 0; d < D; ++d)
      pointMm[d] = points.mm[d][i];
    const Vec<D> expected = mappedPoint<D>(*scene.chain, pointMm), askedMm = whole.toSpline(pointMm);
    Vec<D> result = whole.linear(pointMm), u{};
    if (whole.spline) {
      u = mappedBySpline<D>(whole, askedMm);
      for (int d = 0; d < D; ++d)
        u[d] -= askedMm[d];
    }
    u = apply<D>(whole.turn, u);
    for (int d = 0; d < D; ++d)
      EXPECT_NEAR(result[d] + u[d], expected[d], 1e-12 * 200)
          << what; // some roundings of coordinates below 200 mm
  }
}

/// How many transforms of a chain are not linear.
template <int D>
int nonlinear(const TransformChain<D>* chain)
{
  int count = 0;
  for (; chain; chain = chain->initial.get())
    count += chain->transform->linear() == nullptr;
  return count;
}

template <int D>
void checkAllScenes()
{
  int found = 0, refused = 0;
  const auto check = [&](const TermScene<D>& scene, const std::string& what) {
    const auto whole = asOneSpline<D>(*scene.chain);
    const int others = nonlinear(scene.chain.get());
    ASSERT_EQ(whole.has_value(), others < 2) << what;
    if (!whole) {
      ++refused;
      return;
    }
    ++found;
    EXPECT_EQ(whole->spline != nullptr, others == 1) << what;
    expectTheChainsPoints<D>(scene, *whole, what);
  };
  forEachBendingScene<D>(check);
  TermScene<D> scene(1, unequalSize<D>());
  scene.useAffine();
  check(scene, "affine");
  for (const Combination combination : {Combination::compose, Combination::add}) {
    scene.useAsInitial(combination);
    scene.useAffine();
    check(scene, "several affine ones");
  }
  EXPECT_GT(found, 10);
  EXPECT_GT(refused, 3);
}

TEST(OneSplineChain, IsTheChainIn2D)
{
  checkAllScenes<2>();
}

TEST(OneSplineChain, IsTheChainIn3D)
{
  checkAllScenes<3>();
}

}
}
