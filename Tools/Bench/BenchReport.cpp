#include "Tools/Bench/BenchReport.h"

#include "Core/Compute/Cuda/Stream.h"
#include "Tools/Common/Process.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <thread>

namespace tessera {
namespace {

std::string number(const char* format, std::optional<double> value)
{
  if (!value)
    return "";
  char text[64];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

using TextRows = std::vector<std::vector<std::string>>;

TextRows rowsOf(const std::vector<BenchResult>& results)
{
  TextRows rows{{"case", "method", "device", "ms", "warm ms", "ns/item", "bytes/item", "share %", "of",
                 "mean error", "rms error", "largest", "mismatches", "ratio"}};
  for (const BenchResult& r : results)
    rows.push_back({r.caseName, r.method, r.device, number("%.4f", r.ms), number("%.4f", r.msWarm),
                    number("%.4f", 1e6 * r.ms / r.items), number("%.1f", r.bytes / r.items),
                    number("%.1f", r.share ? std::optional(100 * *r.share) : std::nullopt), r.shareOf,
                    number("%.2g", r.meanError), number("%.2g", r.rmsError), number("%.2g", r.largestError),
                    number("%.0f", r.mismatches), number("%.2f", r.ratio)});
  return rows;
}

TextRows rowsOf(const BenchTable& table)
{
  TextRows rows(1);
  for (const BenchTable::Column& column : table.columns)
    rows[0].push_back(column.name);
  for (const std::vector<BenchCell>& cells : table.rows) {
    std::vector<std::string>& row = rows.emplace_back();
    for (std::size_t c = 0; c < cells.size(); ++c)
      if (const double* const value = std::get_if<double>(&cells[c]))
        row.push_back(number(table.columns[c].format, *value));
      else
        row.push_back(std::holds_alternative<std::string>(cells[c]) ? std::get<std::string>(cells[c]) : "");
  }
  return rows;
}

/// Lines of a table of Markdown, whose first row is its head.
std::string alignedText(const TextRows& rows)
{
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line = "|";
    for (std::size_t c = 0; c < row.size(); ++c)
      line += " " + row[c] + std::string(widths[c] - row[c].size(), ' ') + " |";
    text += line + "\n";
    if (&row == &rows.front()) {
      line = "|";
      for (const std::size_t width : widths)
        line += std::string(width + 2, '-') + "|";
      text += line + "\n";
    }
  }
  return text;
}

nlohmann::ordered_json jsonOf(const BenchTable& table)
{
  nlohmann::ordered_json json{{"title", table.title}, {"rows", nlohmann::ordered_json::array()}};
  for (const std::vector<BenchCell>& cells : table.rows) {
    nlohmann::ordered_json row = nlohmann::ordered_json::object();
    for (std::size_t c = 0; c < cells.size(); ++c)
      if (const double* const value = std::get_if<double>(&cells[c]))
        row[table.columns[c].name] = *value;
      else if (const std::string* const words = std::get_if<std::string>(&cells[c]))
        row[table.columns[c].name] = *words;
    json["rows"].push_back(row);
  }
  return json;
}

}

std::string machineText(bool withCuda)
{
  std::string text =
      processorName() + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads";
  const CudaDevices cuda = withCuda ? findCudaDevices() : CudaDevices{};
  for (const CudaDevice& device : cuda.found) {
    char more[160];
    std::snprintf(more, sizeof more, "; %s, %d multiprocessors at %.2f GHz, %.0f GB, cache %.0f MB",
                  device.name.c_str(), device.multiprocessors, device.clockGHz,
                  static_cast<double>(device.memoryBytes) * 1e-9,
                  static_cast<double>(device.cacheBytes) * 1e-6);
    text += more;
  }
  return text;
}

std::string tableText(const std::string& machine, const BenchReport& report)
{
  std::string text = machine + "\n";
  if (!report.results.empty())
    text += alignedText(rowsOf(report.results));
  for (const BenchTable& table : report.tables)
    text += "\n" + table.title + "\n" + alignedText(rowsOf(table));
  return text;
}

std::string jsonText(const std::string& machine, const BenchReport& benchReport)
{
  nlohmann::ordered_json report;
  report["machine"] = machine;
  report["results"] = nlohmann::ordered_json::array();
  for (const BenchResult& r : benchReport.results) {
    nlohmann::ordered_json row{{"case", r.caseName}, {"method", r.method}, {"device", r.device}, {"ms", r.ms},
                               {"msWarm", r.msWarm}, {"items", r.items},   {"bytes", r.bytes}};
    const auto addIf = [&](const char* name, const std::optional<double>& value) {
      if (value)
        row[name] = *value;
    };
    addIf("share", r.share);
    if (!r.shareOf.empty())
      row["shareOf"] = r.shareOf;
    addIf("meanError", r.meanError);
    addIf("rmsError", r.rmsError);
    addIf("largestError", r.largestError);
    addIf("mismatches", r.mismatches);
    addIf("ratio", r.ratio);
    report["results"].push_back(row);
  }
  for (const BenchTable& table : benchReport.tables)
    report["tables"].push_back(jsonOf(table));
  return report.dump(2) + "\n";
}

}
