#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace tessera {

/// The SHA-256 of bytes that are added piece by piece.
class Sha256 {
public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  /// Adds all bytes of a file. Throws Error(unreadableInput) if it cannot be read, and Interrupted if it is
  /// to stop meanwhile.
  void addFile(const std::string& path, const std::stop_token& = {});

  /// 64 digits. Nothing may be added afterwards.
  std::string hexadecimal();

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The SHA-256 of a file. Throws as Sha256::addFile.
std::string digestOfFile(const std::string& path, const std::stop_token& = {});

}
