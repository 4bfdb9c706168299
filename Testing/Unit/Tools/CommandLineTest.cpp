// needs: Tools
#include "Tools/Common/CommandLine.h"
#include "Tools/Common/Process.h"

#include "Testing/Support/ErrorText.h"

#include <cstdlib>

namespace tessera {
namespace {

const std::vector<OptionGroup>& options()
{
  static const std::vector<OptionGroup> groups{{"Images",
                                                {{"f", "FILE", "fixed", false, true},
                                                 {"fMask", "FILE", "mask", false, true},
                                                 {"p", "FILE", "parameters", true},
                                                 {"out", "FOLDER", "output"},
                                                 {"t0", "FILE", "initial"},
                                                 {"check", "", "check only"}}},
                                               commonOptions()};
  return groups;
}

Arguments parse(const std::vector<std::string>& tokens)
{
  return parseCommandLine(options(), tokens);
}

std::string messageOf(const std::vector<std::string>& tokens)
{
  return testing::errorText([&] { parse(tokens); });
}

using Texts = std::vector<std::string>;

TEST(CommandLine, SingleAndDoubleDashesMeanTheSame)
{
  const Arguments single = parse({"-threads", "4", "-check"});
  const Arguments twice = parse({"--threads", "4", "--check"});
  const Arguments equals = parse({"--threads=4", "--check"});

  for (const Arguments* arguments : {&single, &twice, &equals}) {
    EXPECT_EQ(arguments->text("threads"), "4");
    EXPECT_TRUE(arguments->has("check"));
  }
}

TEST(CommandLine, IsShownAsAShellTakesIt)
{
  EXPECT_EQ(commandLineText("/opt/tessera", {"-f", "my image.mha", "-out", "it's", "-p", ""}),
            R"(/opt/tessera -f 'my image.mha' -out 'it'\''s' -p '')");
}

TEST(CommandLine, RepeatedParameterFilesKeepTheirOrder)
{
  EXPECT_EQ(parse({"-p", "b.txt", "-out", "x", "-p", "a.txt"}).all("p"), (Texts{"b.txt", "a.txt"}));
}

TEST(CommandLine, TwelveIndexedImagesAreOrderedAsNumbers)
{
  Texts tokens{"-fMask", "mask"}, expected;
  for (int i = 0; i < 12; ++i) {
    tokens.insert(tokens.begin(), {"-f" + std::to_string(i), std::to_string(i)});
    expected.push_back(std::to_string(i));
  }

  EXPECT_EQ(parse(tokens).all("f"), expected);
  EXPECT_EQ(parse(tokens).all("fMask"), Texts{"mask"});
}

TEST(CommandLine, WordsWithoutAnOptionAreOperandsInTheirOrder)
{
  const Arguments arguments = parseCommandLine(options(), {"a.nii", "-out", "r", "b.nii"}, {"f", "t0"});

  EXPECT_EQ(arguments.text("f"), "a.nii");
  EXPECT_EQ(arguments.text("t0"), "b.nii");
  EXPECT_EQ(arguments.text("out"), "r");
  EXPECT_THROW(parseCommandLine(options(), {"a", "b", "c"}, {"f", "t0"}), Error);
  EXPECT_THROW(parseCommandLine(options(), {"-t0", "a", "b", "c"}, {"f", "t0"}), Error);
}

TEST(CommandLine, TheWordHelpAloneAsksForHelp)
{
  EXPECT_TRUE(parseCommandLine(options(), {"help"}, {"f"}).has("help"));
  EXPECT_EQ(parseCommandLine(options(), {"help", "-out", "r"}, {"f"}).text("f"), "help");
  EXPECT_THROW(parseCommandLine(options(), {"help"}), Error);
}

TEST(CommandLine, NamesOfOtherProgramsAreAnswered)
{
  EXPECT_EQ(messageOf({"--fixed-image", "a"}),
            "command line: --fixed-image: no such option. Did you mean -f? --help lists all.");
  EXPECT_EQ(messageOf({"--Output=a"}),
            "command line: --Output=a: no such option. Did you mean -out? --help lists all.");
  EXPECT_EQ(messageOf({"--moving", "a"}), "command line: --moving: no such option. --help lists all.");
}

TEST(CommandLine, AValueMayStartWithADash)
{
  EXPECT_EQ(parse({"-f", "-odd-name.nii"}).text("f"), "-odd-name.nii");
  EXPECT_EQ(parse({"-f", "--odd-name.nii"}).text("f"), "--odd-name.nii");
}

TEST(CommandLine, NoLineOfHelpIsLongerThanATerminal)
{
  std::string meaning;
  for (int word = 0; word < 60; ++word)
    meaning += (meaning.empty() ? "" : " ") + std::string(1 + word % 17, 'x');

  const std::string text =
      helpText({"prog", "prog", "Does a thing.", {{"Group", {{"name", "VALUE", meaning}}}}, ""});

  std::size_t start = 0;
  for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    EXPECT_LE(end - start, 100u) << text.substr(start, end - start);
    EXPECT_FALSE(end > start && text[end - 1] == ' ') << text.substr(start, end - start);
  }
}

TEST(MemorySize, IsANumberAndItsUnitAlone)
{
  EXPECT_EQ(memorySize("--max-memory", "500MB"), 500e6);
  EXPECT_EQ(memorySize("--max-memory", "2.5GB"), 2.5e9);
  EXPECT_EQ(memorySize("--max-memory", "1e3MB"), 1e9);
  EXPECT_EQ(memorySize("--max-memory", "0.0625kB"), 63); // whole bytes
  EXPECT_EQ(memorySize("--max-memory", "0.001kB"), 1);
  EXPECT_EQ(memorySize("--max-memory", "4e9GB"), 4e18);
  for (const char* text : {"", "MB", "5", "5TB", "5mb", "0MB", "-5MB", "+5MB", " 5MB", "5 MB", "5MB ",
                           "0x10MB", "nanMB", "infGB", "1e999GB", "5e9GB", "0.0009kB", "1,5GB"})
    EXPECT_THROW(memorySize("--max-memory", text), Error) << text;
}

class ThreadCount : public ::testing::Test {
protected:
  void SetUp() override
  {
    unsetenv("SLURM_CPUS_PER_TASK");
    unsetenv("OMP_NUM_THREADS");
  }
  void TearDown() override { SetUp(); }
  std::string source;
};

TEST_F(ThreadCount, ComesFromTheOptionThenSlurmThenOpenMP)
{
  setenv("OMP_NUM_THREADS", "3,2", 1);
  EXPECT_EQ(threadCount(parse({}), &source), 3);
  setenv("SLURM_CPUS_PER_TASK", "5", 1);
  EXPECT_EQ(threadCount(parse({}), &source), 5);
  EXPECT_EQ(threadCount(parse({"-threads", "7"}), &source), 7);
  EXPECT_EQ(source, "-threads");
}

TEST_F(ThreadCount, IsTheProcessorsOfThisProcessOtherwise)
{
  EXPECT_GE(threadCount(parse({}), &source), 1);
  EXPECT_EQ(source, "processors of this process");
}

}
}
