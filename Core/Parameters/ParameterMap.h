#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// One line `(Name value value ...)` of a parameter file.
struct ParameterEntry {
  std::string name;
  std::vector<std::string> values;
  std::size_t line = 0; // 1-based; 0 if it came from no file
};

/// The entries of a parameter text, in file order. Names are unique, but for the empty ones of lines with a
/// blank before the name.
class ParameterMap {
public:
  explicit ParameterMap(std::string fileName = "") : fileName_(std::move(fileName)) {}

  void add(ParameterEntry entry) { entries_.push_back(std::move(entry)); }

  const std::string& fileName() const { return fileName_; }
  const std::vector<ParameterEntry>& entries() const { return entries_; }

  /// Null if the name is not in the file.
  const ParameterEntry* find(std::string_view name) const;

  /// "file:line", or "file" for entries without a line.
  std::string where(const ParameterEntry& entry) const;

private:
  std::string fileName_;
  std::vector<ParameterEntry> entries_;
};

/// Reads elastix's parameter text. `notes` receives one line for each tolerated defect (equal duplicates),
/// `text`, unless it is null, the content of the file.
/// Throws Error(usage) with file and line for a missing file, wrong brackets or quotes, a missing name or
/// value, invalid characters, and a name given twice with different values.
ParameterMap readParameterFile(const std::string& path, std::vector<std::string>& notes,
                               std::string* text = nullptr);

/// The same for text in memory; `name` is what messages call it.
ParameterMap parseParameterText(std::string_view text, const std::string& name,
                                std::vector<std::string>& notes);

}
