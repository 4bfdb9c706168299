#include "Tools/Bench/Matrices/BenchmarkStructures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_set>
#include <vector>

namespace tessera {
namespace {

/// A random whole number whose mean is `value`.
std::uint64_t roundedAtRandom(double value, Xorshift& random)
{
  const auto whole = static_cast<std::uint64_t>(value);
  return whole + (random.unit() < value - static_cast<double>(whole));
}

void sortAndJoin(std::vector<std::uint64_t>& row)
{
  std::sort(row.begin(), row.end());
  row.erase(std::unique(row.begin(), row.end()), row.end());
}

/// The hosts of a web. The pages of a host have neighbouring numbers; those with most links come first.
struct Hosts {
  std::vector<std::uint64_t> first, size; // pages of each host
  std::vector<std::uint32_t> ofPage;
};

Hosts makeHosts(const Web& web, std::vector<double>& weight, Xorshift& random)
{
  Hosts hosts;
  hosts.ofPage.resize(web.pages);
  for (std::uint64_t page = 0; page < web.pages;) {
    const double drawn =
        std::min(web.largestHost, std::max(1.0, 2 * std::pow(1.0 - random.unit(), -1.0 / web.hostExponent)));
    const std::uint64_t size = std::min(static_cast<std::uint64_t>(drawn), web.pages - page);
    std::fill_n(hosts.ofPage.begin() + static_cast<std::ptrdiff_t>(page), size,
                static_cast<std::uint32_t>(hosts.first.size()));
    std::sort(weight.begin() + static_cast<std::ptrdiff_t>(page),
              weight.begin() + static_cast<std::ptrdiff_t>(page + size), std::greater<double>());
    hosts.first.push_back(page);
    hosts.size.push_back(size);
    page += size;
  }
  return hosts;
}

}

Places uniformPlaces(std::uint64_t size, std::uint64_t draws)
{
  Xorshift random;
  Places places;
  places.rows = places.columns = size;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    const std::uint64_t column = random.next() % size;
    places.add(random.next() % size, column);
  }
  return places;
}

Places recursivePlaces(int scale, std::uint64_t entries)
{
  constexpr double a = 0.57, b = 0.19, c = 0.19;
  Xorshift random;
  Places places;
  places.rows = places.columns = std::size_t(1) << scale;
  std::unordered_set<std::uint64_t> seen;
  seen.reserve(entries);
  while (seen.size() < entries) {
    std::uint64_t row = 0, column = 0;
    for (int level = 0; level < scale; ++level) {
      const double draw = random.unit(), first = a * (0.95 + 0.1 * random.unit());
      const bool right = draw >= first && (draw < first + b || draw >= first + b + c),
                 below = draw >= first + b;
      row = 2 * row + below;
      column = 2 * column + right;
    }
    if (seen.insert(row << 32 | column).second)
      places.add(row, column);
  }
  return places;
}

Places webPlaces(const Web& web)
{
  Xorshift random;
  std::vector<double> weight(web.pages); // proportional to the number of links of each page
  double sum = 0;
  for (double& each : weight) {
    each = std::min(std::pow(1.0 - random.unit(), -1.0 / (web.outExponent - 1)), web.maxLinks);
    sum += each;
  }
  const Hosts hosts = makeHosts(web, weight, random);
  const double factor = static_cast<double>(web.links) / sum,
               hostCount = static_cast<double>(hosts.first.size());
  Places places;
  places.rows = places.columns = web.pages;
  std::vector<std::uint64_t> row, before;
  for (std::uint64_t page = 0; page < web.pages; ++page) {
    const std::uint64_t links = roundedAtRandom(std::min(weight[page] * factor, web.maxLinks), random);
    if (page > 0 && hosts.ofPage[page] != hosts.ofPage[page - 1])
      before.clear();
    row.clear();
    for (std::uint64_t link = 0; link < links; ++link) {
      if (!before.empty() && random.unit() < web.asBefore) {
        row.push_back(before[link % before.size()]);
        continue;
      }
      std::uint64_t host = hosts.ofPage[page];
      if (random.unit() >= web.withinHost) // stepping by a prime spreads large hosts over all numbers
        host = static_cast<std::uint64_t>(std::pow(random.unit(), web.globalSkew) * hostCount) * 7919
               % hosts.first.size();
      const double within = std::pow(random.unit(), web.inSkew) * static_cast<double>(hosts.size[host]);
      row.push_back(std::min(hosts.first[host] + static_cast<std::uint64_t>(within), web.pages - 1));
    }
    sortAndJoin(row);
    for (const std::uint64_t to : row)
      places.add(page, to);
    before = row;
  }
  return places;
}

Places citationPlaces(std::uint64_t papers, double citations)
{
  constexpr double withoutCitations = 0.4, asCited = 0.6;
  Xorshift random;
  Places places;
  places.rows = places.columns = papers;
  std::vector<std::vector<std::uint64_t>> cited(papers);
  const auto first = static_cast<std::uint64_t>(withoutCitations * static_cast<double>(papers));
  const double mean = citations / static_cast<double>(papers - first);
  const auto earlier = [&](std::uint64_t paper) { // prefers recent papers
    const double draw = random.unit();
    const auto back = 1 + static_cast<std::uint64_t>(draw * draw * static_cast<double>(paper));
    return back > paper ? 0 : paper - back;
  };
  for (std::uint64_t paper = first; paper < papers; ++paper) {
    std::vector<std::uint64_t>& row = cited[paper];
    const std::uint64_t count = roundedAtRandom(-mean * std::log(1 - random.unit()), random);
    for (std::uint64_t citation = 0; citation < count; ++citation) {
      if (citation > 0 && random.unit() < asCited && !cited[row.back()].empty()) {
        const std::vector<std::uint64_t>& theirs = cited[row.back()];
        row.push_back(theirs[random.next() % theirs.size()]);
        continue;
      }
      const std::uint64_t one = earlier(paper), other = earlier(paper);
      row.push_back(cited[other].size() > cited[one].size() ? other : one);
    }
    sortAndJoin(row);
    for (const std::uint64_t to : row)
      places.add(paper, to);
  }
  return places;
}

}
