#pragma once

#include "Core/Parameters/ParameterInfo.h"
#include "Core/Parameters/ParameterMap.h"

#include <functional>
#include <memory>
#include <optional>

namespace tessera {

/// A component's view of the parameter text: typed reads with elastix's rules for prefixes, levels and axes.
///
/// A component labelled "Metric0" reads `NumberOfHistogramBins` from these places, of which the last one
/// found wins: entry 0 of the plain name, entry `level` of the plain name, entry 0 of
/// "Metric0NumberOfHistogramBins", entry `level` of that. Errors are Error(usage) with file, line, parameter
/// and what is allowed.
class Parameters {
public:
  /// Receives one line for each tolerated defect of a value, such as blanks that were removed. Each line
  /// comes once, however often the value is read and under whichever label.
  using Warn = std::function<void(const std::string&)>;

  Parameters(std::shared_ptr<const ParameterMap> map, std::string label, std::size_t dimension,
             std::size_t levelCount, Warn warn = {});

  /// A view of the same text for another component.
  Parameters withLabel(std::string label) const;

  const ParameterMap& map() const { return *map_; }
  const std::string& label() const { return label_; }
  std::size_t dimension() const { return dimension_; }
  std::size_t levelCount() const { return levelCount_; }

  /// T is double, std::int64_t, bool or std::string. `entry` is the level, the axis or level * D + axis. If
  /// it is missing, entry 0 is read.
  template <class T>
  T get(const Parameter<T>& parameter, std::size_t entry = 0) const;

  /// The same without entry 0 and without the default: nothing if the text has no such entry.
  template <class T>
  std::optional<T> find(const Parameter<T>& parameter, std::size_t entry = 0) const;

  /// All values of the entry that wins (label before plain); empty if absent.
  template <class T>
  std::vector<T> all(const Parameter<T>& parameter) const;

  /// Whether the parameter is given, with or without the label, with a value. `(Name "")` counts as absent.
  bool has(const std::string& name) const;

  /// `file:line: (Name value ...)` for messages; the file's name and "(Name)" if the parameter is absent.
  std::string where(const std::string& name) const;

  /// Throws Error(usage): `file:line: (Name value): <wrong>. <allowed>`.
  [[noreturn]] void fail(const std::string& name, const std::string& wrong, const std::string& allowed) const;

  void warn(const std::string& line) const;

private:
  const ParameterEntry* winner(const std::string& name, std::size_t entry, bool fallBack,
                               std::size_t& index) const;

  std::shared_ptr<const ParameterMap> map_;
  std::string label_;
  std::size_t dimension_, levelCount_;
  Warn warn_;
  struct Reported;
  std::shared_ptr<Reported> reported_;
};

}
