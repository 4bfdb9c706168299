#include "Core/Sparse/MatrixFile.h"

#include "Core/Compute/Error.h"
#include "Core/Sparse/Files/MatrixFormats.h"
#include "Core/Sparse/Files/MatrixOutput.h"

#include <filesystem>

namespace tessera {

MatrixFormat formatOfMatrix(const std::string& path)
{
  const bool packed = path.ends_with(".gz");
  const std::string suffix =
      std::filesystem::path(packed ? path.substr(0, path.size() - 3) : path).extension().string();
  if (path == "-" || suffix == ".mtx")
    return MatrixFormat::matrixMarket;
  if (suffix == ".npz" && !packed)
    return MatrixFormat::npz;
  if (suffix == ".tcsr" && !packed)
    return MatrixFormat::binary;
  if (suffix == ".graph" || suffix == ".metis")
    return MatrixFormat::metis;
  if (suffix == ".el" || suffix == ".edges" || suffix == ".txt")
    return MatrixFormat::edgeList;
  failAs(ExitCode::usage, path, "the suffix names no format of matrices",
         ".mtx, .graph, .metis, .el, .edges, .txt, each also with .gz, and .npz, .tcsr; or - for Matrix "
         "Market on standard input or output");
}

MatrixFile readMatrix(const Context& context, const std::string& path)
{
  const MatrixFormat format = formatOfMatrix(path);
  if (std::error_code ignored; path != "-" && std::filesystem::is_fifo(path, ignored))
    failAs(ExitCode::unreadableInput, path, "this is no file but a pipe", "a file, or - for standard input");
  switch (format) {
  case MatrixFormat::npz:
    return readNpz(context, path);
  case MatrixFormat::binary:
    return readBinaryCsr(context, path);
  case MatrixFormat::metis:
    return readMetis(context, readText(path, mostBytesOfMetis));
  case MatrixFormat::edgeList:
    return readEdgeList(context, readText(path));
  case MatrixFormat::matrixMarket:
    break;
  }
  return readMatrixMarket(context, readText(path, mostBytesOfMatrixMarket));
}

void writeMatrix(const Context& context, const std::string& path, const AnyCsrMatrix& matrix, bool pattern)
{
  const MatrixFormat format = formatOfMatrix(path);
  MatrixOutput output(context, path);
  const ByteSink sink = [&](std::string_view bytes) { output.put(bytes); };
  switch (format) {
  case MatrixFormat::npz:
    writeNpz(matrix, sink);
    break;
  case MatrixFormat::binary:
    writeBinaryCsr(matrix, pattern, sink);
    break;
  case MatrixFormat::metis:
    writeMetis(context, matrix, pattern, path, sink);
    break;
  case MatrixFormat::edgeList:
    writeEdgeList(context, matrix, pattern, sink);
    break;
  case MatrixFormat::matrixMarket:
    writeMatrixMarket(context, matrix, pattern, sink);
    break;
  }
  output.finish();
}

}
