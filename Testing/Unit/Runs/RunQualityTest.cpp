// needs: Runs
#include "Core/Runs/RunQuality.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

/// Of a pair that fits: no sign.
RunQuality fitting()
{
  RunQuality quality;
  quality.overlapBefore = 0.9;
  quality.overlap = 0.85;
  quality.determinant = 1.1;
  quality.mutualInformation = {1, 0.6, 0.8, 0.5};
  return quality;
}

TEST(RunQualityTest, AFittingPairHasNoSignOfAMismatch)
{
  EXPECT_EQ(fitting().mismatchSigns(), std::vector<std::string>{});
  RunQuality withoutContrast;
  withoutContrast.overlapBefore = 0.5;
  withoutContrast.overlap = 0.4;
  EXPECT_EQ(withoutContrast.mismatchSigns(), std::vector<std::string>{});
}

TEST(RunQualityTest, EachSignIsToldWithItsFigures)
{
  const auto signs = [](auto&& change) {
    RunQuality quality = fitting();
    change(quality);
    const std::vector<std::string> found = quality.mismatchSigns();
    return found.size() == 1 ? found.front() : std::to_string(found.size());
  };
  EXPECT_EQ(signs([](RunQuality& q) { q.overlapBefore = 0; }),
            "nothing of the fixed image (and mask) lay in the moving image before");
  EXPECT_EQ(signs([](RunQuality& q) { q.overlapBefore = 0.004; }),
            "only 0.4 % of the fixed image (and mask) lay in the moving image before");
  EXPECT_EQ(signs([](RunQuality& q) { q.fixedIsInPatches = q.movingIsInPatches = true; }), "0");
  EXPECT_EQ(signs([](RunQuality& q) { q.movingIsInPatches = true; }), "2"); // which suffice
  EXPECT_EQ(signs([](RunQuality& q) { q.overlap = 0.59; }), "the overlap has fallen from 90.0 % to 59.0 %");
  EXPECT_EQ(signs([](RunQuality& q) { q.overlap = 0.61; }), "0");
  EXPECT_EQ(signs([](RunQuality& q) { q.determinant = 0.056; }),
            "the transform changes volumes to 0.056 times theirs");
  EXPECT_EQ(signs([](RunQuality& q) { q.determinant = 2.1; }),
            "the transform changes volumes to 2.100 times theirs");
  const std::string before = "they fit hardly worse where one is ",
                    turned = " % of their mutual information is left at the best of ten large turns, ";
  EXPECT_EQ(signs([](RunQuality& q) { q.mutualInformation->turnedAnyhow = 0.9; }),
            before + "turned: 90" + turned + "80 % at one by 10 degrees");
  EXPECT_EQ(signs([](RunQuality& q) { q.mutualInformation->turnedBy10Degrees = 1.2; }),
            before + "turned: 60" + turned + "120 % at one by 10 degrees");
  EXPECT_EQ(signs([](RunQuality& q) { q.mutualInformation->shifted = 0.83; }),
            before + "shifted by a fifth of its extent: 83 % of their mutual information is left");
}

}
}
