#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/SplineSystem.h"
#include "Core/Registration/OptimizableTransform.h"

// Splines of landmarks over batches of points. Vectors, and derivatives of a value by the vectors, have the
// layout of SplineOfLandmarks.
namespace tessera::spline {

/// Straight rows of points at equal steps, as lattices have them, take a fraction of the time of other
/// points.
template <int D>
void map(const SplineOfLandmarks<D>&, const ListSamples<D>&, const PointsOut<D>&);

/// dT/dx, in the layout of SpatialDerivatives; rows as in map().
template <int D>
void jacobians(const SplineOfLandmarks<D>&, const ListSamples<D>&, double* jacobian);

/// sums += sum over samples of (d T / d vectors)^T v.
template <int D>
void addCovectors(const SplineModel<D>&, const ListSamples<D>&, const Covectors<D>&, std::span<double> sums);

/// sums += sum over samples of <covJacobian, d jacobian / d vectors> + <covHessian, d hessian / d vectors>.
/// The layouts are those of Transform::spatialDerivatives; either covector may be null.
template <int D>
void addSpatialCovectors(const SplineModel<D>&, const ListSamples<D>&, const double* covJacobian,
                         const double* covHessian, std::span<double> sums);

/// to += influence * from, or influence^T * from: `influence` leads from displacements of the moving
/// landmarks to vectors.
template <int D>
void addProduct(const SplineModel<D>&, const std::vector<double>& influence, bool transposed,
                std::span<const double> from, std::span<double> to);

/// Exact, in double precision, with the same bits for any number of threads. With n columns of the system
/// (landmarks, or D times as many for elastic bodies) it takes samples * n^2 operations and 8 n^2 bytes.
template <int D>
JacobianTerms jacobianTerms(const Context&, const SplineModel<D>&, const std::vector<double>& influence,
                            const ListSamples<D>&, std::span<const double> scales);

}
