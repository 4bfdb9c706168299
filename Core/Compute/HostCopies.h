#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/CudaOnly.h"

#include <array>
#include <cstddef>
#include <memory>

namespace tessera {

/// Copies of large arrays from a CUDA device, beside the work of the context's stream. What goes to pinned
/// memory of the host goes there at once; to any other by way of pinned pieces, which the context's threads
/// empty while the next one is being filled.
class CopiesToHost {
public:
  static constexpr int pieces = 2;
  static constexpr std::size_t usualBytes = std::size_t(8)
                                            << 20; // of a piece: long enough for the bus, and soon begun

  TESSERA_CUDA_ONLY explicit CopiesToHost(const Context&);
  TESSERA_CUDA_ONLY ~CopiesToHost();
  CopiesToHost(const CopiesToHost&) = delete;
  CopiesToHost& operator=(const CopiesToHost&) = delete;

  /// Waits until the piece's last copy has arrived. What is given to the context's stream from now on may
  /// overwrite its source.
  TESSERA_CUDA_ONLY void finish(int piece);
  enum class After { allGiven, itsLast };
  /// Copies after all that was given to the context's stream so far, or only after what the piece's last copy
  /// came after. The piece must be finished.
  TESSERA_CUDA_ONLY void begin(int piece, void* host, const void* device, std::size_t bytes,
                               After after = After::allGiven);

private:
  struct Piece;
  const Context& context_;
  std::array<std::unique_ptr<Piece>, pieces> pieces_;
};

/// An array that the host makes piece by piece in pinned memory, on its way to a CUDA device: while one piece
/// is under way the next one is made.
class PiecesToDevice {
public:
  static constexpr int pieces = 2;

  TESSERA_CUDA_ONLY PiecesToDevice(const Context&, std::size_t bytesOfPiece);
  TESSERA_CUDA_ONLY ~PiecesToDevice();
  PiecesToDevice(const PiecesToDevice&) = delete;
  PiecesToDevice& operator=(const PiecesToDevice&) = delete;

  /// Where the next piece is to be made; waits until what was there has left.
  TESSERA_CUDA_ONLY std::byte* next();
  /// Copies so many bytes of it. What was given to the context's stream so far comes before the copy, what it
  /// is given from now on after it. Returns before they have left.
  TESSERA_CUDA_ONLY void send(void* device, std::size_t bytes);
  /// Waits until all have.
  TESSERA_CUDA_ONLY void finish();

private:
  struct Piece;
  const Context& context_;
  std::size_t bytes_;
  std::array<std::unique_ptr<Piece>, pieces> pieces_; // taken when there is something for them
  int turn_ = 0;
};

/// A large array to a CUDA device; as above, by way of pinned pieces. The host's memory may be changed when
/// the call returns.
TESSERA_CUDA_ONLY void copyLargeToDevice(const Context&, void* device, const void* host, std::size_t bytes);
/// The other way: the host has it when the call returns.
TESSERA_CUDA_ONLY void copyLargeToHost(const Context&, void* host, const void* device, std::size_t bytes);

}
