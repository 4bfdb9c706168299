#include "Components/RegisterComponents.h"
#include "Core/Compute/Cuda/Stream.h"
#include "Core/Compute/Device.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/NumberIn.h"
#include "Tools/Bench/Benches.h"
#include "Tools/Bench/Calibration/CalibrationBench.h"
#include "Tools/Bench/Matrices/BenchmarkMatrices.h"
#include "Tools/Bench/Model/GpuAttributes.h"
#include "Tools/Bench/Model/GpuRatesFile.h"
#include "Tools/Bench/Model/Microbenchmarks.h"
#include "Tools/Bench/Model/ModelBench.h"
#include "Tools/Bench/Model/ModelChoice.h"
#include "Tools/Common/BlockSizesFile.h"
#include "Tools/Common/CalibrationFile.h"
#include "Tools/Common/Process.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

using namespace tessera;

namespace {

std::array<int, 3> volumeOf(const std::string& text)
{
  std::array<int, 3> voxels{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int d = 0; d < 3; ++d) {
    const auto [next, failure] = std::from_chars(at, end, voxels[d]);
    const bool separated = d == 2 ? next == end : next != end && *next == 'x';
    if (failure != std::errc() || !separated || voxels[d] < 1)
      failAs(ExitCode::usage, "--volume", "\"" + text + "\": not a size",
             "three whole numbers such as 512x228x385");
    at = next + (d < 2);
  }
  return voxels;
}

double positiveNumber(const std::string& option, const std::string& text, double atLeast, double atMost = 1e6)
{
  const auto value = numberIn<double>(text);
  if (!value || !(*value >= atLeast) || *value > atMost)
    failAs(ExitCode::usage, option, "\"" + text + "\": not a number that can be used",
           "numbers from " + std::to_string(static_cast<int>(atLeast)) + " to "
               + std::to_string(static_cast<int>(atMost)));
  return *value;
}

std::size_t repeatsOf(const Arguments& arguments)
{
  return static_cast<std::size_t>(positiveNumber("--repeats", arguments.text("repeats", "11"), 1));
}

BsiSettings bsiSettings(const Arguments& arguments)
{
  BsiSettings settings;
  for (const std::string& text : arguments.all("volume"))
    settings.volumes.push_back(volumeOf(text));
  if (settings.volumes.empty())
    settings.volumes = {{512, 228, 385}, {294, 130, 208}, {303, 167, 212}, {267, 169, 237}};
  for (const std::string& text : arguments.all("tile"))
    settings.tiles.push_back(positiveNumber("--tile", text, 1));
  if (settings.tiles.empty())
    settings.tiles = {3, 4, 5, 6, 7};
  settings.methods = arguments.all("method");
  settings.explain = arguments.has("explain");
  if (settings.methods.empty() && !arguments.has("all-methods") && !settings.explain)
    settings.methods = {"Separable"};
  settings.layouts = arguments.has("layouts");
  settings.repeats = repeatsOf(arguments);
  return settings;
}

LatticeSettings latticeSettings(const Arguments& arguments, const std::array<int, 3>& usual)
{
  const BsiSettings settings = bsiSettings(arguments);
  return {arguments.has("volume") ? settings.volumes : std::vector{usual}, settings.repeats};
}

SpGemmBenchSettings spGemmSettings(const Context& context, const Arguments& arguments)
{
  SpGemmBenchSettings settings{.matrices = arguments.all("matrix"),
                               .methods = arguments.all("method"),
                               .repeats = bsiSettings(arguments).repeats,
                               .tables = arguments.has("table"),
                               .folder = arguments.text("folder", "")};
  if (settings.matrices.empty() && !settings.tables)
    for (const BenchmarkMatrix& matrix : benchmarkMatrices())
      settings.matrices.push_back(matrix.name);
  if (settings.methods.empty())
    settings.methods = {"auto", "tiles", "rows"};
  if (arguments.has("all-methods") && context.onCuda())
    settings.methods.insert(settings.methods.end(),
                            {"plan", "tsparse", "tsparse-without-tensor-cores", "cusparse1", "cusparse2",
                             "cusparse3", "cusparse-reuse"});
  for (const DeviceChoice& choice : chooseDevices(arguments.text("device", "auto"), "--device"))
    settings.devices.push_back(choice.device);
  if (settings.devices.size() > 1)
    settings.methods.push_back("several-devices");
  const std::string precision = arguments.text("precision", "f32");
  if (precision != "f16" && precision != "f32" && precision != "f64")
    failAs(ExitCode::usage, "--precision", "\"" + precision + "\": not known here", "f16, f32, f64");
  settings.singlePrecision = precision != "f64";
  settings.half = precision == "f16";
  return settings;
}

ResampleSettings resampleSettings(const Arguments& arguments)
{
  ResampleSettings settings{
      {}, arguments.all("transform"), arguments.all("method"), !arguments.has("no-itk"), 11};
  for (const std::string& text : arguments.all("volume"))
    settings.volumes.push_back(extentsOf(text));
  if (settings.volumes.empty())
    settings.volumes = {{256, 256}, {100, 100, 100}, {256, 256, 256}, {512, 512, 256}};
  if (settings.transforms.empty())
    settings.transforms = {"T", "A", "B", "[T]", "[A]", "[B]", "AB", "TABES"};
  if (settings.interpolators.empty())
    settings.interpolators = {"nearest", "linear", "cubic"};
  settings.repeats = repeatsOf(arguments);
  return settings;
}

PyramidSettings pyramidSettings(const Arguments& arguments)
{
  const ResampleSettings settings = resampleSettings(arguments);
  return {settings.volumes, settings.withItk, settings.repeats};
}

struct Benchmark {
  std::string name;
  BenchReport (*run)(const Registry&, Context&, const Arguments&);
  bool onSeveralDevices = false; // with a list of devices, the context has the first one
};

const Benchmark benchmarks[] = {
    {"bsi", [](const Registry& r, Context& c, const Arguments& a) { return bsiBench(r, c, bsiSettings(a)); }},
    {"adjoint", [](const Registry&, Context& c,
                   const Arguments& a) { return BenchReport{adjointBench(c, bsiSettings(a))}; }},
    {"bending",
     [](const Registry&, Context& c, const Arguments& a) {
       return BenchReport{bendingBench(c, latticeSettings(a, {104, 47, 79}))};
     }},
    {"landmarks",
     [](const Registry&, Context& c, const Arguments& a) {
       const int side = c.onCuda() ? 464 : 128;
       return landmarkBench(c, latticeSettings(a, {side, side, side}));
     }},
    {"pyramid", [](const Registry&, Context& c,
                   const Arguments& a) { return BenchReport{pyramidBench(c, pyramidSettings(a))}; }},
    {"resample", [](const Registry& r, Context& c,
                    const Arguments& a) { return BenchReport{resampleBench(r, c, resampleSettings(a))}; }},
    {"galerkin",
     [](const Registry&, Context& c, const Arguments& a) {
       const BsiSettings given = bsiSettings(a);
       return galerkinBench(c, {a.has("volume") ? given.volumes : decltype(given.volumes)(), given.repeats});
     }},
    {"spgemm",
     [](const Registry&, Context& c, const Arguments& a) { return spGemmBench(c, spGemmSettings(c, a)); },
     true},
};

/// The context of --device, which must be a GPU.
Context gpuContext(const Arguments& arguments)
{
  const std::string device = arguments.text("device", "cuda");
  if (device == "cpu")
    failAs(ExitCode::usage, "--device", "\"cpu\": the performance model is one of GPUs", "cuda, cuda:N");
  const CudaDevices devices = findCudaDevices();
  if (devices.found.empty())
    failAs(ExitCode::device, "the performance model is one of GPUs, and this machine has none for it",
           devices.whyNone,
           std::string(builtWithCuda ? "" : "a build with CUDA (-DTESSERA_CUDA=ON) on ") + "a machine with a GPU");
  return makeContext(chooseDevice(device == "auto" ? "cuda" : device, "--device", "").device, 1);
}

int calibrateModel(const Arguments& arguments)
{
  Context context = gpuContext(arguments);
  std::vector<std::string> assumed;
  const GpuRates rates = measureGpuRates(context, assumed);
  std::string notes;
  for (const std::string& sentence : assumed)
    notes += sentence + ".\n";
  if (const std::string why = whySlowerThanTold(rates, attributesOfCudaDevice(context.device.ordinal));
      !why.empty())
    notes += "WARNING: " + why + ". If other work runs on the GPU, measure again when it has ended.\n";
  const std::string path = arguments.text("o", gpuFilePath(rates.gpu));
  if (path.empty())
    failAs(ExitCode::usage, "-o", "not given, and there is no folder of settings: HOME is not set",
           "-o FILE.txt");
  std::error_code ignored; // writeTextFile reports the error
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const std::string sizes = blockSizesText(chosenBlockSizes(context, rates));
  writeTextFile(path, gpuRatesText(rates) + sizes);
  return printText(gpuRatesTable(rates) + sizes + notes + "\nWritten to " + path + ".\n");
}

/// The stored rates of a GPU, or why there are none.
std::string storedRatesText(const std::string& gpu)
{
  try {
    const std::optional<GpuRates> rates = storedGpuRates(gpu);
    return rates ? gpuRatesTable(*rates)
                 : gpu + ": not measured yet. `tessera-bench calibrate --model` measures it.\n";
  } catch (const Error& error) { // another GPU may have a file that is good
    return gpu + ": " + error.what() + "\n";
  }
}

int showMachine()
{
  std::string text = machineText(true) + "\n";
  const CudaDevices devices = findCudaDevices();
  if (devices.found.empty())
    text += "no GPU: " + devices.whyNone + "\n";
  for (const CudaDevice& device : devices.found)
    text += "\n" + storedRatesText(gpuStorageName(device.name, device.multiprocessors));
  return printText(text);
}

int showModel(const Arguments& arguments)
{
  const BsiSettings given = bsiSettings(arguments);
  ModelSettings settings;
  settings.kernels = arguments.all("method");
  if (arguments.has("volume"))
    settings.volumes = given.volumes;
  if (arguments.has("repeats"))
    settings.repeats = given.repeats;
  for (const std::string& text : arguments.all("block"))
    settings.blockThreads.push_back(static_cast<int>(positiveNumber("--block", text, 32, 1024)));
  Context context = gpuContext(arguments);
  if (arguments.has("counts"))
    return printText(modelCounts(context, settings));
  std::vector<std::string> assumed;
  const GpuRates rates = measureGpuRates(context, assumed);
  const std::vector<ModelRow> rows = modelBench(context, rates, settings);
  return printText(arguments.has("json")
                       ? jsonText(machineText(true), {{}, {modelTableOf(rows)}})
                       : machineText(true) + "\n" + modelTable(rows) + "\n" + modelSummary(rows));
}

/// The file that receives the measured rates. Throws Error(usage) for a name from which rates are not read,
/// and Error(unwritableOutput) if it cannot be written, both before any measurement.
std::string calibrationTarget(const Arguments& arguments)
{
  const std::string path = arguments.text("o", calibrationPath());
  if (path.empty())
    failAs(ExitCode::usage, "-o", "not given, and there is no folder of settings: HOME is not set",
           "-o FILE.txt");
  if (!path.ends_with(".txt"))
    failAs(ExitCode::usage,
           (arguments.has("o") ? "-o: \"" : calibrationVariable + std::string(": \"")) + path + "\"",
           "rates are read from files *.txt alone", (arguments.has("o") ? "-o FILE.txt" : "FILE.txt"));
  std::error_code ignored; // AtomicFile reports the error
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const AtomicFile check(path);
  return path;
}

int calibrate(const Registry& registry, const Arguments& arguments)
{
  const std::string target = calibrationTarget(arguments), device = arguments.text("device", "auto");
  const int threads = threadCount(arguments);
  const std::string text = calibrationText(measureCalibration(registry, device, threads));
  writeTextFile(target, text);
  return printText(text + "\nWritten to " + target + ".\n");
}

/// The benchmark that the first word names; the word is removed. The first benchmark if the words begin with
/// an option.
const Benchmark& benchmarkOf(std::vector<std::string>& tokens)
{
  if (tokens.empty() || tokens.front().starts_with("-"))
    return benchmarks[0];
  for (const Benchmark& benchmark : benchmarks)
    if (benchmark.name == tokens.front()) {
      tokens.erase(tokens.begin());
      return benchmark;
    }
  failAs(ExitCode::usage, "tessera-bench", "\"" + tokens.front() + "\": no such benchmark",
         joined(benchmarks, ", ", &Benchmark::name) + ", calibrate, machine, model");
}

/// Throws Error(usage) for an option that a command does not read.
void refuseOthers(const Arguments& arguments, const std::string& command,
                  const std::vector<std::string>& read)
{
  const std::string allowed =
      joined(read, ", ", [](const std::string& name) { return (name == "o" ? "-" : "--") + name; });
  for (const OptionGroup& group : benchText().groups)
    if (group.title == "What" || group.title == "How")
      for (const Option& option : group.options)
        if (arguments.has(option.name) && std::ranges::count(read, option.name) == 0)
          failAs(ExitCode::usage, "tessera-bench " + command,
                 option.dashes + option.name + ": it is not used here",
                 (allowed.empty() ? "no option of a benchmark" : allowed));
}

/// The commands that are no benchmarks.
int runCommand(const std::string& word, const Arguments& arguments)
{
  if (word == "machine") {
    refuseOthers(arguments, word, {});
    return showMachine();
  }
  if (word == "model") {
    refuseOthers(arguments, word, {"volume", "method", "block", "counts", "device", "repeats", "json"});
    return showModel(arguments);
  }
  if (arguments.has("model")) {
    refuseOthers(arguments, "calibrate --model", {"model", "device", "o"});
    return calibrateModel(arguments);
  }
  refuseOthers(arguments, word, {"device", "o"});
  Registry registry;
  registerComponents(registry);
  return calibrate(registry, arguments); // the device must not have been started before it
}

int run(int count, char** words, RunLog& log)
{
  std::vector<std::string> tokens(words + 1, words + count);
  const std::string word = tokens.empty() ? "" : tokens.front();
  const bool isCommand = word == "calibrate" || word == "machine" || word == "model";
  if (isCommand)
    tokens.erase(tokens.begin());
  const Benchmark& benchmark = isCommand ? benchmarks[0] : benchmarkOf(tokens);
  const Arguments arguments = parseCommandLine(benchText().groups, tokens);
  if (count == 1 || arguments.has("help"))
    return printText(helpText(benchText()));
  if (const std::string text = versionText(arguments, "tessera-bench"); !text.empty())
    return printText(text);
  setVerbosity(arguments, log);
  setPriority(arguments, log);

  if (isCommand)
    return runCommand(word, arguments);
  Registry registry;
  registerComponents(registry);
  const std::string device = arguments.text("device", "auto");
  const DeviceChoice choice = benchmark.onSeveralDevices ? chooseDevices(device, "--device").front()
                                                         : chooseDevice(device, "--device", "");
  Context context = makeContext(choice.device, threadCount(arguments));
  const BenchReport report = benchmark.run(registry, context, arguments);
  const std::string machine = machineText(context.onCuda());
  return printText(arguments.has("json") ? jsonText(machine, report) : tableText(machine, report));
}

}

int main(int count, char** words)
{
  return runProgram([&](RunLog& log) { return run(count, words, log); });
}
