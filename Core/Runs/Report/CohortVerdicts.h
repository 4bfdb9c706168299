#pragma once

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tessera {

/// The value at a JSON pointer of a run.json, such as "/quality/dice/mean"; null if there is none.
const nlohmann::ordered_json& recordAt(const nlohmann::ordered_json&, const std::string& pointer);
std::string textAt(const nlohmann::ordered_json&, const std::string& pointer); // "" if there is no text

/// A figure of quality by which the registrations of a cohort are compared.
struct FigureInfo {
  const char *name, *unit; // unit: "" or "mm"
  int badSide;             // -1: below the median a row is conspicuous, 1: above it, 0: it is only shown
  double leastSpread;      // in place of a smaller MAD
  double leastSpreadShareOfMedian; // the same, as a share of the median
  std::optional<double> (*in)(const nlohmann::ordered_json& run);
};
constexpr std::size_t figureCount = 7;
extern const std::array<FigureInfo, figureCount> figureInfos;
using Figures = std::array<std::optional<double>, figureCount>; // in the order of figureInfos

/// The figures in a run.json; those that it does not have are empty. The correlation has no sign, so that it
/// is good if it is large also for images of two kinds. The folded share is that of the last stage that tells
/// it. Overlap and displacement are only shown: a large motion, or a smaller field of view, is no fault.
Figures figuresOf(const nlohmann::ordered_json& run);

/// Waiting: a row of a cohort that has not run yet.
enum class Verdict { failed, interrupted, look, done, waiting };
const char* verdictText(Verdict);

struct Judgement {
  Verdict verdict = Verdict::done;
  std::vector<std::string> reasons, notes; // notes: facts that do not count
  double badness = 0; // the largest distance to a median in MADs, on its bad side; to sort by
  std::set<std::size_t> conspicuous = {}; // figures far from their medians
};

/// Median and median absolute deviation of each figure, where at least 5 rows have it.
struct CohortSpread {
  struct Spread {
    double median = 0, mad = 0; // mad is at least the least spread
  };
  std::array<std::optional<Spread>, figureCount> of;
};
CohortSpread spreadOf(const std::vector<Figures>& doneRows);

/// `look` if a figure is more than 5 MAD from the median, on a side that is bad for it.
Judgement judgedInCohort(const Figures&, const CohortSpread&);

/// So many signs that the images do not show the same thing make a warning, and the verdict `look`.
constexpr std::size_t signsThatCount = 2;
const std::string mismatchQuestion = "do these two images show the same thing? ";

/// "17 Left-Hippocampus", or the number alone if run.json has no name for this label.
std::string labelText(const nlohmann::ordered_json& run, const std::string& label);

/// The verdict on a run by itself: `failed` or `interrupted` with its message; `look` if it folds, if it is
/// worse than its start, if less than half of the fixed image maps into the moving one, if its images seem
/// not to show the same thing, or if a label that both have does not meet. Labels of one image alone, and
/// those with fewer than 100 voxels or, in 3D, less than 0.1 ml in one of them, are notes.
Judgement judgedAlone(const nlohmann::ordered_json& run);

}
