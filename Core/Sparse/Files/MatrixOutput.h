#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Files/AtomicFile.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Bytes on their way into a file that appears when it is whole, or to standard output ("-"). Compressed,
/// piece by piece and in parallel, if the name ends in .gz.
class MatrixOutput {
public:
  /// Throws Error(unwritableOutput), here and below.
  MatrixOutput(const Context&, const std::string& path);
  ~MatrixOutput();
  MatrixOutput(const MatrixOutput&) = delete;
  MatrixOutput& operator=(const MatrixOutput&) = delete;

  void put(std::string_view bytes);
  /// Moves the file to its place.
  void finish();

private:
  void compressWaiting();
  void write(std::string_view bytes);

  Context context_;
  std::string path_;
  std::unique_ptr<AtomicFile> file_; // none: standard output, or a file that has no name until it is whole
  int descriptor_;
  bool nameless_ = false;
  bool compress_;
  std::string waiting_; // to be compressed
};

}
