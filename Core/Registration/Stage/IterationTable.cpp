#include "Core/Registration/Stage/IterationTable.h"

#include "Core/Compute/Log.h"

#include <map>

namespace tessera {

template <int D>
std::vector<std::string> IterationTable<D>::header() const
{
  std::map<std::string, int> names{{"1:ItNr", 0}, {"2:Metric", 0}, {"Time[ms]", 0}};
  for (const std::string& column : optimizerColumns_)
    names[column] = 0;
  for (const TermColumn& column : termColumns_)
    names[column.name] = 0;
  if (exactMetric_ && terms_ > 1)
    names["ExactMetric"] = 0;
  for (std::size_t t = 0; exactMetric_ && t < terms_; ++t)
    names["ExactMetric" + std::to_string(t)] = 0;
  for (std::size_t t = 0; terms_ > 1 && t < terms_; ++t)
    for (const std::string& name : {"2:Metric" + std::to_string(t), "4:||Gradient" + std::to_string(t) + "||",
                                    "Time" + std::to_string(t) + "[ms]"})
      names[name] = 0;
  std::vector<std::string> header;
  for (const auto& [name, unused] : names)
    header.push_back(name);
  return header;
}

template <int D>
IterationRecord IterationTable<D>::record(const IterationRow& row, const Cost<D>& cost,
                                          const std::optional<typename Cost<D>::ExactValues>& exact)
{
  const auto now = std::chrono::steady_clock::now();
  std::map<std::string, std::string> cells{
      {"1:ItNr", std::to_string(row.iteration)},
      {"2:Metric", decimals(row.value, 6)},
      {"Time[ms]", decimals(std::chrono::duration<double, std::milli>(now - lastRow_).count(), 1)},
  };
  lastRow_ = now;
  for (std::size_t c = 0; c < optimizerColumns_.size(); ++c)
    cells[optimizerColumns_[c]] =
        c < row.columns.size() ? decimals(row.columns[c], 6) : row.textColumns.at(c - row.columns.size());
  for (const TermColumn& column : cost.termColumns())
    cells[column.name] = decimals(column.value, 10);
  if (exactMetric_ && terms_ > 1)
    cells["ExactMetric"] = exact ? decimals(exact->combined, 6) : "";
  for (std::size_t t = 0; exactMetric_ && t < terms_; ++t)
    cells["ExactMetric" + std::to_string(t)] = exact ? decimals(exact->ofTerms[t], 6) : "";
  for (std::size_t t = 0; terms_ > 1 && t < terms_; ++t) {
    const auto& report = cost.termReports()[t];
    cells["2:Metric" + std::to_string(t)] = decimals(report.value, 6);
    cells["4:||Gradient" + std::to_string(t) + "||"] = decimals(report.gradientNorm, 6);
    cells["Time" + std::to_string(t) + "[ms]"] = decimals(report.milliseconds, 1);
  }
  IterationRecord record{row.iteration, row.value, {}};
  for (auto& [name, cell] : cells)
    record.cells.push_back(std::move(cell));
  return record;
}

TESSERA_INSTANTIATE_CLASS(IterationTable);

}
