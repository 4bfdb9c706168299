#include "Core/Compute/Device.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Tools/Bench/Matrices/BenchmarkMatrices.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Tools/SpGEMM/OperandFile.h"
#include "Tools/SpGEMM/ProductRun.h"

using namespace tessera;

namespace {

template <class V>
int runProducts(const SpGemmArguments& asked, int threads, bool half, std::vector<MatrixFile> files,
                RunLog& log)
{
  return asked.galerkin ? runGalerkin<V>(asked, threads, std::move(files), log)
                        : runProduct<V>(asked, threads, half, std::move(files), log);
}

int generate(const SpGemmArguments& asked, const Context& context, RunLog& log)
{
  const CsrMatrix<double> matrix = makeBenchmarkMatrix(context, asked.generate);
  writeMatrix(context, asked.output, matrix);
  log.info(asked.generate + ": " + sizeText(matrix) + ", written to " + asked.output + ".");
  return 0;
}

/// Reads the matrices, multiplies, checks and writes. Returns the exit code.
int runSpGemm(const SpGemmArguments& asked, int threads, RunLog& log)
{
  if (asked.output == "-" || asked.json)
    log.setConsoleLevel(LogLevel::warning);
  if (asked.device != "auto")
    chooseDevices(asked.device, "--device"); // reports a device that is not there before the work begins
  const Context host{{}, threads};
  if (!asked.output.empty() && asked.output != "-" && asked.values.empty())
    AtomicFile(asked.output); // reports a place that cannot be written to before the work begins
  if (!asked.generate.empty())
    return generate(asked, host, log);

  std::vector<MatrixFile> files; // the operands, then D and the mask if there are any
  bool areIntegers = false, areReals = false;
  const auto read = [&](const std::string& path) {
    files.push_back(readOperand(host, path, log));
    const bool isInteger = std::holds_alternative<CsrMatrix<std::int64_t>>(files.back().matrix);
    areIntegers |= isInteger;
    areReals |= !isInteger && !files.back().pattern;
  };
  for (const std::string& path : asked.operands)
    read(path);
  if (!asked.accumulate.empty())
    read(asked.accumulate);
  if (!asked.mask.empty()) // its numbers do not matter
    files.push_back(readOperand(host, asked.mask, log));
  for (const std::string& path : asked.values) {
    read(path);
    requirePatternOfA(patternOf(files[asked.operands.size() - 2].matrix), patternOf(files.back().matrix),
                      path);
    if (path != "-") // is read again when its turn comes, so that one of them at a time is in memory
      files.pop_back();
  }
  const Precision precision =
      asked.precision.value_or(areIntegers && !areReals ? Precision::int64 : Precision::f64);
  switch (precision) {
  case Precision::int64:
    return runProducts<std::int64_t>(asked, threads, false, std::move(files), log);
  case Precision::f16:
  case Precision::f32:
    return runProducts<float>(asked, threads, precision == Precision::f16, std::move(files), log);
  case Precision::f64:
    break;
  }
  return runProducts<double>(asked, threads, false, std::move(files), log);
}

int run(int count, char** words, RunLog& log)
{
  const std::vector<std::string> tokens(words + 1, words + count);
  Arguments arguments({});
  if (tokens.empty())
    return printText(helpText(spGemmText()));
  const SpGemmArguments asked = spGemmArguments(tokens, arguments);
  if (arguments.has("help"))
    return printText(helpText(spGemmText()));
  if (const std::string text = versionText(arguments, "tessera-spgemm"); !text.empty())
    return printText(text);

  const EndOnSignals ending(log);
  setVerbosity(arguments, log);
  setPriority(arguments, log);
  return runSpGemm(asked, threadCount(arguments), log);
}

}

int main(int count, char** words)
{
  return runProgram([&](RunLog& log) { return run(count, words, log); });
}
