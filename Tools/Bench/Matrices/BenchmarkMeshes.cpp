#include "Tools/Bench/Matrices/BenchmarkStructures.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace tessera {
namespace {

using Offset = std::array<int, 3>;

std::vector<Offset> neighbours(Mesh::Cells cells)
{
  std::vector<Offset> offsets;
  for (int z = -1; z <= 1; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x) {
        const bool up = x > 0 || y > 0 || z > 0, down = x < 0 || y < 0 || z < 0;
        const int steps = std::abs(x) + std::abs(y) + std::abs(z);
        if (cells == Mesh::Cells::hexahedra || (cells == Mesh::Cells::tetrahedra && !(up && down))
            || (cells == Mesh::Cells::sevenPoints && steps <= 1))
          offsets.push_back({x, y, z});
      }
  return offsets;
}

/// All pairs of nodes that share a cell.
Places meshNodes(const Mesh& mesh)
{
  Places nodes;
  nodes.rows = nodes.columns = mesh.nx * mesh.ny * mesh.nz;
  const std::vector<Offset> offsets = neighbours(mesh.cells);
  const auto inside = [](std::uint64_t at, int step, std::uint64_t size) {
    return step < 0 ? at > 0 : at + step < size;
  };
  for (std::uint64_t z = 0; z < mesh.nz; ++z)
    for (std::uint64_t y = 0; y < mesh.ny; ++y)
      for (std::uint64_t x = 0; x < mesh.nx; ++x)
        for (const auto& [dx, dy, dz] : offsets)
          if (inside(x, dx, mesh.nx) && inside(y, dy, mesh.ny) && inside(z, dz, mesh.nz))
            nodes.add((z * mesh.ny + y) * mesh.nx + x, ((z + dz) * mesh.ny + y + dy) * mesh.nx + x + dx);
  return nodes;
}

void addLinks(Places& nodes, const Mesh& mesh, Xorshift& random)
{
  for (std::uint64_t link = 0; link < mesh.randomLinks; ++link) {
    const std::uint64_t from = random.next() % nodes.rows, to = from + 1 + random.next() % mesh.longestLink;
    if (to >= nodes.rows)
      continue;
    nodes.add(from, to);
    nodes.add(to, from);
  }
}

void shuffle(Places& nodes, Xorshift& random)
{
  std::vector<std::uint32_t> order(nodes.rows);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[random.next() % (i + 1)]);
  for (std::vector<std::uint32_t>* ends : {&nodes.entries.row, &nodes.entries.column})
    for (std::uint32_t& node : *ends)
      node = order[node];
}

/// A number in [0, 1) that is the same for (i, j) and (j, i).
double drawOfPair(std::uint64_t i, std::uint64_t j)
{
  std::uint64_t hash = std::min(i, j) * 0x9e3779b97f4a7c15 ^ std::max(i, j) * 0xc2b2ae3d27d4eb4f;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9;
  hash ^= hash >> 32;
  return static_cast<double>(hash >> 11) * 0x1p-53;
}

}

Places meshPlaces(const Mesh& mesh)
{
  Xorshift random;
  Places nodes = meshNodes(mesh);
  addLinks(nodes, mesh, random);
  if (mesh.shuffled)
    shuffle(nodes, random);
  Places places;
  places.rows = places.columns = nodes.rows * mesh.unknowns;
  const std::size_t pairs = nodes.entries.row.size();
  places.entries.row.reserve(pairs * mesh.unknowns * mesh.unknowns);
  places.entries.column.reserve(pairs * mesh.unknowns * mesh.unknowns);
  for (std::size_t pair = 0; pair < pairs; ++pair)
    for (std::uint64_t a = 0; a < mesh.unknowns; ++a)
      for (std::uint64_t b = 0; b < mesh.unknowns; ++b) {
        const std::uint64_t row = nodes.entries.row[pair] * mesh.unknowns + a,
                            column = nodes.entries.column[pair] * mesh.unknowns + b;
        if (mesh.kept == 1 || row == column || drawOfPair(row, column) < mesh.kept)
          places.add(row, column);
      }
  return places;
}

Places bandPlaces(std::uint64_t size, std::uint64_t halfWidth, double kept)
{
  Xorshift random;
  Places places;
  places.rows = places.columns = size;
  for (std::uint64_t i = 0; i < size; ++i)
    for (std::uint64_t j = i; j <= std::min(size - 1, i + halfWidth); ++j) {
      if (j - i > halfWidth * 3 / 4 && random.unit() > kept)
        continue;
      places.add(i, j);
      if (i != j)
        places.add(j, i);
    }
  return places;
}

}
