#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Parameters of elastix of one kind that no component of Tessera reads, and without which its components do
/// the same as elastix's.
struct ElastixParameterGroup {
  std::string_view role;   // "Metric", ...: the label "Metric0" may stand before the name; empty: no label
  std::string_view reason; // why no component reads it, as a noun phrase or clause
  std::string_view names;  // separated by single blanks; # stands for digits
};

/// Null if the name, after a label such as "Metric0", is not in the list. Parameters that Tessera's
/// components read are not listed.
const ElastixParameterGroup* findElastixParameter(std::string_view name);

/// Whether a parameter of this name, after a label, is one that Tessera has and elastix has not.
bool isUnknownToElastix(std::string_view name, std::string_view role);

/// Every listed name that has no #.
std::vector<std::string> elastixParameterNames();

/// The part of a name after a label of this role, "Bins" of "Metric0Bins"; empty if the name has no such
/// label.
std::string_view afterLabel(std::string_view name, std::string_view role);

}
