#pragma once

#include "Core/Runs/Transforming/TransformRequest.h"
#include "Tools/Common/BidsTransformName.h"
#include "Tools/Common/CommandLine.h"

#include <optional>
#include <string>

namespace tessera {

/// The command line of `tessera-transform`.
struct TransformOptions {
  TransformRequest request;                  // whose images may be lists (readImageLists)
  std::string commandLine;                   // whole, as a shell takes it
  std::optional<BidsTransformName> bidsName; // of the file that is written, if it is one
  std::string threadSource;
};

/// The text of --help.
ProgramText transformText(bool asElastix);

/// The options of a parsed command line. Throws Error(usage) if one is missing, in the words of transformix
/// if the program goes by its name, or contradicts another.
TransformOptions transformOptions(const Arguments&, bool asElastix);

/// Puts the images that lists (@FILE) name in the places of these lists. Throws Error(usage) for a list that
/// cannot be read or names nothing.
void readImageLists(TransformRequest&);

}
