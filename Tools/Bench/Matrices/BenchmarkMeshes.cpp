#include "Tools/Bench/Matrices/BenchmarkStructures.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
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

/// A word as a number to base 3; the first letter is the last digit.
struct Words {
  std::vector<std::int64_t> power;
  std::vector<int> letter;

  explicit Words(int length) : power(length + 1, 1), letter(length)
  {
    for (int i = 0; i < length; ++i)
      power[i + 1] = 3 * power[i];
  }
  void set(std::int64_t word)
  {
    for (std::size_t i = 0; i < letter.size(); ++i)
      letter[i] = static_cast<int>(word / power[i] % 3);
  }
  /// The change of the number when the letter at a place moves on by `step`.
  std::int64_t turned(std::size_t place, int step) const
  {
    return ((letter[place] + step) % 3 - letter[place]) * power[place];
  }
};

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

Places latticeFermionPlaces()
{
  constexpr int side = 8, spins = 4, colours = 3;
  constexpr int partner[3][spins] = {
      {3, 2, 1, 0},
      {3, 2, 1, 0},
      {2, 3, 0, 1}}; // the spin to which gamma_1, gamma_2 and gamma_3 couple each spin
  Places places;
  places.rows = places.columns = std::size_t(side) * side * side * side * spins * colours;
  const auto number = [](const std::array<int, 4>& x) {
    return ((x[0] * side + x[1]) * side + x[2]) * side + x[3];
  };
  const auto couple = [&](int site, int spin, int otherSite, int otherSpin) {
    for (int a = 0; a < colours; ++a)
      for (int b = 0; b < colours; ++b)
        places.add((site * spins + spin) * colours + a, (otherSite * spins + otherSpin) * colours + b);
  };
  for (int site = 0; site < side * side * side * side; ++site)
    for (int axis = 0; axis < 4; ++axis)
      for (const int step : {-1, 1}) {
        std::array<int, 4> x{site / (side * side * side), site / (side * side) % side, site / side % side,
                             site % side};
        x[axis] = (x[axis] + step + side) % side;
        for (int spin = 0; spin < spins; ++spin) {
          if (axis < 3
              || (step > 0) == (spin < 2)) // along the time axis (1 -+ gamma_4) leaves two of the spins
            couple(site, spin, number(x), spin);
          if (axis < 3)
            couple(site, spin, number(x), partner[axis][spin]);
        }
      }
  return places;
}

Places epidemicPlaces(std::uint64_t size)
{
  Places places;
  places.rows = places.columns = size * (size + 1) / 2;
  const auto state = [size](std::uint64_t s, std::uint64_t i) { return s * size - s * (s - 1) / 2 + i; };
  for (std::uint64_t s = 0; s < size; ++s)
    for (std::uint64_t i = 0; s + i < size; ++i) {
      const std::uint64_t row = state(s, i);
      places.add(row, row);
      if (s > 0)
        places.add(row, state(s - 1, i + 1));
      if (i > 0)
        places.add(row, state(s, i - 1));
      if (s + i + 1 < size)
        places.add(row, state(s + 1, i));
    }
  return places;
}

Places matchingComplexPlaces()
{
  constexpr int points = 13, triples = 4;
  std::vector<int> masks;
  for (int a = 0; a < points; ++a)
    for (int b = a + 1; b < points; ++b)
      for (int c = b + 1; c < points; ++c)
        masks.push_back(1 << a | 1 << b | 1 << c);
  using Set = std::vector<int>; // numbers of triples in rising order
  const auto setsOf = [&](int size) {
    std::vector<Set> sets;
    Set current;
    const std::function<void(int, int)> extend = [&](int first, int used) {
      if (static_cast<int>(current.size()) == size) {
        sets.push_back(current);
        return;
      }
      for (int t = first; t < static_cast<int>(masks.size()); ++t)
        if (!(masks[t] & used)) {
          current.push_back(t);
          extend(t + 1, used | masks[t]);
          current.pop_back();
        }
    };
    extend(0, 0);
    return sets;
  };
  const std::vector<Set> sets = setsOf(triples), faces = setsOf(triples - 1);
  Places places;
  places.rows = sets.size();
  places.columns = faces.size();
  for (std::size_t row = 0; row < sets.size(); ++row)
    for (int left = 0; left < triples; ++left) {
      Set face = sets[row];
      face.erase(face.begin() + left);
      places.add(row, static_cast<std::uint64_t>(std::lower_bound(faces.begin(), faces.end(), face)
                                                 - faces.begin()));
    }
  return places;
}

Places reptationPlaces(int length, std::uint64_t size)
{
  Places places;
  places.rows = places.columns = size;
  Words words(length);
  for (std::uint64_t word = 0; word < size; ++word) {
    words.set(static_cast<std::int64_t>(word));
    const auto go = [&](std::int64_t change) {
      if (const std::uint64_t to = word + static_cast<std::uint64_t>(change); to < size)
        places.add(word, to);
    };
    go(0);
    for (int step = 1; step < 3; ++step) {
      go(words.turned(0, step));
      go(words.turned(words.letter.size() - 1, step));
      for (std::size_t p = 0; p + 1 < words.letter.size(); ++p)
        if (words.letter[p] == words.letter[p + 1]
            || (p % 2 == 0 && words.letter[p] == (words.letter[p + 1] + 1) % 3))
          go(words.turned(p, step) + words.turned(p + 1, step));
    }
  }
  return places;
}

}
