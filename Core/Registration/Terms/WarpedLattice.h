#pragma once

#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/Fields/FieldOfLattice.h"
#include "Core/Registration/Samples/SampleGather.h"
#include "Core/Registration/Samples/StripePlan.h"

#include <optional>

namespace tessera {

/// The moving image under a chain at the positions of a lattice, on the CPU. First its intensities and
/// gradients are computed; later, slopes are taken back to the gradient of the parameters. Where a
/// FieldMethod evaluates the last transform, the field and its adjoint are computed by tiles over slices of
/// the lattice; everything else, and all work of other chains, is done in batches. Results have the same bits
/// for any number of threads.
///
/// It needs 4 (D + 1) bytes a position, and one more with a fixed mask. A lattice that needs more than
/// `maxBytes` goes in slabs, which are warped once for the value and once more for the gradient. Where a
/// FieldMethod is added to a start that is not linear, which may be slow, the start's points are kept in 8 D
/// bytes a position, if `maxBytes` hold them.
template <int D>
class WarpedLattice {
public:
  static constexpr std::size_t usualBytes = std::size_t(512) << 20;

  /// The lattice, the method and the parameters of one evaluation.
  struct Target {
    const VoxelLattice<D>& lattice;
    const FieldMethod<D>* method;       // null if points are mapped one by one
    std::span<const double> parameters; // parameters of the last transform
  };
  /// A range of slices and the positions in them; the slab's field is evaluated on its own.
  struct Slab {
    int firstSlice = 0, slices = 0;
    std::size_t first = 0, count = 0;
  };
  /// The arrays in which one thread handles a batch of consecutive positions.
  struct Batch {
    PointBatch<D> points;
    std::vector<float> fixed = std::vector<float>(batchCapacity);
    std::vector<std::uint8_t> counts = std::vector<std::uint8_t>(batchCapacity);

    static Batch& ofThisThread()
    {
      thread_local Batch batch;
      return batch;
    }
  };
  /// Which intensities stay in memory: those of the slab that was warped last, or those of all slabs.
  enum class Keeps { slab, everything };

  WarpedLattice(const TermLevel<D>&, const std::optional<Matrix<D>>& gradientMatrix, Keeps,
                std::size_t maxBytes = usualBytes);

  /// Cuts the lattice into slabs and allocates the arrays; does nothing if the lattice is that of the last
  /// call. The caller is going to allocate `bytesBeside` for each position. Throws Error(outOfMemory).
  void prepare(Context&, const VoxelLattice<D>&, std::size_t bytesBeside = 0);
  /// About the bytes that prepare() takes for a lattice of so many positions, without `bytesBeside`.
  static double bytesOf(std::size_t positions, Keeps, bool hasMask, std::size_t maxBytes = usualBytes);
  std::size_t slabs() const { return slabs_; }
  Slab slab(std::size_t number) const;

  /// Evaluates the slab's field. Call it before warp() of the slab.
  void begin(Context&, const Target&, const Slab&);
  /// Takes positions [first, last) of the slab to their moving intensities and, if asked for, gradients. The
  /// batch holds the fixed intensities afterwards. Any thread may do it, once for each position.
  SampleCount warp(const Slab&, std::size_t first, std::size_t last, bool withGradient, Batch&);
  /// The same for all positions of the slab.
  SampleCount warp(Context&, const Slab&, bool withGradient);

  /// The moving intensities of a slab. NaN means that the sample does not count.
  float* moving(const Slab& part) { return moving_.data() + (keeps_ == Keeps::everything ? part.first : 0); }
  /// Adds to the gradient of the parameters what the slopes d value / d moving of a slab contribute. The slab
  /// must be the one that was warped last, with gradients.
  void pullBack(Context&, const Target&, const Slab&, const float* slopes, std::span<double> gradient);

  /// The lattice without its mask.
  const SampleSet<D>& everyVoxel() const { return everyVoxel_; }

private:
  void findAsked(Context&);
  void keepStart(Context&);
  bool isAsked(std::size_t first, std::size_t last) const; // whether any of these positions is
  SampleCount keepWhatCounts(const Slab&, std::size_t first, bool withGradient, Batch&);
  void pullBackByPoints(Context&, const Target&, const Slab&, const float* slopes,
                        std::span<double> gradient);
  std::array<float*, D> arrays(const Slab& part) { return planesOf<D>(fieldOrGradients_.data(), part.count); }

  TermLevel<D> level_;
  std::optional<Matrix<D>> gradientMatrix_;
  Keeps keeps_;
  std::size_t maxBytes_;

  // These belong to the lattice that was prepared last.
  std::optional<VoxelLattice<D>> lattice_;
  SampleSet<D> everyVoxel_;
  std::size_t slabs_ = 0;
  int slicesOfSlab_ = 0;
  std::vector<std::uint8_t> asked_; // one a position, 0 outside the fixed mask; empty without a mask
  bool keepsStart_ = false;
  std::array<std::vector<double>, D> startMm_; // at asked positions; empty: not kept yet, or never

  // These belong to the slab that was warped last. Displacements in mm are replaced, batch by batch, by the
  // moving image's gradients in 1/mm.
  std::vector<float> fieldOrGradients_;
  std::vector<float> moving_;
  ChainAtParameters<D> chainAt_;
  const TransformChain<D>* chain_ = nullptr; // maps the points; null if there is a field

  // These are reused over evaluations.
  StripedGradient stripedGradient_;
  std::vector<double> gradientOfSlab_;
};

/// Adds to the gradient of the chain's last transform what the slopes at its points (at most batchCapacity)
/// contribute: J^T (slope * gradient of the moving image). The gradients have one array an axis.
template <int D>
void pullBackSlopes(const TransformChain<D>&, const ListSamples<D>& points, const float* slopes,
                    const std::array<const float*, D>& gradientPerMm, std::span<double> gradient);

}
