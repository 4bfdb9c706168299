#include "Core/Registry/Registry.h"

#include "Core/Registry/Describe.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"

#include <limits>
#include <stdexcept>

namespace tessera {
namespace {

using namespace testing;

struct Shape {
  static constexpr const char* roleName = "Metric";
  virtual ~Shape() = default;
  virtual int corners() const = 0;
};

struct OtherShape : Shape {};

struct Square : Shape {
  explicit Square(const Parameters& parameters) : size(parameters.get(sizeRow())) {}
  static Parameter<std::int64_t> sizeRow()
  {
    return integerParameter("Size", 2, 1, Arity::perLevel, "voxels", "length of a side");
  }
  static const ComponentDescription& description()
  {
    static const ComponentDescription d{
        "Metric", "AdvancedMeanSquares", "four | corners", {sizeRow()}, {"MeanSquaresOfOld"}};
    return d;
  }
  int corners() const override { return static_cast<int>(size); }
  std::int64_t size;
};

struct Triangle : Shape {
  explicit Triangle(const Parameters&) {}
  static const ComponentDescription& description()
  {
    static const ComponentDescription d{"Metric", "Triangle", "three corners (TRI-3)"};
    return d;
  }
  int corners() const override { return 3; }
};

Registry shapes()
{
  Registry registry;
  registry.add<Shape, Triangle>();
  registry.add<Shape, Square>();
  return registry;
}

Parameters someParameters()
{
  return parametersOf("(Size 7)", 3, 1, "Metric0");
}

std::string createError(const std::string& name, const std::string& where)
{
  return errorText([&] { shapes().create<Shape>(name, someParameters(), where); });
}

TEST(Registry, CreatesByNameAndAliasWithTheParameters)
{
  const Registry registry = shapes();

  EXPECT_EQ(registry.create<Shape>("AdvancedMeanSquares", someParameters(), "")->corners(), 7);
  EXPECT_EQ(registry.create<Shape>("MeanSquaresOfOld", someParameters(), "")->corners(), 7);
  EXPECT_EQ(registry.create<Shape>("Triangle", someParameters(), "")->corners(), 3);
}

TEST(Registry, FindsDescriptionsByNameAndAlias)
{
  const Registry registry = shapes();

  ASSERT_NE(registry.find("Metric", "MeanSquaresOfOld"), nullptr);
  EXPECT_EQ(registry.find("Metric", "MeanSquaresOfOld")->name, "AdvancedMeanSquares");
  EXPECT_EQ(registry.find("Metric", "advancedMeanSquares"),
            nullptr); // exact and case sensitive, as in elastix
  EXPECT_EQ(registry.find("Optimizer", "Triangle"), nullptr);
}

TEST(Registry, ListsAllByRoleAndName)
{
  const Registry registry = shapes();
  const auto all = registry.all();

  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]->name, "AdvancedMeanSquares");
  EXPECT_EQ(all[1]->name, "Triangle");
}

TEST(Registry, AnAbbreviationOfASummaryIsAHint)
{
  EXPECT_EQ(createError("TRI", "--metric"), "--metric: (Metric \"TRI\"): no such metric. Did you mean "
                                            "\"Triangle\"? Allowed: AdvancedMeanSquares, Triangle.");
  EXPECT_FALSE(contains(createError("TR", "--metric"), "Did you mean"));
}

TEST(Registry, AComponentOfAnotherDimensionIsAnError)
{
  EXPECT_TRUE(
      contains(errorText([] { shapes().create<OtherShape>("Triangle", someParameters(), "Rigid.txt:9"); }),
               "this metric does not exist for images of this dimension"));
}

TEST(Registry, NamesAndAliasesAreUniqueInARole)
{
  Registry registry = shapes();
  const auto make = [](const Parameters& parameters) { return std::make_unique<Triangle>(parameters); };

  EXPECT_THROW((registry.add<Shape, Triangle>()), std::logic_error);
  EXPECT_THROW(registry.add<Shape>({"Metric", "New", "", {}, {"Triangle"}}, make), std::logic_error);
  EXPECT_THROW(registry.add<Shape>({"Optimizer", "Other", ""}, make),
               std::logic_error); // Shape is a Metric
  EXPECT_NO_THROW(registry.add<Shape>({"Metric", "Other", ""}, make));
}

TEST(Describe, ShowsEveryColumnOfTheTable)
{
  EXPECT_EQ(describeComponent(Square::description()),
            "(Metric \"AdvancedMeanSquares\")\n"
            "  four | corners\n"
            "  Other names: \"MeanSquaresOfOld\"\n"
            "\n"
            "  Parameter  Default  Values                                          Meaning\n"
            "  Size       2        whole number, per level, at least 1, in voxels  length of a side\n");
  EXPECT_EQ(describeComponent(Triangle::description()),
            "(Metric \"Triangle\")\n  three corners (TRI-3)\n\n  No parameters.\n");
}

TEST(Describe, WritesAMarkdownTable)
{
  EXPECT_EQ(describeAsMarkdown(Square::description()),
            "## AdvancedMeanSquares\n\n"
            "`(Metric \"AdvancedMeanSquares\")`: four | corners\n\n"
            "Other names: `MeanSquaresOfOld`\n\n"
            "| Parameter | Default | Values | Meaning |\n"
            "| --- | --- | --- | --- |\n"
            "| `Size` | 2 | whole number, per level, at least 1, in voxels | length of a side |\n");
}

TEST(Describe, SaysBoundsInWordsAndKeepsMarkdownWhole)
{
  Parameter<double> spacing = realParameter("Spacing", 8, Arity::single, "mm", "of the file <name>");
  spacing.minimum = aboveZero;
  const Parameter<std::int64_t> index =
      integerParameter("Index", 0, std::numeric_limits<int>::min(), Arity::single, "voxels", "any");
  const ComponentDescription noChoice{"", "Program", "what is always read", {spacing, index}};

  EXPECT_TRUE(describeComponent(noChoice).starts_with("Program\n  what is always read\n"));
  EXPECT_EQ(describeAsMarkdown(noChoice),
            "## Program\n\nwhat is always read\n\n"
            "| Parameter | Default | Values | Meaning |\n"
            "| --- | --- | --- | --- |\n"
            "| `Spacing` | 8 | number, above 0, in mm | of the file \\<name> |\n"
            "| `Index` | 0 | whole number, in voxels | any |\n");
}

}
}
