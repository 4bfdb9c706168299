#pragma once

#include "Core/Sparse/Files/ZipArchive.h"

#include <string>
#include <vector>

namespace tessera::testing {

/// A .npz archive in memory.
class NumpyArchive {
public:
  /// Adds an array; `shape` as numpy writes it, "3, 2", empty: one axis.
  template <class T>
  void add(const std::string& name, const std::string& type, const std::vector<T>& numbers,
           const std::string& shape = "", bool isFortran = false)
  {
    const std::string head = "{'descr': '" + type + "', 'fortran_order': " + (isFortran ? "True" : "False")
                             + ", 'shape': (" + (shape.empty() ? std::to_string(numbers.size()) + "," : shape)
                             + "), }";
    const std::string start = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(head.size()) + '\0';
    zip_.add(name + ".npy", start + head,
             {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)});
  }
  /// Adds the members that say the format of a matrix, of three letters, and its sizes.
  void addFormat(const std::string& format, const std::vector<std::int64_t>& sizes)
  {
    add<char>("format", "|S3", {format.begin(), format.end()}, " ");
    add("shape", "<i8", sizes);
  }
  /// Ends the archive.
  const std::string& bytes()
  {
    zip_.finish();
    return bytes_;
  }

private:
  std::string bytes_;
  ZipWriter zip_{[this](std::string_view piece) { bytes_ += piece; }};
};

}
