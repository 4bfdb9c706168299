#include "Tools/Bench/Sparse/SpGemmTables.h"

#include "Core/Compute/Error.h"
#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/Analysis/ProductWork.h"
#include "Core/Sparse/Analysis/TileStatistics.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

namespace tessera {
namespace {

/// A matrix of the table, with what the publication says about it.
struct PublishedMatrix {
  const char *name, *made; // of the collection; of the benchmark matrix in its place, or null
  bool chosen;             // by the publication's criteria; otherwise from the literature
  double size, entries, entriesOfC, products, tilesOfC, pairsOfTiles, median, mean, deviation;
};

const PublishedMatrix publishedMatrices[] = {
    {"mc2depi", "mc2depi", false, 525825, 2100225, 5245952, 8391680, 718228, 1620780, 6, 7.3, 6.2},
    {"qcd5_4", "qcd5_4", false, 49152, 1916928, 10911744, 74760192, 477184, 2004992, 16, 22.8, 14.8},
    {"rma10", "rma10_like", false, 46835, 2374001, 7900917, 156480259, 234561, 2023575, 32, 33.7, 19.8},
    {"webbase-1M", "webbase-1M_like", false, 1000005, 3105536, 51111996, 69524195, 2546355, 7540274, 8, 20.1,
     23},
    {"ca-CondMat", nullptr, false, 23133, 186936, 2355437, 4127524, 1787564, 13629092, 1, 1.31, 0.8},
    {"cage12", "cage12_like", false, 130228, 2032536, 15231874, 34610826, 2945653, 15390213, 4, 5.2, 4.9},
    {"dawson5", "dawson5_like", false, 51537, 1010777, 3616737, 21284355, 219077, 2078495, 12, 16.5, 14.6},
    {"lock1074", "lock1074_like", false, 1074, 51588, 134676, 2752056, 3050, 21170, 52, 44.2, 20.3},
    {"m133-b3", "m133-b3", false, 200200, 800800, 3165861, 3203200, 1591414, 4912984, 1, 2, 2.1},
    {"p2p-Gnutella31", nullptr, false, 62586, 147892, 537601, 538318, 361039, 1501316, 1, 1.5, 1.2},
    {"patents_main", "patents_main_like", false, 240547, 560943, 2281308, 2604790, 2089143, 11688648, 1, 1.1,
     0.3},
    {"wiki-Vote", nullptr, false, 8297, 103689, 1831112, 4542805, 526421, 7261770, 2, 3.5, 3.3},
    {"bcsstk30", "bcsstk30_like", true, 28924, 2043492, 8946070, 173481412, 252076, 1925418, 32, 35.5, 20.8},
    {"nemeth21", "nemeth21_like", true, 9506, 1173746, 2578720, 146859992, 47341, 526143, 64, 54.5, 17.7},
    {"pcrystk03", "pcrystk03", true, 24696, 1751178, 7240266, 129128312, 212471, 1876143, 31, 34.1, 20.2},
    {"pct20stif", "pct20stif_like", true, 52329, 2698463, 10016951, 154237335, 323396, 2366028, 26, 31, 20.5},
    {"pkustk06", "pkustk06_like", true, 43164, 2571768, 10596384, 179924544, 451380, 3641052, 16, 23.5, 15.6},
    {"pli", "pli_like", true, 22695, 1350309, 8548665, 99698581, 292851, 2721449, 28, 29.2, 19.2},
    {"qa8fk", "qa8fk_like", true, 66127, 1660579, 7351189, 42857197, 443738, 2867240, 18, 16.6, 10.9},
    {"struct3", "struct3_like", true, 53570, 1173694, 3400384, 26704476, 146007, 583547, 29, 23.3, 11.1},
    {"web-NotreDame", "web-NotreDame_like", true, 325729, 1497134, 16801350, 64593748, 693759, 3216627, 8,
     24.2, 25.8}};

constexpr double goodDensity = 5, manyEntries = 1e6; // thesis, section 3.8.1

/// What the publication expects of its method, by its rule and its two criteria.
std::string criteriaOf(const SquareFacts& facts)
{
  const std::string dense = facts.mean > goodDensity ? "dense" : "thin",
                    large = facts.entries > manyEntries ? ", large" : ", small",
                    fewer = facts.pairsOfTiles < facts.products ? ", fewer pairs" : ", more pairs";
  return dense + large + fewer;
}

const char* groupOf(const PublishedMatrix& matrix)
{
  return matrix.chosen ? "chosen" : "literature";
}

/// How the matrix is told: the collection's own or one of its kind.
std::string sourceOf(const std::string& place)
{
  return place.empty()                      ? "left out: no file"
         : place.ends_with("_like")         ? "alike"
         : place.find(".mtx") == place.npos ? "made"
                                            : "file";
}

BenchTable matricesTable(const std::map<std::string, std::string>& places,
                         const std::map<std::string, SquareFacts>& facts)
{
  BenchTable table{
      "Table 3.1: matrices of the document, A A in 8 x 8 tiles; the document's number is on the right",
      {"matrix", "group", "source"},
      {}};
  for (const char* const name : {"n", "nnz(A)", "nnz(C)", "nnz(C^)", "tiles of C", "pairs of tiles"}) {
    table.columns.push_back({name, "%.0f"});
    table.columns.push_back({std::string(name) + ", document", "%.0f"});
  }
  for (const char* const name : {"median", "mean", "deviation"}) {
    table.columns.push_back({std::string("density ") + name, "%.2f"});
    table.columns.push_back({std::string(name) + ", document", "%.1f"});
  }
  table.columns.push_back({"criteria"});
  for (const PublishedMatrix& m : publishedMatrices) {
    const auto place = places.find(m.name);
    if (place == places.end())
      continue;
    const double published[] = {m.size,         m.entries, m.entriesOfC, m.products, m.tilesOfC,
                                m.pairsOfTiles, m.median,  m.mean,       m.deviation};
    const auto found = facts.find(m.name);
    std::vector<BenchCell> row{m.name, groupOf(m), sourceOf(place->second)};
    const SquareFacts f = found == facts.end() ? SquareFacts{} : found->second;
    const double ours[] = {f.size,         f.entries, f.entriesOfC, f.products, f.tilesOfC,
                           f.pairsOfTiles, f.median,  f.mean,       f.deviation};
    for (std::size_t i = 0; i < std::size(ours); ++i) {
      row.emplace_back();
      if (found != facts.end())
        row.back() = ours[i];
      row.emplace_back(published[i]);
    }
    row.push_back(found == facts.end() ? BenchCell() : BenchCell(criteriaOf(f)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// A ratio of the publication's figures: how much faster the first method is than the second.
struct Comparison {
  const char *method, *beside;
  double literature, chosen, all; // of the publication; 0: it has none
};

const Comparison comparisons[] = {{"tsparse", "cusparse1", 1.12, 2.31, 1.6},
                                  {"tsparse", "tsparse-without-tensor-cores", 1.26, 1.23, 1.25},
                                  {"auto", "cusparse1", 0, 0, 0},
                                  {"auto", "tsparse", 0, 0, 0},
                                  {"auto", "rows", 0, 0, 0},
                                  {"tiles", "rows", 0, 0, 0}};

std::optional<double> msOf(const std::vector<BenchResult>& results, const std::string& matrix,
                           const std::string& method)
{
  const auto found = std::ranges::find_if(
      results, [&](const BenchResult& r) { return r.caseName == matrix && r.method == method; });
  return found == results.end() ? std::nullopt : std::optional(found->msWarm);
}

BenchTable speedsTable(const std::map<std::string, std::string>& places,
                       const std::vector<BenchResult>& results)
{
  BenchTable table{
      "Figures 3.10 and 3.11: how many times faster, geometric means by group (document: an RTX 2070; CUSP, "
      "which is no longer kept, is left out)",
      {"method", "beside", "group", {"matrices", "%.0f"}, {"times faster", "%.2f"}, {"document", "%.2f"}},
      {}};
  for (const Comparison& c : comparisons)
    for (const std::string group : {"literature", "chosen", "all"}) {
      double logs = 0, count = 0;
      for (const PublishedMatrix& m : publishedMatrices) {
        const auto place = places.find(m.name);
        if (place == places.end() || (group != "all" && group != groupOf(m)))
          continue;
        const std::string name = std::filesystem::path(place->second).filename().string();
        const auto mine = msOf(results, name, c.method), other = msOf(results, name, c.beside);
        if (mine && other) {
          logs += std::log(*other / *mine);
          ++count;
        }
      }
      const double document = group == "all" ? c.all : group == "chosen" ? c.chosen : c.literature;
      if (count > 0)
        table.rows.push_back({c.method, c.beside, group, count, std::exp(logs / count),
                              document > 0 ? BenchCell(document) : BenchCell()});
    }
  return table;
}

BenchTable partsTable(const std::map<std::string, PartTimes>& parts)
{
  BenchTable table{
      "Parts of tSparse in ms, each waited for (document: counting and multiplying take about 50 %)",
      {"matrix"},
      {}};
  for (const auto& [matrix, times] : parts) {
    std::vector<BenchCell> row{matrix};
    double whole = 0, kernels = 0;
    for (const auto& [part, ms] : times) {
      if (table.rows.empty())
        table.columns.push_back({part, "%.3f"});
      row.push_back(ms);
      whole += ms;
      kernels += part == "counting" || part == "multiplying" ? ms : 0;
    }
    if (table.rows.empty())
      table.columns.push_back({"counting and multiplying, %", "%.1f"});
    row.push_back(100 * kernels / whole);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}

std::map<std::string, std::string> placesOfPublished(const std::string& folder,
                                                     const std::vector<std::string>& only)
{
  std::map<std::string, std::string> places;
  for (const PublishedMatrix& m : publishedMatrices) {
    if (!only.empty() && std::ranges::count(only, m.name) == 0)
      continue;
    std::string& place = places[m.name] = m.made ? m.made : "";
    for (const char* const extension : {".mtx", ".mtx.gz"})
      if (const auto file = std::filesystem::path(folder) / (std::string(m.name) + extension);
          !folder.empty() && std::filesystem::exists(file))
        place = file.string();
  }
  for (const std::string& name : only)
    if (!places.contains(name))
      failAs(ExitCode::usage, "--matrix", "\"" + name + "\": not a matrix of the table",
             joined(publishedMatrices, ", ", &PublishedMatrix::name));
  return places;
}

SquareFacts squareFacts(const Context& context, const MatrixPattern& a, std::uint64_t entriesOfC)
{
  const ProductTiles tiles = countProductTiles(context, a, a);
  const auto side =
      static_cast<std::size_t>(std::ranges::find(countedSides, tileSide) - countedSides.begin());
  const TileStatistics& ofC = tiles.product[side];
  return {static_cast<double>(a.rows),
          static_cast<double>(a.entries()),
          static_cast<double>(entriesOfC),
          productCount(context, a, a),
          static_cast<double>(ofC.tiles),
          static_cast<double>(tiles.pairs[side]),
          ofC.median,
          ofC.mean,
          ofC.deviation};
}

std::vector<BenchTable> spGemmTables(const std::map<std::string, std::string>& places,
                                     const std::map<std::string, SquareFacts>& facts,
                                     const std::map<std::string, PartTimes>& parts,
                                     const std::vector<BenchResult>& results)
{
  std::vector<BenchTable> tables{matricesTable(places, facts), speedsTable(places, results)};
  if (!parts.empty())
    tables.push_back(partsTable(parts));
  return tables;
}

}
