// Matrices of models of physics, epidemics and topology.

#include "Tools/Bench/Matrices/BenchmarkStructures.h"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

namespace tessera {
namespace {

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
