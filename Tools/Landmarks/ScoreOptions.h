#pragma once

#include "Core/Compute/Log.h"
#include "Core/Image/Files/ReadingOptions.h"
#include "Tools/Common/CommandLine.h"

#include <map>
#include <string>
#include <vector>

namespace tessera {

/// A case to score: file names and words by the names of their options, such as "fp". Paths are relative to
/// the working folder.
struct ScoreCase {
  std::string id, where; // where: for errors
  std::map<std::string, std::string> values;
  ReadingOptions reading;

  bool has(const std::string& option) const { return values.contains(option); }
  std::string get(const std::string& option, const std::string& absent = "") const
  {
    const auto found = values.find(option);
    return found == values.end() ? absent : found->second;
  }
};

struct ScoreOptions {
  std::vector<ScoreCase> cases;
  bool isRounded = false; // --convention rounded
  std::string json, csv;  // files; empty: none
  int threads = 1;
};

ProgramText landmarksText();

/// The options of `score`; `table` may be empty. Throws Error(usage), or Error(unreadableInput) for the
/// table.
ScoreOptions scoreOptions(const std::string& table, const Arguments&);

/// Scores all cases, prints a table, and writes the files that are asked for. Nothing is written if a case
/// cannot be scored. Throws Error. Returns the exit code.
int score(const ScoreOptions&, Log&);

}
