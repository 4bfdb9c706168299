#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"

#include <array>
#include <cstddef>
#include <memory>

namespace tessera {

/// Copies of large arrays from a CUDA device, beside the work of the context's stream. Data for pinned memory
/// of the host is copied there directly. Data for other memory goes through pinned pieces, which the
/// context's threads empty while the next piece is filled.
class CopiesToHost {
public:
  static constexpr int pieces = 2;
  /// The usual size of a piece: large enough for the bus, and small enough that the first copy begins soon.
  static constexpr std::size_t usualBytes = std::size_t(8) << 20;

  TESSERA_CUDA_ONLY explicit CopiesToHost(const Context&);
  TESSERA_CUDA_ONLY ~CopiesToHost();
  CopiesToHost(const CopiesToHost&) = delete;
  CopiesToHost& operator=(const CopiesToHost&) = delete;

  /// Waits until the piece's last copy has arrived. Work that is enqueued on the context's stream from now on
  /// may overwrite the copy's source.
  TESSERA_CUDA_ONLY void finish(int piece);
  enum class After { allGiven, itsLast };
  /// Copies after all work that was enqueued on the context's stream so far (allGiven), or only after the
  /// work that preceded the piece's last copy (itsLast). The piece must be finished.
  TESSERA_CUDA_ONLY void begin(int piece, void* host, const void* device, std::size_t bytes,
                               After after = After::allGiven);

private:
  struct Piece;
  const Context& context_;
  std::array<std::unique_ptr<Piece>, pieces> pieces_;
};

/// An array that the host makes piece by piece in pinned memory, and copies to a CUDA device: the next piece
/// is made while one is copied.
class PiecesToDevice {
public:
  static constexpr int pieces = 2;

  TESSERA_CUDA_ONLY PiecesToDevice(const Context&, std::size_t bytesOfPiece);
  TESSERA_CUDA_ONLY ~PiecesToDevice();
  PiecesToDevice(const PiecesToDevice&) = delete;
  PiecesToDevice& operator=(const PiecesToDevice&) = delete;

  /// The memory for the next piece. Waits until the piece that was there has been copied.
  TESSERA_CUDA_ONLY std::byte* next();
  /// Starts to copy the first `bytes` of the piece, and returns without waiting. The copy runs after the work
  /// enqueued on the context's stream so far, and before the work enqueued from now on.
  TESSERA_CUDA_ONLY void send(void* device, std::size_t bytes);
  /// Waits until all pieces have been copied.
  TESSERA_CUDA_ONLY void finish();

private:
  struct Piece;
  const Context& context_;
  std::size_t bytes_;
  std::array<std::unique_ptr<Piece>, pieces> pieces_; // allocated when they are first needed
  int turn_ = 0;
};

/// Copies a large array to a CUDA device through pinned pieces. When the call returns, the host's memory may
/// be changed.
TESSERA_CUDA_ONLY void copyLargeToDevice(const Context&, void* device, const void* host, std::size_t bytes);
/// Copies a large array from a CUDA device. When the call returns, the host has it.
TESSERA_CUDA_ONLY void copyLargeToHost(const Context&, void* host, const void* device, std::size_t bytes);

}
