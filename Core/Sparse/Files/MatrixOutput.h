#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Files/AtomicFile.h"

#include <memory>
#include <string>
#include <string_view>

namespace tessera {

/// An output file that appears when it is whole, or standard output ("-"). If the name ends in .gz, the bytes
/// are compressed in pieces, by several threads.
class MatrixOutput {
public:
  /// Throws Error(unwritableOutput) if the file cannot be written; so do put() and finish().
  MatrixOutput(const Context&, const std::string& path);
  ~MatrixOutput();
  MatrixOutput(const MatrixOutput&) = delete;
  MatrixOutput& operator=(const MatrixOutput&) = delete;

  void put(std::string_view bytes);
  /// Writes what is left and gives the file its name.
  void finish();

private:
  void compressWaiting();
  void write(std::string_view bytes);

  Context context_;
  std::unique_ptr<AtomicFile> file_; // null for standard output
  int descriptor_;
  bool compress_;
  std::string waiting_; // bytes that are not compressed yet
};

}
