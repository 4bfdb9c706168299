#include "Core/Sparse/Files/MatrixFormats.h"

#include "Core/Compute/Error.h"

#include <bit>
#include <cstddef>
#include <cstdint>

#include <zlib.h>

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t alignment = 64;
constexpr std::uint32_t currentVersion = 1;
enum ValueCode : std::uint32_t { doubleCode = 1, floatCode = 2, integerCode = 3 };

struct Head {
  char mark[8] = {'T', 'E', 'S', 'S', 'C', 'S', 'R', '\n'};
  std::uint32_t version = currentVersion, values = 0;
  std::uint64_t pattern = 0, rows = 0, columns = 0, entries = 0;
  // Positions of the three arrays and the length of the file, in bytes from its start.
  std::uint64_t rowStarts = 0, columnIndices = 0, valueNumbers = 0, fileBytes = 0;
  std::uint8_t unused[44] = {};
  std::uint32_t checksum = 0;
};
static_assert(sizeof(Head) == 128 && offsetof(Head, checksum) == 124);

std::uint32_t checksumOf(const Head& head)
{
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(&head), offsetof(Head, checksum)));
}

std::uint64_t aligned(std::uint64_t bytes)
{
  return (bytes + alignment - 1) / alignment * alignment;
}

[[noreturn]] void fail(const std::string& path, const std::string& wrong, const std::string& allowed)
{
  failAs(ExitCode::unreadableInput, path, wrong, allowed);
}

Head checkedHead(const std::string& path, MemoryBlock& block)
{
  Head head;
  const std::string whole = "a whole file; it may have been cut off while it was copied";
  if (block.bytes() < sizeof head)
    fail(path, "shorter than the 128 bytes of its head", whole);
  std::memcpy(&head, block.data(), sizeof head);
  if (std::memcmp(head.mark, Head().mark, sizeof head.mark) != 0)
    fail(path, "no binary CSR file", "a file that begins with TESSCSR");
  if (head.checksum != checksumOf(head))
    fail(path, "the checksum of its head is another one", "a file that is not damaged");
  if (head.version != currentVersion)
    fail(path, "version " + std::to_string(head.version), "version " + std::to_string(currentVersion));
  if (head.values < doubleCode || head.values > integerCode)
    fail(path, "values of type " + std::to_string(head.values), "1 double, 2 float or 3 int64");
  if (head.fileBytes != block.bytes())
    fail(path,
         std::to_string(block.bytes()) + " bytes long, but its head says " + std::to_string(head.fileBytes),
         whole);
  if (head.rows > largestMatrixSide || head.columns > largestMatrixSide)
    fail(path,
         std::to_string(head.rows) + " x " + std::to_string(head.columns) + ": too many rows or columns",
         "up to " + std::to_string(largestMatrixSide));
  const std::uint64_t valueBytes = head.values == floatCode ? 4 : 8;
  const auto inside = [&](std::uint64_t start, std::uint64_t count, std::uint64_t bytes) {
    return start % alignment == 0 && start <= head.fileBytes && count <= (head.fileBytes - start) / bytes;
  };
  if (!inside(head.rowStarts, head.rows + 1, 8) || !inside(head.columnIndices, head.entries, 4)
      || !inside(head.valueNumbers, head.entries, valueBytes))
    fail(path, "an array lies outside the file", whole);
  return head;
}

template <class V>
MatrixFile mapped(const Context& context, const std::string& path, const Head& head,
                  std::shared_ptr<MemoryBlock> block)
{
  const CsrMatrix<V> matrix{{head.rows, head.columns,
                             Array<std::uint64_t>(block, head.rowStarts, head.rows + 1),
                             Array<std::uint32_t>(block, head.columnIndices, head.entries)},
                            Array<V>(block, head.valueNumbers, head.entries)};
  const bool sorted = checkMatrix(context, matrix, path);
  return {sorted ? matrix : withSortedRows(context, matrix), head.pattern != 0};
}

}

MatrixFile readBinaryCsr(const Context& context, const std::string& path)
{
  const auto block = std::make_shared<MemoryBlock>(path);
  const Head head = checkedHead(path, *block);
  if (head.values == floatCode)
    return mapped<float>(context, path, head, block);
  return head.values == doubleCode ? mapped<double>(context, path, head, block)
                                   : mapped<std::int64_t>(context, path, head, block);
}

void writeBinaryCsr(const AnyCsrMatrix& any, bool pattern, const ByteSink& sink)
{
  std::visit(
      [&]<class V>(const CsrMatrix<V>& matrix) {
        Head head{.values = std::is_same_v<V, double>  ? doubleCode
                            : std::is_same_v<V, float> ? floatCode
                                                       : integerCode,
                  .pattern = pattern,
                  .rows = matrix.rows,
                  .columns = matrix.columns,
                  .entries = matrix.entries()};
        head.rowStarts = sizeof head;
        head.columnIndices = aligned(head.rowStarts + 8 * (head.rows + 1));
        head.valueNumbers = aligned(head.columnIndices + 4 * head.entries);
        head.fileBytes = head.valueNumbers + sizeof(V) * head.entries;
        head.checksum = checksumOf(head);

        std::uint64_t written = 0;
        const auto put = [&](const void* data, std::uint64_t bytes, std::uint64_t start) {
          sink(std::string(start - written, '\0'));
          sink({static_cast<const char*>(data), bytes});
          written = start + bytes;
        };
        put(&head, sizeof head, 0);
        put(matrix.rowStart.data(), 8 * (head.rows + 1), head.rowStarts);
        put(matrix.column.data(), 4 * head.entries, head.columnIndices);
        put(matrix.value.data(), sizeof(V) * head.entries, head.valueNumbers);
      },
      any);
}

}
