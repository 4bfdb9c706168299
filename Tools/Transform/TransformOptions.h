#pragma once

#include "Core/Image/Files/ReadingOptions.h"
#include "Tools/Common/BidsTransformName.h"
#include "Tools/Common/CommandLine.h"
#include "Tools/Common/GpuRatesFile.h"

#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tessera {

/// The command line of `tessera-transform`.
struct TransformOptions {
  std::vector<std::string> transformFiles; // in the order in which they are applied
  std::set<std::size_t> inverseOf;         // which of them are inverted, counted from 1
  std::string matrixFormat;                // fsl, greedy or niftyreg: they are matrices as text; empty: not
  std::string outputFolder;
  std::string commandLine;                    // whole, as a shell takes it
  std::vector<std::string> images, labels;    // paths, or lists of them (@FILE)
  std::string labelInterpolation = "nearest"; // or "majority"
  std::string points;                         // a file of points; empty: none
  std::string grid;              // an image whose grid is the output's; empty: the transform file's
  std::vector<double> spacingMm; // of the output; empty: that of the grid
  std::string cropMask;          // a mask about which the grid is cut; empty: none
  std::vector<std::size_t> cropFirst, cropLast; // or the corner voxels to which it is cut; empty: not
  double cropMarginMm = 0;
  std::string moving; // an image of the moving side; empty: not given
  bool field = false, determinants = false, matrices = false;
  bool nonlinear = false;                    // determinants without the linear transforms
  bool logarithm = false;                    // of determinants
  bool description = false;                  // tell what the transform does
  bool inverse = false;                      // apply T^-1 instead of T
  std::string write;                         // a file to which the transform is written; empty: none
  std::string format;                        // the program that it is for; empty: by its ending
  std::optional<BidsTransformName> bidsName; // of `write`, if it is one
  bool inverseAsSpline = false;              // there, as a B-spline instead of a field
  std::string device = "auto";
  std::string fieldInterpolator; // empty: as the transform file says
  double maxMemory = 0;          // bytes of host memory for images; 0: a share of the free memory
  double maxDeviceMemory = std::numeric_limits<double>::infinity(); // bytes of a CUDA device
  ReadingOptions reading;
  std::shared_ptr<KnownGpus> gpus = std::make_shared<KnownGpus>(); // of this run, or of several
  int threads = 1;
  std::string threadSource;
};

inline bool hasImages(const TransformOptions& options)
{
  return !options.images.empty() || !options.labels.empty();
}

/// Whether results are asked for that lie on the output grid.
inline bool needsGrid(const TransformOptions& options)
{
  return hasImages(options) || options.field || options.determinants || options.matrices
         || options.description || !options.write.empty();
}

/// Whether the run writes no file in its output folder but the log and the record.
inline bool writesNamedFilesAlone(const TransformOptions& options)
{
  return !options.write.empty() && !hasImages(options) && options.points.empty() && !options.field
         && !options.determinants && !options.matrices && !options.description;
}

/// The text of --help.
ProgramText transformText(bool asElastix);

/// The options of a parsed command line. Throws Error(usage) if one is missing, in the words of transformix
/// if the program goes by its name, or contradicts another.
TransformOptions transformOptions(const Arguments&, bool asElastix);

}
