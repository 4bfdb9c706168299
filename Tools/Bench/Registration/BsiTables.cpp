#include "Tools/Bench/Registration/BsiTables.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int fieldComponents = 3;

enum class Scheme { none, withoutTiles, textures, blockATile, blocksOfTiles, rowsOfTiles };

/// What a method computes a voxel and component: operations as the publication counts them, and
/// floating-point operations here, a fused multiply-add being two, of a voxel, of a row of a tile and of a
/// slice of it.
struct MethodFacts {
  const char* name;
  Scheme scheme;
  double operations, here, hereARow, hereASlice;
  double documentRegisters, documentRatio; // over NiftyReg; 0: not said
};

// A sum of four products has 7 operations, a linear interpolation 3.
const MethodFacts methodFacts[] = {{"ThreadPerVoxel", Scheme::withoutTiles, 255, 21 * 7, 0, 0, 0, 1},
                                   {"TextureHardware", Scheme::textures, 7 * 2, 7 * 3, 0, 0, 0, 0},
                                   {"ThreadPerVoxelTiled", Scheme::blockATile, 255, 21 * 7, 0, 0, 0, 0},
                                   {"ThreadPerTile", Scheme::blocksOfTiles, 255, 21 * 7, 0, 0, 235, 0},
                                   {"ThreadPerTileLinear", Scheme::blocksOfTiles, 126, 37, 56, 96, 255, 6.5},
                                   {"VectorPerTile", Scheme::rowsOfTiles, 126, 37, 56, 96, 0, 4.12},
                                   {"VectorPerVoxel", Scheme::rowsOfTiles, 126, 63 * 3, 0, 0, 0, 3.3},
                                   {"Separable", Scheme::none, 0, 7, 7, 7, 0, 0}};

const MethodFacts* factsOf(const std::string& method)
{
  const auto found =
      std::ranges::find_if(methodFacts, [&](const MethodFacts& facts) { return method == facts.name; });
  return found == std::end(methodFacts) ? nullptr : found;
}

BenchCell unlessZero(double value)
{
  return value == 0 ? BenchCell() : BenchCell(value);
}

struct FieldTraffic {
  double withoutTiles, byTextures, byBlocksOfATile, byBlocksOfTiles;
};

FieldTraffic trafficOf(double tile)
{
  const double voxels = tile * tile * tile;
  return {64, 8, 64 / voxels, 7.0 * 7 * 7 / (4 * 4 * 4 * voxels)};
}

BenchCell wordsOf(Scheme scheme, double tile)
{
  const FieldTraffic traffic = trafficOf(tile);
  switch (scheme) {
  case Scheme::withoutTiles:
    return traffic.withoutTiles;
  case Scheme::textures:
    return traffic.byTextures;
  case Scheme::blockATile:
    return traffic.byBlocksOfATile;
  case Scheme::blocksOfTiles:
    return traffic.byBlocksOfTiles;
  case Scheme::rowsOfTiles: // equation 2.5 with l = m = 1 and a long row of tiles
    return 16 / (tile * tile * tile);
  case Scheme::none:
    break;
  }
  return {};
}

struct Spread {
  double mean = 0, deviation = 0;

  explicit Spread(const std::vector<double>& values)
  {
    const auto count = static_cast<double>(values.size());
    for (const double value : values)
      mean += value / count;
    for (const double value : values)
      deviation += (value - mean) * (value - mean) / count;
    deviation = std::sqrt(deviation);
  }
};

std::vector<BenchCell> limitsRow(const MethodFacts& facts, double tile, const MeasuredField* measured,
                                 double peakSingle)
{
  std::vector<BenchCell> row{measured ? measured->result.caseName : "not measured",
                             tile,
                             facts.name,
                             wordsOf(facts.scheme, tile),
                             unlessZero(facts.operations),
                             fieldComponents
                                 * (facts.here + facts.hereARow / tile + facts.hereASlice / (tile * tile))};
  if (measured == nullptr) {
    row.resize(12);
    row.push_back(unlessZero(facts.documentRegisters));
    return row;
  }
  const BenchResult& result = measured->result;
  const double operations = std::get<double>(row[5]) * result.items, nsToGiga = 1e-6;
  row.push_back(unlessZero(measured->launch.registers));
  row.push_back(unlessZero(measured->launch.blocksAMultiprocessor * measured->launch.warpsABlock()));
  row.push_back(nsToGiga * operations / result.ms);
  row.push_back(unlessZero(1e-9 * peakSingle));
  row.push_back(nsToGiga * result.bytes / result.ms);
  row.push_back(measured->fillMs > 0 ? BenchCell(nsToGiga * result.bytes / measured->fillMs) : BenchCell());
  row.push_back(unlessZero(facts.documentRegisters));
  return row;
}

}

BenchTable trafficTable(const std::vector<double>& tiles)
{
  BenchTable table{
      "Words a voxel and component, thesis eq. 2.2 to 2.5 (document: 11.9 times less than a block a tile)",
      {"tile",
       "no tiles",
       "textures",
       "a block a tile",
       "blocks of tiles",
       {"less than a block a tile", "%.1f"},
       {"less than textures", "%.0f"}},
      {}};
  for (const double tile : tiles) {
    const FieldTraffic words = trafficOf(tile);
    table.rows.push_back({tile, words.withoutTiles, words.byTextures, words.byBlocksOfATile,
                          words.byBlocksOfTiles, words.byBlocksOfATile / words.byBlocksOfTiles,
                          words.byTextures / words.byBlocksOfTiles});
  }
  return table;
}

BenchTable limitsTable(const std::vector<double>& tiles, const std::vector<MeasuredField>& measured,
                       double peakSingle)
{
  BenchTable table{"What limits each method (document, a GTX 1050 at tile 5: ThreadPerTileLinear 670 of 2091 "
                   "GFLOP/s, 62 of 95 GB/s)",
                   {"case", "tile", "method", "words a voxel", "operations by the document",
                    "operations here, 3 components", "registers", "active warps", "GFLOP/s",
                    "machine GFLOP/s", "GB/s written", "machine GB/s (fill)", "registers by the document"},
                   {}};
  for (const double tile : tiles)
    for (const MethodFacts& facts : methodFacts) {
      const std::size_t before = table.rows.size();
      for (const MeasuredField& field : measured)
        if (field.method == facts.name && field.tile == tile)
          table.rows.push_back(limitsRow(facts, tile, &field, peakSingle));
      if (table.rows.size() == before)
        table.rows.push_back(limitsRow(facts, tile, nullptr, peakSingle));
    }
  return table;
}

BenchTable volumesTable(const std::vector<MeasuredField>& measured)
{
  BenchTable table{
      "All volumes (document: deviations below 3 %; over NiftyReg's thread a voxel, mean of its tiles)",
      {"tile",
       "method",
       "volumes",
       "ns a voxel",
       "deviation",
       {"ratio", "%.2f"},
       {"deviation of the ratio", "%.2f"},
       {"ratio of the document", "%.2f"}},
      {}};
  for (const MeasuredField& first : measured) {
    const auto isOfRow = [&](const std::vector<BenchCell>& row) {
      return std::get<double>(row[0]) == first.tile && std::get<std::string>(row[1]) == first.method;
    };
    if (std::ranges::any_of(table.rows, isOfRow))
      continue;
    std::vector<double> times, ratios;
    for (const MeasuredField& field : measured)
      if (field.tile == first.tile && field.method == first.method) {
        times.push_back(1e6 * field.result.ms / field.result.items);
        if (field.result.ratio)
          ratios.push_back(*field.result.ratio);
      }
    const Spread time(times), ratio(ratios);
    const MethodFacts* const facts = factsOf(first.method);
    table.rows.push_back({first.tile, first.method, static_cast<double>(times.size()), time.mean,
                          time.deviation, ratios.empty() ? BenchCell() : BenchCell(ratio.mean),
                          ratios.empty() ? BenchCell() : BenchCell(ratio.deviation),
                          facts ? unlessZero(facts->documentRatio) : BenchCell()});
  }
  return table;
}

}
