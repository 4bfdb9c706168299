#pragma once

#include "Components/Transforms/Shared/AutomaticInitialization.h"

namespace tessera {

/// The rigid start of (AutomaticTransformInitializationMethod "Search"): turns of up to `largestAngle` (rad;
/// 0: shifts alone) about the centre of the fixed image, each with shifts that bring centres of gravity or of
/// geometry together, or near them. Compares coarse images by their normalized mutual information (Studholme
/// et al., Pattern Recognition 32, 1999), refines the best, and returns the best of those. Masks count. At
/// least half of the smaller image must overlap with the other one.
///
/// It takes some 10^8 interpolations, on the CPU whatever the device; results repeat for any thread count.
/// Throws Error(registrationFailed) if an image has only one intensity.
template <int D>
LinearStart<D> searchedStart(Context&, const TransformStart<D>&, double largestAngle);

}
