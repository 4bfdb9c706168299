#pragma once

#include "Core/Parameters/Parameters.h"

#include <memory>
#include <string>

namespace tessera {

/// What the program itself, and no component, reads of a parameter file.
class StageSettings {
public:
  explicit StageSettings(const Parameters&);
  static const ComponentDescription& description();

  std::string device() const; // (Device ...)
  std::string whereDevice() const;
  std::int64_t threads() const;       // MaximumNumberOfThreads; 0: not given
  std::string fixedPixelType() const; // of FixedInternalImagePixelType; only written again
  std::string movingPixelType() const;
  bool useDirectionCosines() const;
  bool writeIterationInfo() const;
  bool writeFinalTransform() const;
  bool writeTransformAfterLevel(std::size_t level) const;
  bool writeTransformAfterIterations(std::size_t level) const;
  bool writePyramidImages(std::size_t level) const;
  std::string itkExtension() const; // "tfm", "h5", ...; empty: no ITK transform file
  bool writeItkComposite() const;

  /// Throws Error(usage) if the text says another dimension than that of the images.
  void checkDimension(int fixedDimension, int movingDimension) const;

private:
  Parameters parameters_;
};

/// The dimension that a parameter text names, before its images are known: refuses what is not 2 or 3.
void refuseOtherDimensions(const ParameterMap&);

}
