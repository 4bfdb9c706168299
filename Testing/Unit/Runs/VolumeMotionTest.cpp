// needs: Runs
#include "Core/Runs/Following/VolumeMotion.h"

#include "Testing/Support/AllComponents.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace testing;

/// EulerTransform in the world's axes, LPS: R = Rz Rx Ry about a centre.
TransformChain<3> euler(const std::vector<double>& parameters, const std::string& centre)
{
  TransformChain<3> chain;
  const std::shared_ptr<Transform<3>> transform =
      allComponents().create<Transform<3>>("EulerTransform", testing::parametersOf("", 3), "a test");
  std::string values;
  for (const double value : parameters)
    values += " " + std::to_string(value);
  chain.parameters = transform->restore(
      {}, testing::parametersOf(
              "(TransformParameters" + values + ")\n(CenterOfRotationPoint " + centre + ")\n", 3));
  chain.transform = transform;
  return chain;
}

const ImageGeometry<3> reference = centredGeometry<3>({65, 65, 37}, {3, 3, 3.6});

TEST(VolumeMotion, AShiftOfThePatientToTheLeftIsNegativeInTheAxesOfPatients)
{
  const TransformChain<3> chain = euler({0, 0, 0, 2, -1, 0.5}, "5 5 5");
  const auto motion = motionOf<3>(&chain, reference);
  ASSERT_TRUE(motion);
  EXPECT_NEAR(motion->shiftMm[0], -2, 1e-9);
  EXPECT_NEAR(motion->shiftMm[1], 1, 1e-9);
  EXPECT_NEAR(motion->shiftMm[2], 0.5, 1e-9);
  for (const double turn : motion->turnsRad)
    EXPECT_NEAR(turn, 0, 1e-9);
}

TEST(VolumeMotion, ATurnAboutAnotherCentreShiftsTheCentreOfTheReference)
{
  const TransformChain<3> chain = euler({0, 0, 0.1, 0, 0, 0}, "10 0 0");
  const auto motion = motionOf<3>(&chain, reference);
  ASSERT_TRUE(motion);
  EXPECT_NEAR(motion->turnsRad[2], 0.1, 1e-6);
  // (0, 0, 0) - (10, 0, 0) turned by 0.1, in LPS: (-9.95, -0.998, 0) + (10, 0, 0)
  EXPECT_NEAR(motion->shiftMm[0], -(10 - 10 * std::cos(0.1)), 1e-6);
  EXPECT_NEAR(motion->shiftMm[1], 10 * std::sin(0.1), 1e-6);
}

TEST(VolumeMotion, WithoutAChainThereIsNone)
{
  EXPECT_FALSE(motionOf<3>(nullptr, reference));
}

TEST(VolumeMotion, DisplacementsAreThoseOfThePapers)
{
  VolumeMotion before, now;
  before.shiftMm = {1, 0, 0};
  now.shiftMm = {1.5, -0.25, 0};
  now.turnsRad = {0, 0, 0.01};
  EXPECT_NEAR(displacementOfPower(before, now, 50), 0.5 + 0.25 + 0.5, 1e-12);
  // |R - 1|^2 = 4 (1 - cos 0.01), R^2 / 5 of it with R = 80, and the shifts
  EXPECT_NEAR(displacementOfJenkinson(before, now, 80),
              std::sqrt(1280 * 4 * (1 - std::cos(0.01)) + 0.25 + 0.0625), 1e-9);
}

/// The mean over a ball about the centre of the reference, where FSL has matrices from volumes to it:
/// M1 M2^-1 - 1. Of x x^T the mean is 80^2 / 5 on the diagonal.
TEST(VolumeMotion, JenkinsonsDisplacementIsThatOfFslsMatrices)
{
  const TransformChain<3> one = euler({0.2, -0.1, 0.3, 5, -3, 8}, "5 5 5"),
                          other = euler({-0.1, 0.15, 0.25, -6, 2, 9}, "-20 0 9");
  const auto changed = [&](const Vec<3>& pointMm) { // (T1^-1 T2)(x) - x, T1^-1 by its own matrix
    const Vec<3> originMm = mappedPoint<3>(one, {}), movedMm = mappedPoint<3>(other, pointMm);
    Vec<3> changeMm;
    for (int d = 0; d < 3; ++d) {
      Vec<3> axis{};
      axis[d] = 1;
      const Vec<3> columnEndMm = mappedPoint<3>(one, axis); // the inverse of a rotation is its transpose
      changeMm[d] = -pointMm[d];
      for (int row = 0; row < 3; ++row)
        changeMm[d] += (columnEndMm[row] - originMm[row]) * (movedMm[row] - originMm[row]);
    }
    return changeMm;
  };
  const auto squareOf = [](const Vec<3>& mm) { return mm[0] * mm[0] + mm[1] * mm[1] + mm[2] * mm[2]; };
  const Vec<3> shiftMm = changed({}); // the centre of the reference is 0
  double square = squareOf(shiftMm);
  for (int d = 0; d < 3; ++d) {
    Vec<3> axis{};
    axis[d] = 1;
    Vec<3> columnMm = changed(axis);
    for (int row = 0; row < 3; ++row)
      columnMm[row] -= shiftMm[row];
    square += 80 * 80 / 5.0 * squareOf(columnMm);
  }
  EXPECT_NEAR(displacementOfJenkinson(*motionOf<3>(&one, reference), *motionOf<3>(&other, reference)),
              std::sqrt(square), 1e-6);
}

TEST(VolumeMotion, TheTableHasTheOrderOfTheProgramThatReadsIt)
{
  VolumeMotion moved{.turnsRad = {0.1, 0.2, 0.3}, .shiftMm = {1, 2, 3}};
  const std::string fsl = motionTable({VolumeMotion{}, moved, std::nullopt}, "fsl"),
                    spm = motionTable({moved}, "spm");
  EXPECT_TRUE(fsl.starts_with("rot_x\trot_y\trot_z\ttrans_x"));
  EXPECT_NE(fsl.find("\n0.1000000\t0.2000000\t0.3000000\t1.0000000\t2.0000000\t3.0000000\t36.000000\t"),
            std::string::npos)
      << fsl;
  EXPECT_TRUE(fsl.ends_with("n/a\tn/a\tn/a\tn/a\tn/a\tn/a\tn/a\tn/a\n"));
  EXPECT_NE(spm.find("\n1.0000000\t2.0000000\t3.0000000\t0.1000000\t0.2000000\t0.3000000\t0\t0\n"),
            std::string::npos)
      << spm;
}

}
}
