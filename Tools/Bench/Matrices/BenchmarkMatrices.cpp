#include "Tools/Bench/Matrices/BenchmarkMatrices.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Tools/Bench/Matrices/BenchmarkStructures.h"

#include <functional>

namespace tessera {
namespace {

using Cells = Mesh::Cells;

struct Recipe {
  BenchmarkMatrix matrix;
  std::function<Places()> places;
};

auto mesh(const Mesh& nodes)
{
  return [nodes] { return meshPlaces(nodes); };
}

auto web(const Web& pages)
{
  return [pages] { return webPlaces(pages); };
}

/// The numbers are those of the matrices made here, which BenchmarkMatricesTest checks.
const Recipe recipes[] = {
    {{"pcrystk03", "8 x 21 x 49 nodes of hexahedra, 3 unknowns", 24696, 1751310, 129147426, 7240266},
     mesh({Cells::hexahedra, 8, 21, 49, 3})},
    {{"qcd5_4", "Wilson fermions on a lattice of 8^4", 49152, 1916928, 74760192, 10911744},
     latticeFermionPlaces},
    {{"cant_like", "10 x 10 x 208 nodes of hexahedra, 3 unknowns", 62400, 4388832, 321753600, 18016416},
     mesh({Cells::hexahedra, 10, 10, 208, 3})},
    {{"nemeth21_like", "a band of 64 on each side, 85 % of its outer quarter", 9506, 1176896, 145902250,
      2419410},
     [] { return bandPlaces(9506, 64, 0.85); }},
    {{"bcsstk30_like", "9 x 33 x 33 nodes of hexahedra, 3 unknowns", 29403, 2117025, 157901373, 8873631},
     mesh({Cells::hexahedra, 9, 33, 33, 3})},
    {{"rma10_like", "88 x 89 x 2 nodes of hexahedra, 3 unknowns", 46992, 2499480, 133609392, 6858936},
     mesh({Cells::hexahedra, 88, 89, 2, 3})},
    {{"mc2depi", "an epidemic's states", 525825, 2100225, 8391681, 5245953},
     [] { return epidemicPlaces(1025); }},
    {{"cage12_like", "words of 11 of 3 letters, moving kinks", 130228, 1789870, 25732312, 12588292},
     [] { return reptationPlaces(11, 130228); }},
    {{"m133-b3", "boundary map of a matching complex", 200200, 800800, 3203200, 3184475},
     matchingComplexPlaces},
    {{"webbase-1M_like", "pages of hosts", 1000005, 3149383, 70127034, 59960302},
     web({1000005, 3900000, 2.2, 4700, 0.85, 2, 0.9, 2.3, 5000, 0.8})},
    {{"patents_main_like", "papers that cite", 240547, 574083, 2116356, 2067329},
     [] { return citationPlaces(240547, 575000); }},
    {{"qa8fk_like", "40 x 40 x 41 nodes of hexahedra", 65600, 1684804, 43977500, 7489564},
     mesh({Cells::hexahedra, 40, 40, 41, 1})},
    {{"er_100k_1M", "anywhere", 100000, 999944, 10001426, 9996447},
     [] { return uniformPlaces(100000, 1000000); }},
    {{"fem60", "60^3 nodes of hexahedra, 3 unknowns", 648000, 50757768, 4019679000, 228709656},
     mesh({Cells::hexahedra, 60, 60, 60, 3})},
    {{"poisson3d_100", "100^3 nodes, 7 points", 1000000, 6940000, 48222400, 24581200},
     mesh({Cells::sevenPoints, 100, 100, 100, 1})},
    {{"fem40_shuffled", "40^3 nodes of hexahedra in a random order, 3 unknowns", 192000, 14787288, 1157625000,
      65712456},
     mesh({Cells::hexahedra, 40, 40, 40, 3, 0, 1, true})},
    {{"dawson5_like", "131 x 131 nodes of triangles, 3 unknowns, 92 % kept", 51483, 990055, 19162265,
      2884053},
     mesh({Cells::tetrahedra, 131, 131, 1, 3, 0, 1, false, 0.92})},
    {{"pct20stif_like", "26^3 nodes of tetrahedra and random links, 3 unknowns", 52728, 2704500, 141724620,
      22672278},
     mesh({Cells::tetrahedra, 26, 26, 26, 3, 27000})},
    {{"pkustk06_like", "109 x 66 nodes of a shell and random links, 6 unknowns", 43164, 2584872, 157280832,
      11335464},
     mesh({Cells::hexahedra, 109, 66, 1, 6, 4200, 300})},
    {{"pli_like", "19 x 20 x 20 nodes of hexahedra, 3 unknowns", 22800, 1665180, 125628300, 7077636},
     mesh({Cells::hexahedra, 19, 20, 20, 3})},
    {{"struct3_like", "134 x 133 nodes of triangles, 3 unknowns", 53466, 1113192, 23233716, 2999682},
     mesh({Cells::tetrahedra, 134, 133, 1, 3})},
    {{"web-NotreDame_like", "pages of hosts", 325729, 1332254, 38049352, 31750296},
     web({325729, 1600000, 2.1, 3450, 0.88, 2, 0.85, 2, 10000, 0.7})},
    {{"rmat16_1M", "recursive quadrants", 65536, 1000000, 434443186, 173166974},
     [] { return recursivePlaces(16, 1000000); }},
    {{"lock1074_like", "13 x 14 nodes of a shell, 6 unknowns", 1092, 53280, 2680992, 135936},
     mesh({Cells::hexahedra, 13, 14, 1, 6})},
    {{"lock3491_like", "24 x 24 nodes of a shell, 6 unknowns", 3456, 176400, 9166176, 467856},
     mesh({Cells::hexahedra, 24, 24, 1, 6})},
    {{"poisson2d_1000", "1000^2 nodes, 5 points", 1000000, 4996000, 24964008, 12980004},
     mesh({Cells::sevenPoints, 1000, 1000, 1, 1})},
};

/// A number in [0.5, 1.5) for each entry number. Source: S. Vigna: splitmix64.
double drawnValue(std::uint64_t entry)
{
  std::uint64_t z = (entry + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return 0.5 + static_cast<double>((z ^ z >> 31) >> 41) * 0x1p-23;
}

}

const std::vector<BenchmarkMatrix>& benchmarkMatrices()
{
  static const std::vector<BenchmarkMatrix> all = [] {
    std::vector<BenchmarkMatrix> list;
    for (const Recipe& recipe : recipes)
      list.push_back(recipe.matrix);
    return list;
  }();
  return all;
}

CsrMatrix<double> matrixAt(const Context& context, Places places, const std::string& name)
{
  const std::vector<TripletBlock<float>> blocks{std::move(places.entries)};
  const CsrMatrix<float> ones =
      matrixFromTriplets<float>(context, places.rows, places.columns, blocks, name).matrix;
  CsrMatrix<double> matrix;
  static_cast<MatrixPattern&>(matrix) = ones;
  matrix.value = Array<double>(ones.value.size());
  forEachRange(context, matrix.value.size(), 65536, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      matrix.value[i] = drawnValue(i);
  });
  return matrix;
}

CsrMatrix<double> makeBenchmarkMatrix(const Context& context, const std::string& name)
{
  std::string names;
  for (const Recipe& recipe : recipes) {
    names += (names.empty() ? "" : ", ") + std::string(recipe.matrix.name);
    if (name == recipe.matrix.name)
      return matrixAt(context, recipe.places(), name);
  }
  failAs(ExitCode::usage, "generate", "\"" + name + "\": no such matrix", names);
}

}
