#include "Core/Image/Files/Sha256.h"

#include "Core/Compute/Threads/Interruption.h"
#include "Core/Image/Files/InputFile.h"

// OpenSSL 3 prefers EVP_Digest..., which crashes if the system refuses memory while it prepares itself.
// These functions take no memory.
#define OPENSSL_API_COMPAT 0x10100000L
#include <openssl/sha.h>

#include <array>
#include <vector>

namespace tessera {

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>())
{
  SHA256_Init(&state_->context);
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes)
{
  SHA256_Update(&state_->context, bytes.data(), bytes.size());
}

void Sha256::addFile(const std::string& path, const std::stop_token& stop)
{
  const InputFile file(path);
  std::vector<char> piece(std::size_t(1) << 20);
  std::uint64_t position = 0;
  while (const std::size_t got = file.read(position, piece.data(), piece.size())) {
    if (stop.stop_requested())
      throw Interrupted{};
    add({piece.data(), got});
    position += got;
  }
}

std::string digestOfFile(const std::string& path, const std::stop_token& stop)
{
  Sha256 sha;
  sha.addFile(path, stop);
  return sha.hexadecimal();
}

std::string Sha256::hexadecimal()
{
  std::array<unsigned char, 32> digest;
  SHA256_Final(digest.data(), &state_->context);
  std::string text;
  for (const unsigned char byte : digest)
    for (const int nibble : {byte >> 4, byte & 15})
      text += "0123456789abcdef"[nibble];
  return text;
}

}
