#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/SplineSystem.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/Transform.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The parameters of a landmark spline in parameter files, for descriptions.
std::vector<ParameterInfo> splineParameters();

/// The spline that the parameters ask for, without landmarks. Throws Error(usage) for a Poisson's ratio that
/// no body has. Warns of kernels and relaxations that do something else than their names say, and of a kernel
/// whose transform files transformix 5.0.1 cannot evaluate.
template <int D>
SplineModel<D> splineModelOf(const Parameters&);

/// Whether the spline smooths its landmarks, and how much; no value: by cross-validation.
struct Smoothing {
  bool isAsked = false;
  std::optional<double> value;
};

/// Throws Error(usage) for a SplineSmoothing that is no smoothing, or beside a SplineRelaxationFactor.
Smoothing smoothingOf(const Parameters&);

/// The fixed landmarks of a transform file. Throws Error(usage) if they are not whole points.
template <int D>
std::vector<Vec<D>> fixedLandmarksOf(const Parameters& transformFile);

/// The entries of a transform file that say which spline it is.
template <int D>
std::vector<FileEntry> splineEntries(const SplineModel<D>&, const std::optional<double>& smoothing);

/// Why the landmarks determine no spline, as words that follow "they"; empty if only solving can tell.
template <int D>
std::string whyNoSpline(const std::vector<Vec<D>>& landmarksMm);

/// Text for errors: which landmarks determine a spline.
template <int D>
std::string landmarksNeeded();

/// x, y and z of the points, one after the other.
template <int D>
std::vector<double> coordinates(const std::vector<Vec<D>>& pointsMm);

}
