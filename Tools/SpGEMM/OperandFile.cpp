#include "Tools/SpGEMM/OperandFile.h"

#include <chrono>

namespace tessera {

MatrixFile readOperand(const Context& context, const std::string& path, RunLog& log)
{
  const auto start = std::chrono::steady_clock::now();
  MatrixFile file = readMatrix(context, path);
  const char* const numbers = file.pattern ? "pattern only, no values"
                              : std::holds_alternative<CsrMatrix<std::int64_t>>(file.matrix) ? "integers"
                                                                                             : "real";
  log.info(path + ": " + sizeText(file.matrix) + ", " + numbers + ", read in "
           + decimals(secondsSince(start), 3) + " s.");
  if (file.duplicates > 0)
    log.warning(path + ": " + std::to_string(file.duplicates) + " entries stand where another one does; "
                + (file.pattern ? "each place counts once." : "they are added."));
  for (const std::string& note : file.notes)
    log.warning(path + ": " + note + ".");
  return file;
}

MatrixPattern patternOf(const AnyCsrMatrix& matrix)
{
  return std::visit([](const auto& typed) { return static_cast<const MatrixPattern&>(typed); }, matrix);
}

}
