#include "Core/Parameters/ParameterText.h"

#include "Core/Compute/LowerCase.h"

#include <algorithm>

namespace tessera {
namespace {

// Costs in half letters: a letter in the other case is half a mistake.
constexpr std::size_t letter = 2, otherCase = 1, wholeWord = 4;

bool isUpper(char c)
{
  return c >= 'A' && c <= 'Z';
}

/// Edit distance of two sequences (Wagner and Fischer, 1974) with exchange of neighbours (Damerau, 1964).
template <class Sequence, class RemovalCost, class ChangeCost>
std::size_t editDistance(const Sequence& a, const Sequence& b, RemovalCost removal, ChangeCost change,
                         std::size_t exchange)
{
  std::vector<std::size_t> beforeLast(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j < b.size(); ++j)
    row[j + 1] = row[j] + removal(b[j]);
  for (std::size_t i = 0; i < a.size(); ++i) {
    beforeLast.swap(last);
    last.swap(row);
    row[0] = last[0] + removal(a[i]);
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] =
          std::min({last[j] + change(a[i], b[j]), row[j] + removal(b[j]), last[j + 1] + removal(a[i])});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        row[j + 1] = std::min(row[j + 1], beforeLast[j - 1] + exchange);
    }
  }
  return row.back();
}

std::size_t letterDistance(const std::string& a, const std::string& b)
{
  const auto change = [](char x, char y) {
    return x == y ? 0 : lowerLetter(x) == lowerLetter(y) ? otherCase : letter;
  };
  return editDistance(
      a, b, [](char) { return letter; }, change, letter);
}

/// "FixedImageType" -> Fixed, Image, Type.
std::vector<std::string> wordsOf(const std::string& name)
{
  std::vector<std::string> words;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (words.empty() || (isUpper(name[i]) && !isUpper(name[i - 1])))
      words.emplace_back();
    words.back() += name[i];
  }
  return words;
}

std::size_t distance(const std::string& a, const std::string& b)
{
  if (std::ranges::equal(a, b, {}, lowerLetter, lowerLetter))
    return a == b ? 0 : otherCase;
  const auto removal = [](const std::string& word) { return std::min(letter * word.size(), wholeWord); };
  const auto change = [](const std::string& x, const std::string& y) {
    const bool isShortened =
        std::min(x.size(), y.size()) > 2 && (x.starts_with(y) || y.starts_with(x)); // Max
    return isShortened ? std::min(wholeWord, letterDistance(x, y)) : letterDistance(x, y);
  };
  return std::min(letterDistance(a, b), editDistance(wordsOf(a), wordsOf(b), removal, change, wholeWord));
}

}

std::string nearestName(const std::string& name, const std::vector<std::string>& candidates)
{
  const std::size_t limit = letter * std::clamp<std::size_t>(name.size() / 3, 1, 3);
  std::string best;
  std::size_t bestDistance = limit + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t d = distance(name, candidate);
    if (d < bestDistance) {
      bestDistance = d;
      best = candidate;
    }
  }
  return best;
}

std::string hintOfWordProcessor(std::string_view text)
{
  constexpr std::pair<const char*, const char*> plain[] = {
      {"\u201C", "\""},      {"\u201D", "\""},      {"\u201E", "\""},     {"\u2018", "'"}, {"\u2019", "'"},
      {"\u2010", "-"},       {"\u2011", "-"},       {"\u2013", "-"},      {"\u2014", "-"}, {"\u2212", "-"},
      {"\u00A0", "a blank"}, {"\u202F", "a blank"}, {"\u2009", "a blank"}};
  for (const auto& [found, written] : plain)
    if (text.find(found) != std::string_view::npos)
      return std::string("Allowed: ") + written + " in place of "
             + (std::string_view(written) == "a blank" ? "the no-break blank" : found);
  return "";
}

std::string didYouMean(const std::string& name, const std::vector<std::string>& candidates)
{
  const std::string near = nearestName(name, candidates);
  return near.empty() ? "" : " Did you mean \"" + near + "\"?";
}

}
