#pragma once

#include "Core/Parameters/Parameters.h"

#include <string>

namespace tessera {

/// The parameters that the program itself reads, and no component.
class StageSettings {
public:
  explicit StageSettings(const Parameters&);
  static const ComponentDescription& description();

  std::string device, whereDevice;             // (Device ...), and its place in the text
  std::string fixedPixelType, movingPixelType; // only copied to transform files
  std::int64_t threads;                        // MaximumNumberOfThreads; 0: not given
  bool useDirectionCosines, writeIterationInfo, writeFinalTransform, writesTransformOfLevels,
      writesTransformOfIterations;
  bool leavesOutFilling;             // of images, see findConstantFilling
  std::int64_t scheduleForImageSize; // 0: not given
  std::string itkExtension;          // "tfm", "h5", ...; empty: no ITK transform file
  bool writeItkComposite;
  std::string transformExtension; // of transform parameter files: "txt" or "toml"
  bool writePyramidImages(std::size_t level) const;

  /// Throws Error(usage) if the text says another dimension than that of the images.
  void checkDimension(int fixedDimension, int movingDimension) const;

private:
  Parameters parameters_;
};

/// The dimension of the fixed image by a parameter text; 0: it does not say. Throws Error(usage) for one
/// other than 2, 3 or 4.
int dimensionIn(const ParameterMap&);

}
