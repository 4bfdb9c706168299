#pragma once

#include "Core/Parameters/Parameters.h"

#include <string>

namespace tessera {

/// The parameters that the program itself reads, and no component.
class StageSettings {
public:
  explicit StageSettings(const Parameters&);
  static const ComponentDescription& description();

  std::string device() const; // (Device ...)
  std::string whereDevice() const;
  std::int64_t threads() const;       // MaximumNumberOfThreads; 0: not given
  std::string fixedPixelType() const; // FixedInternalImagePixelType, which is only copied to transform files
  std::string movingPixelType() const;
  bool useDirectionCosines() const;
  bool writeIterationInfo() const;
  bool writeFinalTransform() const;
  bool writesTransformOfLevels() const;
  bool writesTransformOfIterations() const;
  bool writePyramidImages(std::size_t level) const;
  bool leavesOutFilling() const;             // of images, see findConstantFilling
  std::int64_t scheduleForImageSize() const; // 0: not given
  std::string itkExtension() const;          // "tfm", "h5", ...; empty: no ITK transform file
  bool writeItkComposite() const;
  std::string transformExtension() const; // of transform parameter files: "txt" or "toml"

  /// Throws Error(usage) if the text says another dimension than that of the images.
  void checkDimension(int fixedDimension, int movingDimension) const;

private:
  Parameters parameters_;
};

/// The dimension of the fixed image by a parameter text; 0: it does not say. Throws Error(usage) for one
/// other than 2, 3 or 4.
int dimensionIn(const ParameterMap&);

}
