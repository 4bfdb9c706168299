#pragma once

#include "Components/Transforms/Shared/AutomaticInitialization.h"

namespace tessera {

/// The rigid start of (AutomaticTransformInitializationMethod "Search"): turns of up to `largestAngle` (rad;
/// 0: shifts alone) about the centre of the fixed image, each with the smaller image at many places in the
/// other one. Compares coarse images by their normalized mutual information (Studholme et al., Pattern
/// Recognition 32, 1999), first all quickly, refines the best, and returns the best of those by information
/// times local correlation; a turn of 180 degrees must gain 18 % more than none, and an overlap of half 68 %
/// more than a whole one. Masks count if both images have one. At least half of the smaller image must
/// overlap with the other one, or three quarters of what can if that is less.
///
/// It takes some 10^8 interpolations, on the CPU whatever the device; results repeat for any thread count.
/// Throws Error(registrationFailed) if an image has only one intensity.
template <int D>
LinearStart<D> searchedStart(Context&, const TransformStart<D>&, double largestAngle);

}
