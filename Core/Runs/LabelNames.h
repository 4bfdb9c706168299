#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tessera {

/// The names of labels in a table: lines "number name ..." as in FreeSurfer's colour table, "number r
/// g b a visible mesh "name"" as ITK-SNAP writes them, or columns `index` and `name` with tabs between
/// (BIDS). Other lines do not count.
std::map<std::int64_t, std::string> labelNamesIn(std::string_view table);

/// The names in the table that lies beside a label map `stem.nii.gz`: stem.tsv, stem.txt, stem.label, or, for
/// all maps of a folder, FreeSurferColorLUT.txt; empty: there is none.
std::map<std::int64_t, std::string> labelNamesBeside(const std::string& labelMap);

}
