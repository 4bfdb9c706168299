#include "Tools/Bench/Benches.h"

#include "Core/Compute/ContextChoice.h"
#include "Core/Compute/Cuda/Marks.h"
#include "Core/Compute/Error.h"
#include "Core/Sparse/GalerkinPlan.h"
#include "Core/Sparse/GalerkinPlanOnCuda.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Matrices/BenchmarkStructures.h"
#include "Tools/Bench/Rivals/CusparseProduct.h"
#include "Tools/Bench/Sparse/SpGemmMethods.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

namespace tessera {
namespace {

using Nodes = std::array<int, 3>;

/// A problem on a grid of nodes, as smoothed aggregation coarsens it: boxes of nodes become nodes with an
/// unknown for each of `modes` near-null vectors.
struct GalerkinProblem {
  const char* name;
  Mesh::Cells cells;
  int unknowns, modes, box, coarserBox;
};

constexpr GalerkinProblem elasticity{"elasticity", Mesh::Cells::hexahedra, 3, 6, 3, 3},
    poisson{"Poisson", Mesh::Cells::sevenPoints, 1, 1, 2, 4};
constexpr std::size_t coarsest = 500; // rows from which no coarser level is made

struct GalerkinLevel {
  std::string name;
  CsrMatrix<double> r, a, p;
};

/// Prolongation without smoothing: all unknowns of a box's nodes from all of its modes.
CsrMatrix<double> tentative(const Context& context, const Nodes& nodes, int unknowns, int modes, int box,
                            Nodes& boxes)
{
  std::ranges::transform(nodes, boxes.begin(), [&](int n) { return (n + box - 1) / box; });
  Places places;
  const auto count = [](const Nodes& of) { return static_cast<std::size_t>(of[0]) * of[1] * of[2]; };
  places.rows = count(nodes) * unknowns;
  places.columns = count(boxes) * modes;
  std::size_t node = 0;
  for (int z = 0; z < nodes[2]; ++z)
    for (int y = 0; y < nodes[1]; ++y)
      for (int x = 0; x < nodes[0]; ++x, ++node) {
        const std::size_t to = (static_cast<std::size_t>(z / box) * boxes[1] + y / box) * boxes[0] + x / box;
        for (int unknown = 0; unknown < unknowns; ++unknown)
          for (int mode = 0; mode < modes; ++mode)
            places.add(node * unknowns + unknown, to * modes + mode);
      }
  return matrixAt(context, std::move(places), "prolongation");
}

std::vector<GalerkinLevel> levelsOf(const Context& context, const GalerkinProblem& problem, Nodes nodes)
{
  const Mesh mesh{problem.cells, static_cast<std::uint64_t>(nodes[0]), static_cast<std::uint64_t>(nodes[1]),
                  static_cast<std::uint64_t>(nodes[2]), static_cast<std::uint64_t>(problem.unknowns)};
  const std::string name = problem.name + (" " + extentsName(nodes)) + ", level ";
  CsrMatrix<double> a = matrixAt(context, meshPlaces(mesh), name);
  std::vector<GalerkinLevel> levels;
  for (int unknowns = problem.unknowns, box = problem.box; a.rows > coarsest;
       unknowns = problem.modes, box = problem.coarserBox) {
    Nodes boxes{};
    CsrMatrix<double> p =
        multiply(context, a, tentative(context, nodes, unknowns, problem.modes, box, boxes));
    CsrMatrix<double> coarse = GalerkinPlan<double>(context, a, p).first();
    levels.push_back(
        {name + std::to_string(levels.size()), transposed(context, p), std::move(a), std::move(p)});
    a = std::move(coarse);
    nodes = boxes;
  }
  return levels;
}

class GalerkinRun {
public:
  GalerkinRun(Context& context, std::size_t repeats)
      : context_(context), repeats_(repeats), clock_(context, repeats)
  {
  }

  BenchReport all(const std::vector<std::array<int, 3>>& volumes)
  {
    const Context host{{}, context_.threads};
    const auto measure = [&](const GalerkinProblem& problem, const Nodes& nodes) {
      for (const GalerkinLevel& level : levelsOf(host, problem, nodes))
        context_.onCuda() ? onCuda(level) : onCpu(level);
    };
    for (const Nodes& nodes : volumes)
      for (const GalerkinProblem& problem : {elasticity, poisson})
        measure(problem, nodes);
    if (volumes.empty()) {
      measure(elasticity, {24, 24, 23}); // 24^3 nodes, of which a face is held
      measure(poisson, {64, 64, 64});
    }
    return {std::move(results_), parts_.rows.empty() ? std::vector<BenchTable>() : std::vector{parts_}};
  }

private:
  BenchResult& add(const Context& context, const GalerkinLevel& level, const char* method,
                   const BenchTimes& times)
  {
    const std::uint64_t bytes = level.r.bytes() + level.a.bytes() + level.p.bytes();
    return results_.emplace_back(measuredRow(context, level.name, method, times,
                                             static_cast<double>(level.a.entries()),
                                             static_cast<double>(bytes)));
  }

  void onCpu(const GalerkinLevel& level)
  {
    for (const int threads : std::set{1, context_.threads}) {
      const Context context{{}, threads};
      std::optional<GalerkinPlan<double>> plan;
      const BenchTimes first = timesOfLongRuns(repeats_, [&] { plan.emplace(context, level.a, level.p); });
      const BenchTimes again = timesOfLongRuns(repeats_, [&] { plan->execute(level.a.value); });
      add(context, level, "first", first);
      add(context, level, "again", again);
    }
  }

  void onCuda(const GalerkinLevel& level)
  {
    const CsrOnCuda<double> r = broughtToCuda(context_, level.r, "R"),
                            a = broughtToCuda(context_, level.a, "A"),
                            p = broughtToCuda(context_, level.p, "P");
    std::optional<GalerkinPlanOnCuda<double>> plan;
    const BenchTimes first = clock_.time([&] {
      plan.reset();
      plan.emplace(context_, r, a, p, false);
    });
    const CsrMatrix<double> c = broughtToHost(context_, plan->first());
    const CsrOnCuda<double> between =
        broughtToCuda(context_, broughtToHost(context_, plan->between()), "A P");
    Buffer<double> values;
    const BenchTimes again = clock_.time([&] {
      values = {};
      values = plan->execute(a.value.span().data());
    });
    const std::size_t ofFirst = results_.size();
    add(context_, level, "first", first);
    add(context_, level, "again", again).largestError = values.toHost(context_) == c.value.toVector() ? 0 : 1;
    addParts(level);
    try {
      beside(level, r, a, p, between, c, ofFirst);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s: %s\n", level.name.c_str(), error.what());
    }
  }

  /// The two products by cuSPARSE's interface for other values. Each reads its own copy of A P, so that none
  /// is copied between them.
  void beside(const GalerkinLevel& level, const CsrOnCuda<double>& r, const CsrOnCuda<double>& a,
              const CsrOnCuda<double>& p, const CsrOnCuda<double>& between, const CsrMatrix<double>& expected,
              std::size_t ofFirst)
  {
    std::optional<CusparseProduct<double>> inner, outer;
    const BenchTimes first = clock_.time([&] {
      inner.emplace(context_, a, p);
      inner->keepPattern();
      inner->recompute();
      outer.emplace(context_, r, between);
      outer->keepPattern();
      outer->recompute();
    });
    const BenchTimes again = clock_.time([&] {
      inner->recompute();
      outer->recompute();
    });
    add(context_, level, "cusparse-reuse first", first);
    add(context_, level, "cusparse-reuse again", again).largestError =
        largestDifference(outer->broughtToHost(outer->kept()), expected, level.name);
    results_[ofFirst].ratio = first.msWarm / results_[ofFirst].msWarm;
    results_[ofFirst + 1].ratio = again.msWarm / results_[ofFirst + 1].msWarm;
  }

  /// By a stream of its own, since marks take time.
  void addParts(const GalerkinLevel& level)
  {
    const Context marked = makeContext(context_.device, context_.threads);
    const CsrOnCuda<double> r = broughtToCuda(marked, level.r, "R"), a = broughtToCuda(marked, level.a, "A"),
                            p = broughtToCuda(marked, level.p, "P");
    GalerkinPlanOnCuda<double> plan(marked, r, a, p, false);
    plan.execute(a.value.span().data());
    keepMarks(marked);
    plan.execute(a.value.span().data());
    for (const auto& [part, ms] : takeMarkedParts(marked))
      parts_.rows.push_back({level.name, part, ms});
    parts_.rows.push_back({level.name, plan.methods(), {}});
  }

  Context& context_;
  std::size_t repeats_;
  BenchClock clock_;
  std::vector<BenchResult> results_;
  BenchTable parts_{"Parts of one more execution", {"case", "part", {"ms", "%.4f"}}, {}};
};

}

BenchReport galerkinBench(Context& context, const LatticeSettings& settings)
{
  return GalerkinRun(context, settings.repeats).all(settings.volumes);
}

}
