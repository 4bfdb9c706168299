#include "Core/Parameters/Parameters.h"
#include "Core/Parameters/ParameterText.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"

#include <cmath>

namespace tessera {
namespace {

using namespace testing;

const auto bins = integerParameter("Bins", 32, 1, Arity::perLevel, "", "histogram bins");
const auto step = realParameter("Step", 0.5, Arity::single, "mm", "step");
const auto use = booleanParameter("Use", true, Arity::single, "use it");
const auto method =
    textParameter("Method", "Origins", Arity::single, "method", {"Origins", "GeometricalCenter"});
const auto file = textParameter("File", "", Arity::single, "file");

Parameters parametersOf(const std::string& text, const std::string& label = "")
{
  return Parameters(mapOf(text, "Rigid.txt"), label, 3, 4);
}

TEST(Parameters, AnAbsentParameterHasItsDefault)
{
  const Parameters parameters = parametersOf("(Empty \"\")\n(Bins \"\")");

  EXPECT_EQ(parameters.get(bins, 2), 32);
  EXPECT_EQ(parameters.get(step), 0.5);
  EXPECT_TRUE(parameters.get(use));
  EXPECT_EQ(parameters.get(method), "Origins");
  EXPECT_FALSE(parameters.find(bins).has_value());
  EXPECT_TRUE(parameters.all(bins).empty());
  EXPECT_FALSE(parameters.has("Bins"));
}

TEST(Parameters, MissingLevelsTakeTheFirstValue)
{
  const Parameters parameters = parametersOf("(Bins 8 16)");

  EXPECT_EQ(parameters.get(bins, 0), 8);
  EXPECT_EQ(parameters.get(bins, 1), 16);
  EXPECT_EQ(parameters.get(bins, 2), 8);
  EXPECT_FALSE(parameters.find(bins, 2).has_value());
  EXPECT_EQ(parameters.all(bins), (std::vector<std::int64_t>{8, 16}));
}

TEST(Parameters, ThePrefixedNameWinsEvenWithItsFirstValue)
{
  const Parameters parameters = parametersOf("(Metric1Bins 64)\n(Bins 8 16)", "Metric1");

  EXPECT_EQ(parameters.get(bins, 0), 64);
  EXPECT_EQ(parameters.get(bins, 1), 64); // not 16: last found wins
  EXPECT_EQ(parameters.find(bins, 1), 16);
  EXPECT_EQ(parameters.all(bins), std::vector<std::int64_t>{64});
  EXPECT_EQ(parameters.withLabel("Metric0").get(bins, 1), 16);
  EXPECT_EQ(parameters.where("Bins"), "Rigid.txt:1: (Metric1Bins 64)");
}

TEST(Parameters, IntegersMayBeWrittenAsWholeReals)
{
  for (const char* text : {"6", "+6", "6.000000", "0.6e1", "\" 6\""})
    EXPECT_EQ(parametersOf(std::string("(Bins ") + text + ")").get(bins), 6) << text;
  for (const char* text : {"32.5", "abc", "6x", "1,5", "6.0.0", "0x10", "--6", "+-6", "nan", "inf", "1e30"})
    EXPECT_PRED2(contains, errorText([&] { parametersOf(std::string("(Bins ") + text + ")").get(bins); }),
                 "Rigid.txt:1: (Bins ")
        << text;
}

TEST(Parameters, IntegersKeepAllTheirDigits)
{
  const auto seed = integerParameter("Seed", 1, 0, Arity::single, "", "seed");

  EXPECT_EQ(parametersOf("(Seed 9007199254740993)").get(seed), 9007199254740993); // 2^53 + 1 is no double
}

TEST(Parameters, RealsAreReadToTheLastBit)
{
  const double third = 1.0 / 3.0;
  for (const double value : {third, 1e-05, -0.0, 5e-324, 1.7976931348623157e308, 0.1 + 0.2})
    EXPECT_EQ(parametersOf("(Step " + realText(value) + ")").get(step), value) << realText(value);
  EXPECT_EQ(parametersOf("(Step +2)").get(step), 2);
  EXPECT_EQ(parametersOf("(Step .5)").get(step), 0.5);
  EXPECT_EQ(parametersOf("(Step 2.)").get(step), 2);
  EXPECT_EQ(parametersOf("(Step 1e-400)").get(step), 0);
}

TEST(Parameters, RealsMustBeFiniteNumbers)
{
  const auto messageOf = [&](const std::string& text) {
    return errorText([&] { parametersOf("(Step \"" + text + "\")").get(step); });
  };
  for (const char* text : {"nan", "NaN", "inf", "-inf", "1e400"})
    EXPECT_PRED2(contains, messageOf(text), "is not a finite number. Allowed: a number.") << text;
  for (const char* text : {"1,5", "2mm", "1%", "true", "0x1p3", "+ 2"})
    EXPECT_PRED2(contains, messageOf(text), "is not a number. Allowed: a number.") << text;
}

TEST(Parameters, BooleansAreExactlyTrueOrFalse)
{
  EXPECT_FALSE(parametersOf("(Use false)").get(use));
  EXPECT_TRUE(parametersOf("(Use \"true\")").get(use));
  EXPECT_EQ(errorText([] { parametersOf("(Use \"True\")").get(use); }),
            "Rigid.txt:1: (Use \"True\"): \"True\" is neither true nor false. Write \"true\", in lower case "
            "and without blanks. Allowed: \"true\" or \"false\".");
  for (const char* text : {"1", "0", "yes", " true"})
    errorText([&] { parametersOf(std::string("(Use \"") + text + "\")").get(use); });
}

TEST(Parameters, MessagesShowTheFileAndShortenLongLists)
{
  const Parameters parameters = parametersOf("(Bins 1 2 3 4 5 6 7 8 9 10)");

  EXPECT_EQ(parameters.where("Bins"), "Rigid.txt:1: (Bins 1 2 3 4 5 6 7 8 ..., 10 values)");
  EXPECT_EQ(parameters.where("Nothing"), "Rigid.txt: (Nothing)");
  EXPECT_EQ(errorText([&] { parameters.fail("Nothing", "not given", "Allowed: 1"); }),
            "Rigid.txt: (Nothing): not given. Allowed: 1.");
}

TEST(Parameters, RowsShowTheirDefaultAsAFileWouldWriteIt)
{
  EXPECT_EQ(realParameter("A", 100000, Arity::single, "", "").defaultText, "100000");
  EXPECT_EQ(realParameter("A", 1e-8, Arity::single, "", "").defaultText, "1e-08");
  EXPECT_EQ(realParameter("A", std::nan(""), Arity::single, "", "").defaultText, "");
  EXPECT_EQ(bins.defaultText, "32");
  EXPECT_EQ(use.defaultText, "true");
  EXPECT_EQ(method.defaultText, "Origins");
}

}
}
