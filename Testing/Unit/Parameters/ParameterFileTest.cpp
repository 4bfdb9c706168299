#include "Core/Parameters/ParameterMap.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <filesystem>
#include <random>

namespace tessera {
namespace {

using namespace testing;

ParameterMap parse(const std::string& text)
{
  std::vector<std::string> notes;
  return parseParameterText(text, "Rigid.txt", notes);
}

std::string parseError(const std::string& text)
{
  return errorText([&] { parse(text); });
}

std::vector<std::string> valuesOf(const std::string& line)
{
  const ParameterMap map = parse(line);
  EXPECT_EQ(map.entries().size(), 1u) << line;
  return map.entries().at(0).values;
}

using Values = std::vector<std::string>;

TEST(ParameterFile, ReadsNamesValuesAndLines)
{
  const ParameterMap map =
      parse("// comment\n\n(Metric \"AdvancedMeanSquares\")\n  (SP_A 20 30.5)  // two\n");

  ASSERT_EQ(map.entries().size(), 2u);
  EXPECT_EQ(map.entries()[0].name, "Metric");
  EXPECT_EQ(map.entries()[0].line, 3u);
  EXPECT_EQ(map.entries()[1].values, (Values{"20", "30.5"}));
  EXPECT_EQ(map.where(map.entries()[1]), "Rigid.txt:4");
  EXPECT_EQ(map.find("Metric"), &map.entries()[0]);
  EXPECT_EQ(map.find("Metri"), nullptr);
}

TEST(ParameterFile, QuotesOnlyGroup)
{
  EXPECT_EQ(valuesOf("(ErodeMask \"false\")"), valuesOf("(ErodeMask false)"));
  EXPECT_EQ(valuesOf("(A \"20\"  \"a b\" c)"), (Values{"20", "a b", "c"}));
  EXPECT_EQ(valuesOf("(A \"x\"\"y\")"), (Values{"x", "y"}));
  EXPECT_EQ(valuesOf("(A \" Origins\")"), (Values{" Origins"}));
}

TEST(ParameterFile, AnEmptyQuotedValueIsNoValue)
{
  EXPECT_EQ(valuesOf("(A \"\")"), Values{});
  EXPECT_EQ(valuesOf("(A \"\" 1)"), Values{"1"});
}

TEST(ParameterFile, TakesTabsCarriageReturnsAndAMissingLastLineEnd)
{
  EXPECT_EQ(valuesOf("\t(A\t1\t2)\t\r\n"), (Values{"1", "2"}));
  EXPECT_EQ(valuesOf("(A \"x\ty\")"), (Values{"x y"}));
  EXPECT_EQ(valuesOf("(A 1)"), Values{"1"});
  EXPECT_TRUE(parse("").entries().empty());
  EXPECT_TRUE(parse("\r\n  \r\n// only this").entries().empty());
}

TEST(ParameterFile, TakesTheValueCharactersThatElastix50Refuses)
{
  EXPECT_EQ(valuesOf("(File \"a,b;c!@#$%&|<>?.mha\")"), Values{"a,b;c!@#$%&|<>?.mha"});
  EXPECT_EQ(valuesOf("(File \"copy (1).mha\")"), Values{"copy (1).mha"});
}

TEST(ParameterFile, RefusesLinesWithoutNameOrValue)
{
  for (const char* line : {"()", "(A)", "(A )"})
    EXPECT_PRED2(contains, parseError(line), "a name and at least one value are needed") << line;
  EXPECT_PRED2(contains, parseError("( )"), "a name and at least one value are needed");
  EXPECT_PRED2(contains, parseError("(\"A\" 1)"), "a quote before the name");
}

TEST(ParameterFile, RefusesTheNameCharactersThatElastixRefuses)
{
  for (const char c : std::string(".,:;!@#$%^&'*+|<>?")) {
    const std::string message = parseError(std::string("(Erode") + c + "Mask \"true\")");
    EXPECT_PRED2(contains, message, std::string("contains \"") + c + "\"");
  }
  EXPECT_EQ(parse("(Erode-Mask_1 1)").entries()[0].name, "Erode-Mask_1");
}

TEST(ParameterFile, ReadsBehindAByteOrderMark)
{
  std::vector<std::string> notes;
  EXPECT_NE(parseParameterText("\xEF\xBB\xBF(A 1)\n", "Rigid.txt", notes).find("A"), nullptr);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_PRED2(contains, notes[0], "Rigid.txt:1: a byte order mark");
}

TEST(ParameterFile, ShowsNoControlCharactersAndNoEndlessLines)
{
  const std::string message = parseError("x\x1b[31m" + std::string(5000, 'y'));

  EXPECT_PRED2(contains, message, "x?[31m");
  EXPECT_LT(message.size(), 300u);
}

TEST(ParameterFile, DamagedTextIsReadOrRefusedButNeverCrashes)
{
  const std::string valid = "// rigid\n(Metric \"AdvancedMeanSquares\" \"B\")\r\n(SP_A 20.0 1e-5)\n\t(UseX "
                            "\"true\") // yes\n(File \"\")\n";
  const std::string alphabet = "()\"/ \t\r\n\\A1.-\xEF\xBB\xBF\xFF";
  std::mt19937 random(7); // raw output: the same on every compiler
  int refused = 0, accepted = 0;

  for (int round = 0; round < 20000; ++round) {
    std::string text = valid;
    for (unsigned change = random() % 4; change > 0; --change)
      text[random() % text.size()] = alphabet[random() % alphabet.size()];
    text.resize(random() % (text.size() + 1));
    try {
      const ParameterMap map = parse(text);
      for (const ParameterEntry& entry : map.entries())
        ASSERT_EQ(entry.name.find(' '), std::string::npos);
      ++accepted;
    } catch (const Error& error) {
      ASSERT_TRUE(std::string(error.what()).starts_with("Rigid.txt:")) << error.what();
      ++refused;
    }
  }

  EXPECT_GT(refused, 1000); // the damage reaches both outcomes
  EXPECT_GT(accepted, 1000);
}

TEST(ParameterFile, ReadsEveryRealFile)
{
  const std::string data = TESSERA_DATA_DIR;
  if (data.empty())
    GTEST_SKIP() << "TESSERA_DATA_DIR is not set";
  int files = 0;
  std::vector<std::string> notes;
  for (const auto& item : std::filesystem::recursive_directory_iterator(data + "/parameter-files")) {
    if (item.path().extension() != ".txt")
      continue;
    ++files;
    EXPECT_NO_THROW(EXPECT_GE(readParameterFile(item.path(), notes).entries().size(), 10u) << item.path())
        << item.path();
  }

  EXPECT_EQ(files, 168);
  EXPECT_TRUE(notes.empty()); // none of them gives a parameter twice
}

}
}
