#include "Core/Sparse/Files/MatrixFormats.h"
#include "Core/Sparse/Files/Triplets.h"
#include "Core/Sparse/Files/ZipArchive.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>

namespace tessera {
namespace {

/// An array from a .npy member of the archive. Source: NumPy Enhancement Proposal 1.
struct NumpyArray {
  std::string type;               // for example "<i4": byte order, kind, bytes of a number
  std::vector<std::size_t> shape; // lengths of the axes
  bool isFortran = false;         // the first index runs fastest, else the last
  std::size_t count = 1;          // of numbers
  Array<char> bytes;              // the numbers begin at `offset`
  std::size_t offset = 0;

  const char* data() const { return bytes.data() + offset; }
};

/// The text behind `key` in the head of a .npy member, up to one of the characters `ends`.
std::string valueOf(const std::string& head, const std::string& key, const char* ends)
{
  const std::size_t at = head.find("'" + key + "':");
  if (at == std::string::npos)
    return "";
  const std::size_t first = head.find_first_not_of(" '(", at + key.size() + 3);
  return first == std::string::npos ? "" : head.substr(first, head.find_first_of(ends, first) - first);
}

/// The number behind the kind of a type: bytes, or letters of a text. 0 if there is none, or one too large
/// for a number or a text of this format.
std::size_t lettersOf(const std::string& type)
{
  constexpr std::size_t most = 1 << 20;
  std::size_t count = 0;
  const char* const last = type.data() + type.size();
  const auto [end, failure] = std::from_chars(type.data() + 2, last, count);
  return failure == std::errc() && end == last && count <= most ? count : 0;
}

/// An array of at most `mostNumbers` numbers and `mostAxes` axes.
NumpyArray readArray(const ZipReader& zip, const std::string& name, double mostNumbers,
                     std::size_t mostAxes = 1)
{
  constexpr double mostHeadBytes = 1 << 20, mostBytesANumber = 16;
  const std::string member = name + ".npy";
  NumpyArray array;
  array.bytes = zip.read(member, mostHeadBytes + mostBytesANumber * mostNumbers);
  const auto wrong = [&](const std::string& text) {
    zip.fail("member " + member + ": " + text, "an array of numpy with the axes that SciPy gives it");
  };
  const std::string_view text(array.bytes.data(), array.bytes.size());
  if (text.size() < 12 || !text.starts_with("\x93NUMPY"))
    wrong("not an array of numpy");
  const bool longHead = text[6] > 1;
  std::size_t headBytes = 0;
  std::memcpy(&headBytes, text.data() + 8, longHead ? 4 : 2);
  array.offset = (longHead ? 12 : 10) + headBytes;
  if (array.offset > text.size())
    wrong("its head is cut off");
  const std::string head(text.substr(longHead ? 12 : 10, headBytes));
  array.type = valueOf(head, "descr", "'");
  array.isFortran = valueOf(head, "fortran_order", ",") == "True";
  const std::string shape = valueOf(head, "shape", ")");
  if (array.type.size() < 3 || array.type[0] == '>')
    wrong("its type \"" + array.type + "\" is not read");
  for (const char *at = shape.data(), *const last = at + shape.size(); at != last;) {
    std::size_t& length = array.shape.emplace_back();
    const auto [end, failure] = std::from_chars(at, last, length);
    if (failure != std::errc() || array.shape.size() > mostAxes
        || __builtin_mul_overflow(array.count, length, &array.count))
      wrong("its shape (" + shape + ") is not " + std::to_string(mostAxes) + " length(s)");
    at = std::find_if(end, last, [](char c) { return c != ',' && c != ' '; });
  }
  const std::size_t itemBytes = lettersOf(array.type) * (array.type[1] == 'U' ? 4 : 1);
  if (itemBytes == 0 || (text.size() - array.offset) / itemBytes < array.count)
    wrong("it is shorter than its shape says");
  return array;
}

/// Calls visit(pointer to the first number) with the array's type. Numbers that lie at odd addresses in the
/// file are copied first.
template <class Visit>
void visitNumbers(const ZipReader& zip, const std::string& name, const NumpyArray& array, Visit&& visit)
{
  const auto as = [&]<class T>(T) {
    if (reinterpret_cast<std::uintptr_t>(array.data()) % alignof(T) == 0)
      return visit(reinterpret_cast<const T*>(array.data()));
    Array<T> aligned(array.count);
    std::memcpy(aligned.data(), array.data(), array.count * sizeof(T));
    visit(static_cast<const T*>(aligned.data()));
  };
  const std::string type = array.type.substr(1);
  if (type == "f8")
    as(double{});
  else if (type == "f16") // of x86: 80 bits and 6 bytes without meaning
    as(0.0L);
  else if (type == "f4")
    as(float{});
  else if (type == "i8")
    as(std::int64_t{});
  else if (type == "i4")
    as(std::int32_t{});
  else if (type == "i2")
    as(std::int16_t{});
  else if (type == "i1")
    as(std::int8_t{});
  else if (type == "u8")
    as(std::uint64_t{});
  else if (type == "u4")
    as(std::uint32_t{});
  else if (type == "u2")
    as(std::uint16_t{});
  else if (type == "u1" || type == "b1")
    as(std::uint8_t{});
  else
    zip.fail("member " + name + ".npy: numbers of type \"" + array.type + "\" are not read",
             "integers of up to 64 bits, float32, float64, longdouble and bool");
}

/// Reads at most `most` whole numbers: counts, indices and offsets.
template <class To>
Array<To> readIndices(const ZipReader& zip, const std::string& name, double most)
{
  const NumpyArray array = readArray(zip, name, most);
  Array<To> result(array.count);
  visitNumbers(zip, name, array, [&]<class T>(const T* numbers) {
    for (std::size_t i = 0; i < array.count; ++i) {
      if constexpr (std::is_floating_point_v<T>)
        zip.fail("member " + name + ".npy: numbers of type \"" + array.type + "\" cannot count", "integers");
      else if (!std::in_range<To>(numbers[i]))
        zip.fail("member " + name + ".npy: number " + std::to_string(i) + " is " + std::to_string(numbers[i]),
                 "numbers from " + std::to_string(std::numeric_limits<To>::min()) + " to "
                     + std::to_string(std::numeric_limits<To>::max()));
      result[i] = static_cast<To>(numbers[i]);
    }
  });
  return result;
}

template <class V>
Array<V> readValues(const ZipReader& zip, const NumpyArray& array)
{
  Array<V> result(array.count);
  visitNumbers(zip, "data", array, [&]<class T>(const T* numbers) {
    for (std::size_t i = 0; i < array.count; ++i) {
      if constexpr (std::is_integral_v<T> && std::is_integral_v<V>)
        if (!std::in_range<V>(numbers[i]))
          zip.fail("member data.npy: number " + std::to_string(i) + " is " + std::to_string(numbers[i]),
                   "integers of 64 bits with sign");
      if constexpr (std::is_same_v<T, long double>)
        if (!std::isfinite(static_cast<V>(numbers[i])))
          zip.fail("member data.npy: number " + std::to_string(i) + " is not finite as float64",
                   "longdouble of x86 within the range of float64");
      result[i] = static_cast<V>(numbers[i]);
    }
  });
  return result;
}

std::string formatName(const ZipReader& zip)
{
  const NumpyArray array = readArray(zip, "format", 0); // bytes, or UTF-32 in files by old versions of SciPy
  const std::size_t step = array.type[1] == 'U' ? 4 : 1, length = lettersOf(array.type);
  std::string name;
  for (std::size_t i = 0; i < length && array.count > 0 && array.data()[i * step] != '\0'; ++i)
    name += array.data()[i * step];
  return name;
}

void requireMembers(const ZipReader& zip, std::initializer_list<const char*> names)
{
  for (const char* name : names)
    if (!zip.has(std::string(name) + ".npy"))
      zip.fail("no member " + std::string(name) + ".npy", "what scipy.sparse.save_npz writes");
}

/// Where the entries are, for any type of values. Each array is read once the arrays before it tell how long
/// it can be: a few bytes inflate to a thousand times as many.
struct Places {
  std::string format;
  std::size_t rows = 0, columns = 0; // of csc those of the transposed matrix
  Array<std::uint64_t> rowStart;     // of csr and csc; of bsr: of rows of blocks
  Array<std::uint32_t> row, column;  // rows of coo alone; columns not of dia; of bsr: of blocks
  Array<std::int64_t> offset;        // of dia: column - row of each diagonal
  double mostNumbers = 0;            // of the data
};

Places readPlaces(const ZipReader& zip)
{
  requireMembers(zip, {"data", "shape", "format"});
  const Array<std::uint32_t> shape = readIndices<std::uint32_t>(zip, "shape", 2);
  if (shape.size() != 2)
    zip.fail("member shape.npy: " + std::to_string(shape.size()) + " lengths", "two: rows and columns");
  Places places;
  places.format = formatName(zip);
  const std::set<std::string> formats{"csr", "csc", "coo", "bsr", "dia"};
  if (!formats.contains(places.format))
    zip.fail("the format \"" + places.format + "\" is not read", "csr, csc, coo, bsr or dia");
  const bool byColumns = places.format == "csc";
  places.rows = shape[byColumns ? 1 : 0];
  places.columns = shape[byColumns ? 0 : 1];
  if (places.format == "coo") {
    requireMembers(zip, {"row", "col"});
    const auto most = static_cast<double>(
        std::min({zip.bytesOf("row.npy"), zip.bytesOf("col.npy"), zip.bytesOf("data.npy")}));
    places.row = readIndices<std::uint32_t>(zip, "row", most);
    places.column = readIndices<std::uint32_t>(zip, "col", most);
    places.mostNumbers = static_cast<double>(places.column.size());
    return places;
  }
  const auto rows = static_cast<double>(places.rows), columns = static_cast<double>(places.columns);
  if (places.format == "dia") {
    requireMembers(zip, {"offsets"});
    places.offset = readIndices<std::int64_t>(zip, "offsets", rows + columns);
    places.mostNumbers = static_cast<double>(places.offset.size()) * (rows + columns);
    return places;
  }
  requireMembers(zip, {"indptr", "indices"});
  places.rowStart = readIndices<std::uint64_t>(zip, "indptr", rows + 1);
  const double entries = places.rowStart.empty() ? 0 : static_cast<double>(*(places.rowStart.end() - 1));
  places.column = readIndices<std::uint32_t>(zip, "indices", entries);
  places.mostNumbers =
      static_cast<double>(places.column.size()) * (places.format == "bsr" ? rows * columns : 1);
  return places;
}

[[noreturn]] void failOnShape(const ZipReader& zip, const Places& places)
{
  zip.fail("member data.npy: its shape does not fit the shape and the other members",
           places.format == "bsr" ? "as many blocks as indices, of a size that divides the matrix"
                                  : "as many rows as offsets");
}

/// The entries of bsr: `data` has blocks, and rows and columns of a block, as axes.
template <class V>
TripletBlock<V> entriesOfBlocks(const Context& context, const ZipReader& zip, const std::string& path,
                                const Places& places, const NumpyArray& data, const Array<V>& values)
{
  const std::vector<std::size_t>& shape = data.shape;
  const std::size_t blockRows = places.rowStart.size() - 1;
  if (shape.size() != 3 || shape[0] != places.column.size() || shape[1] == 0 || shape[2] == 0
      || places.rows % shape[1] != 0 || places.rows / shape[1] != blockRows || places.columns % shape[2] != 0)
    failOnShape(zip, places);
  const CsrMatrix<V> blocks{{blockRows, places.columns / shape[2], places.rowStart, places.column},
                            Array<V>(shape[0], V(1))};
  if (!checkMatrix(context, blocks, path, RepeatedColumns::allowed))
    checkPattern(context, withSortedRows(context, blocks), path, RepeatedColumns::allowed);
  TripletBlock<V> entries;
  for (std::size_t blockRow = 0; blockRow < blockRows; ++blockRow)
    for (std::size_t b = blocks.rowStart[blockRow]; b < blocks.rowStart[blockRow + 1]; ++b)
      for (std::size_t r = 0; r < shape[1]; ++r)
        for (std::size_t c = 0; c < shape[2]; ++c) {
          entries.row.push_back(static_cast<std::uint32_t>(blockRow * shape[1] + r));
          entries.column.push_back(static_cast<std::uint32_t>(blocks.column[b] * shape[2] + c));
          entries.value.push_back(
              values[data.isFortran ? b + shape[0] * (r + shape[1] * c) : (b * shape[1] + r) * shape[2] + c]);
        }
  return entries;
}

/// The entries of dia: `data` has diagonals and columns of the matrix as axes. Zeros are left out, as SciPy
/// does.
template <class V>
TripletBlock<V> entriesOfDiagonals(const ZipReader& zip, const Places& places, const NumpyArray& data,
                                   const Array<V>& values)
{
  if (data.shape.size() != 2 || data.shape[0] != places.offset.size())
    failOnShape(zip, places);
  const auto rows = static_cast<std::int64_t>(places.rows),
             columns = static_cast<std::int64_t>(std::min(places.columns, data.shape[1]));
  TripletBlock<V> entries;
  for (std::size_t d = 0; d < data.shape[0]; ++d) {
    const std::int64_t offset = places.offset[d];
    if (offset <= -rows || offset >= columns)
      continue;
    for (std::int64_t column = std::max<std::int64_t>(offset, 0); column < std::min(columns, rows + offset);
         ++column) {
      const auto at = static_cast<std::size_t>(column);
      const V value = values[data.isFortran ? d + data.shape[0] * at : d * data.shape[1] + at];
      if (value == V(0))
        continue;
      entries.row.push_back(static_cast<std::uint32_t>(column - offset));
      entries.column.push_back(static_cast<std::uint32_t>(column));
      entries.value.push_back(value);
    }
  }
  return entries;
}

template <class V>
TripletBlock<V> entriesOfCoordinates(const ZipReader& zip, const Places& places, const Array<V>& values)
{
  const std::size_t rows = places.rows, columns = places.columns;
  const auto &row = places.row, &column = places.column;
  if (row.size() != column.size() || row.size() != values.size())
    zip.fail(std::to_string(row.size()) + " rows, " + std::to_string(column.size()) + " columns and "
                 + std::to_string(values.size()) + " values",
             "as many of each");
  for (std::size_t i = 0; i < row.size(); ++i)
    if (row[i] >= rows || column[i] >= columns)
      zip.fail("entry " + std::to_string(i) + " at (" + std::to_string(row[i]) + ", "
                   + std::to_string(column[i]) + ") is outside the matrix",
               "places inside " + std::to_string(rows) + " x " + std::to_string(columns));
  return {row.toVector(), column.toVector(), values.toVector()};
}

/// Builds a matrix from the arrays of csr. SciPy allows rows that have a column twice; their values are
/// added.
template <class V>
MatrixFile fromRows(const Context& context, const std::string& path, const Places& places,
                    const Array<V>& values)
{
  CsrMatrix<V> matrix{{places.rows, places.columns, places.rowStart, places.column}, values};
  if (checkMatrix(context, matrix, path, RepeatedColumns::allowed))
    return {std::move(matrix)};
  matrix = withSortedRows(context, matrix);
  if (checkPattern(context, matrix, path, RepeatedColumns::allowed))
    return {std::move(matrix)};
  TripletBlock<V> block{{}, matrix.column.toVector(), matrix.value.toVector()};
  for (std::size_t row = 0; row < places.rows; ++row)
    block.row.insert(block.row.end(), matrix.rowEntries(row), static_cast<std::uint32_t>(row));
  auto [joined, duplicates] =
      matrixFromTriplets<V>(context, places.rows, places.columns, {std::move(block)}, path);
  return {std::move(joined), false, duplicates};
}

template <class V>
MatrixFile readAs(const Context& context, const ZipReader& zip, const std::string& path, const Places& places,
                  const NumpyArray& data)
{
  const Array<V> values = readValues<V>(zip, data);
  const auto fromEntries = [&](TripletBlock<V> entries) {
    auto [matrix, duplicates] =
        matrixFromTriplets<V>(context, places.rows, places.columns, {std::move(entries)}, path);
    return MatrixFile{std::move(matrix), false, duplicates};
  };
  const std::string& format = places.format;
  MatrixFile read = format == "coo"   ? fromEntries(entriesOfCoordinates(zip, places, values))
                    : format == "bsr" ? fromEntries(entriesOfBlocks(context, zip, path, places, data, values))
                    : format == "dia" ? fromEntries(entriesOfDiagonals(zip, places, data, values))
                                      : fromRows<V>(context, path, places, values);
  if (format == "csc")
    read.matrix = transposed(context, std::get<CsrMatrix<V>>(read.matrix));
  if (format != "csr" && format != "coo")
    read.notes.push_back("the format " + format + " was turned into rows");
  if (data.type.ends_with("f16"))
    read.notes.push_back("numbers of type longdouble were rounded to float64");
  return read;
}

std::string arrayHead(const std::string& type, const std::string& shape)
{
  std::string head = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  head.append(63 - (10 + head.size()) % 64, ' ').push_back('\n');
  const auto length = static_cast<std::uint16_t>(head.size());
  std::string start("\x93NUMPY\x01\x00", 8);
  start.append(reinterpret_cast<const char*>(&length), 2);
  return start + head;
}

template <class T>
void addArray(ZipWriter& zip, const std::string& name, const std::string& type, const T* data,
              std::size_t count)
{
  zip.add(name + ".npy", arrayHead(type, std::to_string(count) + ","),
          {reinterpret_cast<const char*>(data), count * sizeof(T)});
}

}

MatrixFile readNpz(const Context& context, const std::string& path)
{
  const ZipReader zip(path);
  const Places places = readPlaces(zip);
  const NumpyArray data = readArray(zip, "data", places.mostNumbers,
                                    places.format == "bsr"   ? 3
                                    : places.format == "dia" ? 2
                                                             : 1);
  const char kind = data.type[1];
  if (kind == 'c')
    zip.fail("its numbers are complex", "real numbers and integers");
  if (kind == 'f' && data.type.substr(2) == "4")
    return readAs<float>(context, zip, path, places, data);
  return kind == 'f' ? readAs<double>(context, zip, path, places, data)
                     : readAs<std::int64_t>(context, zip, path, places, data);
}

void writeNpz(const AnyCsrMatrix& any, const ByteSink& sink)
{
  std::visit(
      [&]<class V>(const CsrMatrix<V>& matrix) {
        const std::string type = std::is_same_v<V, double> ? "<f8" : std::is_same_v<V, float> ? "<f4" : "<i8";
        const std::uint64_t shape[2] = {matrix.rows, matrix.columns};
        ZipWriter zip(sink);
        // SciPy wants indices and row starts of one type. They get 32 bits where both fit.
        if (std::max<std::uint64_t>(matrix.entries(), matrix.columns)
            <= std::numeric_limits<std::int32_t>::max()) {
          const std::vector<std::int32_t> starts(matrix.rowStart.begin(), matrix.rowStart.end());
          addArray(zip, "indices", "<i4", matrix.column.data(), matrix.column.size());
          addArray(zip, "indptr", "<i4", starts.data(), starts.size());
        } else {
          const std::vector<std::int64_t> columns(matrix.column.begin(), matrix.column.end());
          addArray(zip, "indices", "<i8", columns.data(), columns.size());
          addArray(zip, "indptr", "<i8", matrix.rowStart.data(), matrix.rowStart.size());
        }
        zip.add("format.npy", arrayHead("|S3", ""), "csr");
        addArray(zip, "shape", "<i8", shape, 2);
        addArray(zip, "data", type, matrix.value.data(), matrix.value.size());
        zip.finish();
      },
      any);
}

}
