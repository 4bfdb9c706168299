#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

inline constexpr const char* noSuchFile = "no such file";

/// Returns the word for a file that is no regular one: "folder", "pipe", "link", or "device" for all else.
const char* kindOfFile(std::filesystem::file_type);

/// The content of a file, or why it cannot be read.
struct TextFile {
  std::string text;
  std::string failure; // empty if the file was read to its end
};

/// Reads a file or a pipe that somebody writes to. Devices are refused, since some never end, and a pipe
/// without a writer is empty. Throws Error(outOfMemory) if the content does not fit into memory, and
/// std::system_error if a disk fails or too many files are open.
TextFile readTextFile(const std::string& path);

/// Reads a file that programs leave for each other, as readTextFile() does. Anything but a regular file of at
/// most `largestBytes` is a failure.
TextFile readStateFile(const std::string& path, std::size_t largestBytes);

/// A path that a text file names, with slashes where Windows has written backslashes, if there is a file of
/// that name and none of the other.
std::string pathOnThisSystem(const std::string& path);

/// The cells of a line of a table. Quotes around a cell, as R writes them, are taken off; two of them in it
/// are one (RFC 4180). A line may end with CR.
std::vector<std::string> cellsOf(std::string_view line, char separator);

/// The parts of a text between separators. Behind a separator that ends the text there is none.
std::vector<std::string> piecesOf(std::string_view text, char separator);

inline std::vector<std::string> linesOf(std::string_view text)
{
  return piecesOf(text, '\n');
}

/// The parts of a text between blanks and line breaks.
std::vector<std::string> wordsOf(std::string_view text);

/// Whether a cell holds a value: BIDS writes n/a where there is none, R writes NA.
inline bool isGivenCell(const std::string& cell)
{
  return !cell.empty() && cell != "n/a" && cell != "NA";
}

}
