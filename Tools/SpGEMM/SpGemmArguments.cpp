#include "Tools/SpGEMM/SpGemmArguments.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/InputFiles.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/NumberIn.h"
#include "Core/Sparse/MatrixFile.h"
#include "Tools/Bench/Matrices/BenchmarkMatrices.h"
#include "Tools/Common/Process.h"

#include <array>
#include <cmath>
#include <filesystem>

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 5> semirings{"plus-times", "or-and", "min-plus", "max-min", "plus-pair"};
constexpr std::array<const char*, 4> algorithms{"auto", "tiles", "rows", "tsparse"};
constexpr std::array<const char*, 3> reorders{"auto", "rcm", "none"};
constexpr std::array<const char*, 4> precisions{"f16", "f32", "f64", "int64"};

/// The position of an option's value in the list of names; `absent` if the option was not given. Throws for
/// other values.
template <class Names>
int chosen(const Arguments& arguments, const std::string& option, const Names& names, int absent)
{
  if (!arguments.has(option))
    return absent;
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (arguments.text(option) == names[i])
      return static_cast<int>(i);
    all += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + std::string(names[i]);
  }
  failCommandLine("--" + option + " " + arguments.text(option), "no such name", all);
}

bool isFinite(const std::optional<double>& value)
{
  return value && std::isfinite(*value);
}

double number(const Arguments& arguments, const std::string& option, const std::string& allowed)
{
  const auto value = numberIn<double>(arguments.text(option));
  if (!isFinite(value))
    failCommandLine("--" + option + " " + arguments.text(option), "not a number", allowed);
  return *value;
}

int wholeNumber(const Arguments& arguments, const std::string& option, int least, int most)
{
  const std::string text = arguments.text(option);
  const auto value = numberIn<int>(text);
  if (!value || *value < least || *value > most)
    failCommandLine("--" + option + " " + text, "not a number that can be used",
                    "whole numbers from " + std::to_string(least) + " to " + std::to_string(most));
  return *value;
}

const Option* optionOf(const std::string& token)
{
  static const std::vector<OptionGroup> groups = spGemmText().groups;
  const std::string name =
      token.substr(token.find_first_not_of('-'), token.find('=') - token.find_first_not_of('-'));
  for (const OptionGroup& group : groups)
    for (const Option& option : group.options)
      if (option.name == name || std::count(option.aliases.begin(), option.aliases.end(), name))
        return &option;
  return nullptr;
}

/// Removes the operands (neither options nor values of options) from the tokens and returns them.
/// --drop-zeros without a number means 0. Those behind --values go to `values`.
std::vector<std::string> takeOperands(std::vector<std::string>& tokens, std::vector<std::string>& values)
{
  std::vector<std::string> operands, options;
  bool areValues = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (token == "-" || token[0] != '-' || token.find_first_not_of('-') == std::string::npos) {
      (areValues ? values : operands).push_back(token);
      continue;
    }
    const Option* const option = optionOf(token);
    const bool wantsValue = option && !option->value.empty() && token.find('=') == std::string::npos;
    if (option && option->name == "drop-zeros" && wantsValue
        && (i + 1 == tokens.size() || !isFinite(numberIn<double>(tokens[i + 1])))) {
      options.push_back(token + "=0");
      continue;
    }
    options.push_back(token);
    areValues = areValues || (option && option->name == "values");
    if (wantsValue && i + 1 < tokens.size())
      options.push_back(tokens[++i]);
  }
  tokens = std::move(options);
  return operands;
}

/// Checks the options beside --galerkin, which makes two products in one.
void checkGalerkin(const Arguments& arguments, const SpGemmArguments& asked)
{
  if (arguments.has("values") && (!asked.galerkin || asked.values.empty()))
    failCommandLine("--values", asked.galerkin ? "no matrix behind it" : "without --galerkin",
                    "--galerkin A P --values A1 A2 ... -o FOLDER");
  if (!asked.galerkin)
    return;
  if (asked.operands.size() != 2 && asked.operands.size() != 3)
    failCommandLine("--galerkin",
                    "number of matrices: " + std::to_string(asked.operands.size())
                        + (asked.values.empty() ? "" : "; all behind --values are other values of A"),
                    "A P, or R A P, before --values");
  for (const char* option :
       {"aat", "ata", "transpose-a", "transpose-b", "power", "triple", "mask", "complement", "scale",
        "accumulate", "drop-zeros", "reorder", "check", "sum", "info"})
    if (arguments.has(option))
      failCommandLine("--galerkin and --" + std::string(option), "they do not go together",
                      "--galerkin alone, or --triple R A P");
  if (asked.precision == Precision::f16)
    failCommandLine("--galerkin", "half precision", "--precision f64, f32 or int64");
  if (!asked.values.empty() && (asked.output.empty() || asked.output == "-" || asked.repeats > 1))
    failCommandLine("--values", asked.repeats > 1 ? "beside --repeat" : "no folder for its products",
                    "--galerkin A P --values A1 A2 ... -o FOLDER");
}

void checkOperands(const SpGemmArguments& asked)
{
  const std::size_t count = asked.operands.size();
  const bool takesOneMatrix = asked.timesTransposed || asked.transposedTimes || asked.power > 0;
  if (asked.triple && count != 3)
    failCommandLine("--triple", "number of matrices: " + std::to_string(count), "three: R A P");
  if (!asked.triple && !asked.galerkin && (count == 0 || count > 2))
    failCommandLine("operands", std::to_string(count) + " matrices", "A, or A and B");
  if (takesOneMatrix && count != 1)
    failCommandLine("--aat, --ata, --power", std::to_string(count) + " matrices", "one");
  if (asked.timesTransposed + asked.transposedTimes + asked.triple + (asked.power > 0) > 1)
    failCommandLine("--aat, --ata, --power, --triple", "more than one of them", "one of them");
  if ((takesOneMatrix || asked.triple) && (asked.transposeA || asked.transposeB))
    failCommandLine("--transpose-a, --transpose-b", "beside --aat, --ata, --power or --triple",
                    "with A, or A and B, alone");
}

/// Checks the options of `generate`, which writes a benchmark matrix and multiplies nothing.
void checkGenerate(const Arguments& arguments, const std::string& output)
{
  const std::vector<OptionGroup> groups = spGemmText().groups;
  // The last group has the options that all programs share.
  for (std::size_t group = 0; group + 1 < groups.size(); ++group)
    for (const Option& option : groups[group].options)
      if (arguments.has(option.name) && option.name != "o" && option.name != "device")
        failCommandLine("generate", "--" + option.name + " is about products", "generate NAME -o FILE");
  formatOfMatrix(output);
}

void checkOutput(const SpGemmArguments& asked)
{
  if (asked.output.empty() && !asked.info && !asked.check && asked.repeats == 1 && !asked.json && !asked.sum)
    failCommandLine(
        "-o", "not given",
        "-o FILE, or -o - for standard output; --info, --check, --sum, --repeat and --json do without");
  if (!asked.output.empty() && asked.values.empty())
    formatOfMatrix(asked.output);
  if (asked.output == "-" && (asked.json || asked.sum))
    failCommandLine(asked.json ? "-o - and --json" : "-o - and --sum", "both write to standard output",
                    "one of them");
  if (asked.info && (!asked.output.empty() || asked.check || asked.sum || asked.repeats > 1))
    failCommandLine("--info beside -o, --check, --sum or --repeat", "--info makes no product",
                    "--info without them");
  if (asked.check && asked.dropTolerance)
    failCommandLine("--check and --drop-zeros", "what was dropped cannot be compared", "one of them");
  if (asked.complement && asked.mask.empty())
    failCommandLine("--complement", "without a mask", "--mask FILE --complement");
}

/// Throws if the folder of Galerkin products has others than this run writes, or its name is that of a
/// matrix.
void checkFolder(const SpGemmArguments& asked)
{
  if (const fs::path ending = fs::path(asked.output).extension();
      ending == ".npz" || ending == ".mtx" || ending == ".tcsr")
    failCommandLine("-o " + asked.output, "the name of a matrix", "with --values, the name of a folder");
  std::error_code ignored; // the folder need not exist
  for (const fs::directory_entry& entry : fs::directory_iterator(asked.output, ignored)) {
    const std::string name = entry.path().filename().string();
    const auto number = name.starts_with("Ac.") && name.ends_with(".npz")
                            ? numberIn<std::size_t>(name.substr(3, name.size() - 7))
                            : std::nullopt;
    if (number && (*number > asked.values.size() || !entry.is_regular_file(ignored)))
      failAs(ExitCode::unwritableOutput, galerkinFile(asked.output, *number), "left there by another run",
             "a folder without it");
  }
}

/// Throws if C would overwrite a matrix that is read, even if the file is given by another name.
void checkInputsStay(const SpGemmArguments& asked)
{
  if (asked.output.empty() || asked.output == "-")
    return;
  std::vector<std::string> inputs = asked.operands, outputs;
  inputs.insert(inputs.end(), {asked.mask, asked.accumulate});
  inputs.insert(inputs.end(), asked.values.begin(), asked.values.end());
  if (asked.values.empty())
    outputs = {asked.output};
  for (std::size_t i = 0; !asked.values.empty() && i <= asked.values.size(); ++i)
    outputs.push_back(galerkinFile(asked.output, i));
  for (const std::string& output : outputs) {
    const std::optional<FilePlace> place = filePlace(output);
    for (const std::string& input : inputs)
      if (place && !input.empty() && input != "-" && filePlace(input) == place)
        failCommandLine("-o " + output, "C would be written over the matrix " + input,
                        "the name of another file");
  }
}

}

ProgramText spGemmText()
{
  const std::string names = joined(benchmarkMatrices(), ", ", [](const auto& matrix) { return matrix.name; });
  const auto own = [](const char* name, const char* value, const char* meaning) {
    return ownOption(name, value, meaning);
  };
  Option output = {"o",   "FILE", "where C is written; - is standard output (Matrix Market)",
                   false, false,  {"output"}};
  return {
      "tessera-spgemm",
      "tessera-spgemm A.mtx B.mtx -o C.mtx",
      "Multiplies sparse matrices: C = A B, or A A if there is no B. Files are chosen by their suffix: "
      ".mtx (Matrix Market), .npz\n"
      "(SciPy), .graph (METIS), .el (edges), .tcsr (binary CSR); - is Matrix Market on standard input. "
      "tessera-spgemm generate "
      "NAME -o\n"
      "FILE writes a benchmark matrix.",
      {{"What to multiply",
        {own("aat", "", "A times its transpose"), own("ata", "", "the transpose of A times A"),
         own("transpose-a", "", "use the transpose of A"), own("transpose-b", "", "use the transpose of B"),
         own("power", "K", "the product of K factors A, K at least 2; multiplied as with --triple"),
         own("triple", "",
             "R A P: three matrices, multiplied from the left; mask, scale, D and tolerance apply to the "
             "last product"),
         own("galerkin", "",
             "P^T A P of the matrices A and P, or R A P: the order of the two products that makes fewer "
             "products, with a plan that is kept"),
         own("values", "",
             "with --galerkin: the matrices behind this word have the pattern of A; -o names a folder, which "
             "gets Ac.0.npz of A, Ac.1.npz of the first one, ..."),
         own("semiring", "NAME", "plus-times (default), or-and, min-plus, max-min or plus-pair"),
         own("mask", "FILE", "keep the entries of the product where this matrix has entries"),
         own("complement", "", "keep the entries where the mask has none"),
         own("scale", "X", "multiply the entries by X"),
         own("accumulate", "FILE",
             "add this matrix D, by the addition of the semiring; the mask does not apply to D"),
         own("drop-zeros", "[T]",
             "remove entries of a magnitude of at most T (0 if not given); without this option zeros stay "
             "where they arise")}},
       {"How",
        {output,
         own("precision", "NAME",
             "f64 (default), f32, f16 (numbers rounded to half, sums in f32; what tsparse does) or int64 "
             "(default if "
             "all files hold integers)"),
         own("device", "NAME",
             "auto (default), cpu, cuda, cuda:N, or cuda:N,M,...: several devices share the rows of C"),
         own("algorithm", "NAME", "auto, tiles, rows or tsparse"),
         own("reorder", "NAME",
             "auto, rcm or none: number the rows of A anew (reverse Cuthill-McKee) for A A, --aat and --ata, "
             "so "
             "that tiles are fuller; auto does so where it pays, on the CPU and with --repeat 20 or more; C "
             "comes back in the numbers of A; not with --mask, --accumulate, --max-memory, --triple or "
             "--power from 3"),
         own("max-memory", "SIZE",
             "how much memory C and the work for it may take: a number with kB, MB or GB (powers of 1000), "
             "such as 500MB or 2.5GB; a larger C is made in ranges of rows, and written so to .mtx and -; "
             "with --galerkin A P (or R A) and C must each fit"),
         own("check", "", "compare with a plain product in double"),
         own("sum", "",
             "print the sum of the entries of C; triangles of an undirected graph A without loops are a "
             "sixth of A A "
             "--mask A --semiring plus-pair --sum"),
         own("info", "", "say what would be done: sizes, products, tiles, choice, memory, time"),
         own("repeat", "N", "multiply N times and print the times"),
         own("json", "", "print what was found and done as JSON")}},
       commonOptions()},
      "Benchmark matrices: " + names + "\n\n" + exitCodesText()};
}

std::string galerkinFile(const std::string& folder, std::size_t number)
{
  return (fs::path(folder) / ("Ac." + std::to_string(number) + ".npz")).lexically_normal().string();
}

SpGemmArguments spGemmArguments(const std::vector<std::string>& given, Arguments& arguments)
{
  std::vector<std::string> tokens = given;
  SpGemmArguments asked;
  asked.operands = takeOperands(tokens, asked.values);
  arguments = parseCommandLine(spGemmText().groups, tokens);
  asked.output = arguments.text("o");
  if (arguments.has("help") || arguments.has("version"))
    return asked;
  if (!asked.operands.empty() && asked.operands[0] == "generate") {
    if (asked.operands.size() != 2 || asked.output.empty())
      failCommandLine("generate", asked.output.empty() ? "no -o" : "not one name", "generate NAME -o FILE");
    checkGenerate(arguments, asked.output);
    asked.generate = asked.operands[1];
    return asked;
  }
  asked.timesTransposed = arguments.has("aat");
  asked.transposedTimes = arguments.has("ata");
  asked.transposeA = arguments.has("transpose-a");
  asked.transposeB = arguments.has("transpose-b");
  asked.triple = arguments.has("triple");
  asked.galerkin = arguments.has("galerkin");
  asked.power = arguments.has("power") ? wholeNumber(arguments, "power", 2, 1000) : 0;
  asked.semiring = static_cast<Semiring>(chosen(arguments, "semiring", semirings, 0));
  asked.algorithm = static_cast<SpGemmAlgorithm>(chosen(arguments, "algorithm", algorithms, 0));
  asked.reorder = static_cast<Reorder>(chosen(arguments, "reorder", reorders, 0));
  if (arguments.has("precision"))
    asked.precision = static_cast<Precision>(chosen(arguments, "precision", precisions, 0));
  else if (asked.algorithm == SpGemmAlgorithm::tsparse)
    asked.precision = Precision::f16;
  asked.mask = arguments.text("mask");
  asked.complement = arguments.has("complement");
  asked.accumulate = arguments.text("accumulate");
  if (arguments.has("scale"))
    asked.scale = number(arguments, "scale", "finite numbers"), asked.scaleText = arguments.text("scale");
  if (arguments.has("drop-zeros"))
    asked.dropTolerance = number(arguments, "drop-zeros", "numbers from zero on");
  if (arguments.has("max-memory"))
    asked.maxMemoryBytes = static_cast<std::size_t>(memorySize("--max-memory", arguments.text("max-memory")));
  asked.device = arguments.text("device", "auto");
  asked.check = arguments.has("check");
  asked.info = arguments.has("info");
  asked.sum = arguments.has("sum");
  asked.json = arguments.has("json");
  asked.repeats = arguments.has("repeat") ? wholeNumber(arguments, "repeat", 1, 100000) : 1;
  checkGalerkin(arguments, asked);
  checkOperands(asked);
  checkOutput(asked);
  checkInputsStay(asked);
  if (!asked.values.empty())
    checkFolder(asked);
  return asked;
}

}
