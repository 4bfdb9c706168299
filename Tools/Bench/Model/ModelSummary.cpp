#include "Tools/Bench/Model/ModelSummary.h"

#include "Tools/Bench/Model/KernelModels.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tessera {
namespace {

constexpr const char* modelNames[] = {"this project", "Wu et al.", "Hong and Kim"};
constexpr std::size_t modelCount = 3;

/// Mean ranks, counted from 0.
std::vector<double> ranksOf(const std::vector<double>& values)
{
  std::vector<double> ranks;
  for (const double value : values) {
    double below = 0, equal = 0;
    for (const double other : values) {
      below += other < value;
      equal += other == value;
    }
    ranks.push_back(below + (equal - 1) / 2);
  }
  return ranks;
}

/// The rows of one kernel and size.
struct Group {
  std::vector<const ModelRow*> rows;

  std::vector<double> measured() const
  {
    std::vector<double> times;
    for (const ModelRow* row : rows)
      times.push_back(row->measuredMs);
    return times;
  }
  std::vector<double> predicted(std::size_t model) const
  {
    std::vector<double> times;
    for (const ModelRow* row : rows)
      times.push_back(row->predictedMs[model]);
    return times;
  }
  std::size_t chosen(std::size_t model) const
  {
    std::vector<int> threads;
    for (const ModelRow* row : rows)
      threads.push_back(row->shape.threads);
    return chosenBlockSize(predicted(model), threads);
  }
  double regret(std::size_t row) const
  {
    const std::vector<double> times = measured();
    return times[row] / *std::min_element(times.begin(), times.end()) - 1;
  }
};

std::vector<Group> groupsOf(const std::vector<ModelRow>& rows)
{
  std::vector<Group> groups;
  for (const ModelRow& row : rows) {
    if (groups.empty() || groups.back().rows[0]->kernel != row.kernel
        || groups.back().rows[0]->size != row.size)
      groups.emplace_back();
    groups.back().rows.push_back(&row);
  }
  return groups;
}

template <class... Values>
std::string formatted(const char* format, Values... values)
{
  char text[300];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

double percent(double predicted, double measured)
{
  return 100 * (predicted / measured - 1);
}

std::string summaryOf(const std::vector<Group>& groups, std::size_t model)
{
  double errors = 0, largest = 0, rows = 0, correlations = 0, ranked = 0, good = 0, regrets = 0;
  double pairs = 0, rightPairs = 0, wrongPairs = 0;
  for (const Group& group : groups) {
    for (const ModelRow* row : group.rows) {
      const double error = std::abs(percent(row->predictedMs[model], row->measuredMs));
      errors += error;
      largest = std::max(largest, error);
      ++rows;
    }
    const std::vector<double> measured = group.measured(), predicted = group.predicted(model);
    for (std::size_t a = 0; a < measured.size(); ++a)
      for (std::size_t b = 0; b < measured.size(); ++b)
        if (measured[a] > 1.05 * measured[b]) {
          ++pairs;
          rightPairs += predicted[a] > predicted[b];
          wrongPairs += predicted[a] < predicted[b];
        }
    const auto [least, most] = std::minmax_element(measured.begin(), measured.end());
    if (*most > 1.05 * *least) {
      correlations += rankCorrelation(predicted, measured);
      ++ranked;
    }
    const double regret = group.regret(group.chosen(model));
    regrets += regret;
    good += regret <= 0.03;
  }
  const auto count = static_cast<double>(std::max<std::size_t>(groups.size(), 1));
  return formatted("%-13s error: mean %.1f %%, largest %.1f %%; rank correlation %.3f (%.0f of %zu), of "
                   "pairs that differ by 5 %% %.3f; right order of these pairs %.0f %%; chosen block size "
                   "within 3 %% of the best: %.0f %%, mean regret %.1f %%\n",
                   modelNames[model], errors / std::max(rows, 1.0), largest,
                   correlations / std::max(ranked, 1.0), ranked, groups.size(),
                   (rightPairs - wrongPairs) / std::max(pairs, 1.0), 100 * rightPairs / std::max(pairs, 1.0),
                   100 * good / count, 100 * regrets / count);
}

}

double rankCorrelation(const std::vector<double>& a, const std::vector<double>& b)
{
  const std::vector<double> x = ranksOf(a), y = ranksOf(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double both = 0, squaresOfX = 0, squaresOfY = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - mean) * (y[i] - mean);
    squaresOfX += (x[i] - mean) * (x[i] - mean);
    squaresOfY += (y[i] - mean) * (y[i] - mean);
  }
  return squaresOfX > 0 && squaresOfY > 0 ? both / std::sqrt(squaresOfX * squaresOfY) : 0;
}

std::string modelTable(const std::vector<ModelRow>& rows)
{
  std::string text = "kernel     size        block  regs warps  measured      this  error        Wu  error   "
                     "H & K      error  bound by\n"
                     "                                    active   ms        project   %         et al.  %   "
                     "              %\n";
  for (const Group& group : groupsOf(rows)) {
    const std::size_t chosen = group.chosen(0);
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      const ModelRow& row = *group.rows[i];
      text += formatted("%-10s %-11s %5d %5d %5.0f %9.5f", row.kernel.c_str(), row.size.c_str(),
                        row.shape.threads, row.shape.registers,
                        row.shape.blocksAMultiprocessor * row.shape.warpsABlock(), row.measuredMs);
      for (const double ms : row.predictedMs)
        text += formatted(" %9.5f %+6.1f", ms, percent(ms, row.measuredMs));
      text += "  " + row.boundBy + (row.isUsual ? ", usual" : "")
              + (i == chosen ? formatted(", chosen: +%.1f %%", 100 * group.regret(i)) : "")
              + (row.transfersMs > 0 ? formatted(", copies %.5f ms", row.transfersMs) : "")
              + (row.shape.localBytes > 0 ? formatted(", %d bytes spilled", row.shape.localBytes) : "")
              + "\n";
    }
  }
  return text;
}

std::string modelSummary(const std::vector<ModelRow>& rows)
{
  const std::vector<Group> groups = groupsOf(rows);
  std::string text;
  for (std::size_t model = 0; model < modelCount; ++model)
    text += summaryOf(groups, model);
  double regrets = 0, most = 0, count = 0;
  for (const Group& group : groups)
    for (std::size_t i = 0; i < group.rows.size(); ++i)
      if (group.rows[i]->isUsual) {
        regrets += group.regret(i);
        most = std::max(most, group.regret(i));
        ++count;
      }
  return text
         + formatted("block sizes that the program takes: mean regret %.1f %%, largest %.1f %%\n",
                     100 * regrets / std::max(count, 1.0), 100 * most);
}

}
