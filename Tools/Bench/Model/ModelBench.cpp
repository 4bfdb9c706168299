#include "Tools/Bench/Model/ModelBench.h"

#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Math/Median.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Model/KernelCost.h"
#include "Tools/Bench/Model/KernelModels.h"
#include "Tools/Bench/Model/TrilinearFromField.h"

#include <algorithm>
#include <cstdio>

namespace tessera {
namespace {

using Launches = std::vector<KernelLaunch>;
using Model = Prediction (*)(const GpuRates&, const KernelLaunch&);

/// The launch with the most work, whose block size is free.
const KernelLaunch& mainOne(const Launches& launches)
{
  return *std::max_element(launches.begin(), launches.end(),
                           [](const KernelLaunch& a, const KernelLaunch& b) {
                             return a.cost().issueSlots * a.shape.blocks * a.shape.warpsABlock()
                                    < b.cost().issueSlots * b.shape.blocks * b.shape.warpsABlock();
                           });
}

double milliseconds(Model model, const GpuRates& rates, const Launches& launches)
{
  double ms = 0;
  for (const KernelLaunch& launch : launches)
    ms += 1e3 * model(rates, launch).seconds;
  return ms;
}

/// Calls visit(problem, launches) for every kernel, volume and block size that differs from those before.
/// BlockThreads is set meanwhile.
template <class Visit>
void forEachLaunch(Context& context, const ModelSettings& settings, const Visit& visit)
{
  for (const std::string& kernel : settings.kernels.empty() ? modelKernels() : settings.kernels)
    for (const std::array<int, 3>& volume : settings.volumes) {
      const ModelCase problem = modelCase(context, kernel, volume);
      std::vector<int> seen;
      for (const int threads : settings.blockThreads.empty() ? problem.blockThreads : settings.blockThreads) {
        const BlockThreads chosen(threads);
        const Launches launches = problem.launches();
        const int taken = mainOne(launches).shape.threads;
        if (std::find(seen.begin(), seen.end(), taken) != seen.end())
          continue;
        seen.push_back(taken);
        visit(problem, launches);
      }
    }
}

/// Times single runs with caches full of other numbers.
class ColdClock {
public:
  ColdClock(Context& context, std::size_t repeats)
      : context_(context), repeats_(repeats), others_(context, count)
  {
    context.stream->fill(others_.span().data(), 0, others_.span().size_bytes());
    BenchClock(context, 1).warmUp();
  }
  double milliseconds(const std::function<void()>& work)
  {
    std::vector<double> times;
    for (std::size_t i = 0; i <= repeats_; ++i) {
      readAllOnCuda(context_, count, others_.span().data());
      context_.stream->startTimer();
      work();
      times.push_back(context_.stream->stopTimerMilliseconds());
    }
    times.erase(times.begin());
    return median(times);
  }

private:
  static constexpr std::size_t count = std::size_t{64} << 20;
  Context& context_;
  std::size_t repeats_;
  Buffer<float> others_;
};

}

std::vector<ModelRow> modelBench(Context& context, const GpuRates& rates, const ModelSettings& settings)
{
  ColdClock clock(context, settings.repeats);
  std::vector<ModelRow> rows;
  forEachLaunch(context, settings, [&](const ModelCase& problem, const Launches& launches) {
    const KernelLaunch& launch = mainOne(launches);
    ModelRow row{problem.kernel, problem.size, launch.shape, clock.milliseconds(problem.run), {}, "", false};
    for (const Model model : {Model(predict), Model(predictByWu), Model(predictByHongAndKim)})
      row.predictedMs.push_back(milliseconds(model, rates, launches));
    row.boundBy = predict(rates, launch).boundBy;
    {
      const BlockThreads usual(0);
      row.isUsual = mainOne(problem.launches()).shape.threads == launch.shape.threads;
    }
    row.transfersMs = 1e3 * transferSeconds(rates, problem.bytesUp, problem.bytesDown);
    rows.push_back(row);
  });
  return rows;
}

BenchTable modelTableOf(const std::vector<ModelRow>& rows)
{
  BenchTable table{"Kernels by block size: measured and predicted ms; copies are equations 22 and 23",
                   {"kernel", "size", "block", "registers", "spilled bytes", "active warps", "measured",
                    "this project", "Wu et al.", "Hong and Kim", "copies", "bound by"},
                   {}};
  for (const ModelRow& row : rows)
    table.rows.push_back(
        {row.kernel, row.size, 1.0 * row.shape.threads, 1.0 * row.shape.registers, 1.0 * row.shape.localBytes,
         row.shape.blocksAMultiprocessor * row.shape.warpsABlock(), row.measuredMs, row.predictedMs[0],
         row.predictedMs[1], row.predictedMs[2], row.transfersMs, row.boundBy});
  return table;
}

namespace {

/// The counts of a warp for each phase, and its chain of operations with those in flight, by which
/// predictions can be computed anew elsewhere: "issue:40 fp32:12 ... | cycle:30/1 l2:4/4 ; ..."
std::string phasesText(const KernelLaunch& launch)
{
  std::string text;
  const auto number = [&](const char* name, double value) {
    char part[60];
    std::snprintf(part, sizeof part, "%s:%.6g", name, value);
    text += part;
  };
  for (const KernelCost& phase : launch.phases) {
    text += text.empty() ? "" : "; ";
    for (const auto& [name, count] : kernelCostNames)
      if (phase.*count > 0) {
        number(name, phase.*count);
        text += ' ';
      }
    text += '|';
    for (const ChainLink& link : phase.chain) {
      text += ' ';
      number(latencyNames[static_cast<int>(link.latency)], link.operations);
      char inFlight[30];
      std::snprintf(inFlight, sizeof inFlight, "/%.6g", link.inFlight);
      text += inFlight;
    }
  }
  return text;
}

}

std::string modelCounts(Context& context, const ModelSettings& settings)
{
  std::string text =
      "kernel,size,block,blocks,registers,instructions,fp32,fp64,special,integer,global,shared,l1_wavefronts,"
      "shared_wavefronts,l2_sectors,dram_read,dram_written,active_blocks,phases\n";
  forEachLaunch(context, settings, [&](const ModelCase& problem, const Launches& launches) {
    problem.run();
    context.stream->wait();
    const KernelLaunch& launch = mainOne(launches);
    const KernelCost cost = launch.cost();
    const LaunchShape& shape = launch.shape;
    const double warps = shape.blocks * shape.warpsABlock();
    text += launch.kernel + "," + problem.size + "," + std::to_string(shape.threads);
    for (const double count : {shape.blocks, static_cast<double>(shape.registers)}) {
      char number[40];
      std::snprintf(number, sizeof number, ",%.0f", count);
      text += number;
    }
    for (const double count :
         {cost.issueSlots, cost.fp32, cost.fp64, cost.special, cost.integer, cost.globalInstructions,
          cost.sharedInstructions, cost.l1Wavefronts, cost.sharedWavefronts + cost.sharedAtomics,
          cost.l2Sectors, cost.dramReadBytes, cost.dramWrittenBytes}) {
      char number[40];
      std::snprintf(number, sizeof number, ",%.0f", count * warps);
      text += number;
    }
    text += "," + std::to_string(shape.blocksAMultiprocessor) + "," + phasesText(launch) + "\n";
  });
  return text;
}

}
