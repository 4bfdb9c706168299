#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"

#include <vector>

namespace tessera {

/// The settings of measuring the passes of image metrics over arrays of intensities, beside a fill and a
/// copy.
struct MetricSettings {
  std::vector<std::size_t> samples;
  std::vector<int> bins; // of histograms, for both axes
  std::size_t repeats = 11;
};

std::vector<BenchResult> metricBench(Context&, const MetricSettings&);

}
