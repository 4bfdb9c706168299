#pragma once

#include "Core/Compute/Log.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tessera {

/// The values of options by their names without dash, such as "f" and "fMask". Several values of an option
/// are in the order in which `tessera` takes them.
using OptionValues = std::map<std::string, std::vector<std::string>>;

/// A row of a cohort's table: one registration.
struct ManifestRow {
  std::string id;
  std::size_t line = 0; // of the table, counted from 1
  OptionValues options; // paths are relative to the working folder, as those of a command line
  std::vector<std::string> covariates;
};

/// A cohort's table: UTF-8, a line a row, values separated by tabs, names of the columns in the first line.
/// `id` (or `participant_id` and perhaps `session_id`) names the row. Columns with the names of options of
/// `tessera` are options: f m fMask mMask p (each also with a number: f0 f1 p0 p1), t0 fp mp point-weights
/// fLabels mLabels device, inverse-too (true or false), and reference: m is a series, whose volumes are
/// registered to mean, first, the number of one of them, or fixed, which is f. All others are covariates,
/// which the tables of results repeat. Empty values and "n/a" count as not given, lines that begin with # as
/// comments. Relative paths are relative to the table's folder.
struct Manifest {
  std::string path;
  std::vector<std::string> covariates; // names
  std::vector<ManifestRow> rows;
  std::vector<std::string> warnings; // of columns whose names are nearly those of options
};

/// Reads a table. `defaults` are the options that rows have unless their columns say otherwise. Throws
/// Error(usage) with all errors of the table, a line each, as `file:line:column: ...`, where the column is
/// that of the table; Error(unreadableInput) if there is no such file.
Manifest readManifest(const std::string& path, const OptionValues& defaults);

/// Throws Error(usage) with all warnings if they are errors.
void tellWarnings(const Manifest& manifest, bool areErrors, Log& log);

/// The options that a column may name.
const std::vector<std::string>& columnOptions();

/// Whether the values of such an option are paths.
bool isPathOption(const std::string& option);

}
