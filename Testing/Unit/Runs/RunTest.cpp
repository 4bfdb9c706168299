// needs: Runs
#include "Core/Runs/Run.h"

#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Resampler.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/StageRuns.h"

#include <gtest/gtest.h>

#include <map>

namespace tessera {
namespace {

using namespace testing;

using Counts = std::map<std::string, int>; // by "role name"

/// All components, each of which counts how often it is made.
class CountingRegistry {
public:
  CountingRegistry()
  {
    for (const ComponentDescription* description : allComponents().all())
      addRoles<Registration, Optimizer, CostTerm<2>, ImageSampler<2>, Interpolator<2>, Transform<2>,
               FixedImagePyramid<2>, MovingImagePyramid<2>, ResampleInterpolator<2>, Resampler<2>>(
          *description);
  }

  const Registry& registry() const { return registry_; }
  const Counts& made() const { return made_; }

private:
  template <class... Roles>
  void addRoles(const ComponentDescription& description)
  {
    (addIfOf<Roles>(description), ...);
  }
  template <class Role>
  void addIfOf(const ComponentDescription& description)
  {
    if (description.role != Role::roleName)
      return;
    const std::string name = description.name;
    registry_.add<Role>(description, [this, name](const Parameters& parameters) {
      ++made_[std::string(Role::roleName) + " " + name];
      return allComponents().create<Role>(name, parameters, "");
    });
  }

  Registry registry_;
  Counts made_;
};

class RunTest : public ::testing::Test {
protected:
  RunTest()
  {
    const DrawnStage<2> drawn = stageInput<2>({40, 30}, "");
    writeImage<2>(folder_ / "f.mha", *drawn.fixed.front(), PixelType::float32, false, 1);
    writeImage<2>(folder_ / "m.mha", *drawn.moving.front(), PixelType::float32, false, 1);
    parameterFile_ = folder_.write("p.txt", R"((Transform "BSplineTransform")
(FinalGridSpacingInPhysicalUnits 8)
(Registration "MultiMetricMultiResolutionRegistration")
(Metric "AdvancedMattesMutualInformation" "TransformBendingEnergyPenalty")
(ImageSampler "Random")
(Interpolator "LinearInterpolator")
(FixedImagePyramid "FixedSmoothingImagePyramid")
(MovingImagePyramid "MovingSmoothingImagePyramid")
(Optimizer "StandardGradientDescent")
(ResampleInterpolator "FinalBSplineInterpolator")
(Resampler "DefaultResampler")
(NumberOfResolutions 2)
(MaximumNumberOfIterations 2)
(WriteResultImageAfterEachResolution "true")
(ResultImageFormat "mha")
)");
  }

  RunRequest request(int stages, const std::string& device) const
  {
    RunRequest request;
    request.fixed = {{folder_ / "f.mha"}};
    request.moving = {{folder_ / "m.mha"}};
    request.stages.assign(stages, readStageText(parameterFile_));
    request.device = device;
    return request;
  }

  /// Makes so many stages of one parameter file.
  Counts madeBy(int stages, const std::string& device, bool planOnly = false)
  {
    const CountingRegistry counting;
    const RunRequest given = request(stages, device);
    Log log;
    tessera::Run<2> run(counting.registry(), given, log);
    planOnly ? static_cast<void>(run.plan()) : static_cast<void>(run.execute());
    return counting.made();
  }

  /// Each component so many times, and interpolators for each result whose quality is measured.
  static Counts each(int times, int results)
  {
    Counts counts = {{"Registration MultiMetricMultiResolutionRegistration", times},
                     {"Transform BSplineTransform", times},
                     {"Metric AdvancedMattesMutualInformation", times},
                     {"Metric TransformBendingEnergyPenalty", times},
                     {"ImageSampler Random", times},
                     {"Interpolator LinearInterpolator", 2 * times + results}, // one for each metric
                     {"FixedImagePyramid SmoothingImagePyramid", times},
                     {"MovingImagePyramid SmoothingImagePyramid", times},
                     {"Optimizer StandardGradientDescent", times},
                     {"ResampleInterpolator BSplineInterpolator", times},
                     {"Resampler DefaultResampler", times}};
    if (results > 0)
      counts["Interpolator NearestNeighborInterpolator"] = 2 * results; // one for each image
    return counts;
  }

private:
  TemporaryFolder folder_;
  std::string parameterFile_;
};

TEST_F(RunTest, APlanMakesEachComponentOnce)
{
  EXPECT_EQ(madeBy(1, "auto", true), each(1, 0));
}

TEST_F(RunTest, ARunMakesEachComponentOnceForEachStage)
{
  EXPECT_EQ(madeBy(1, "cpu"), each(1, 1));
  EXPECT_EQ(madeBy(2, "auto"), each(2, 1)); // on a CUDA device if there is one
}

}
}
