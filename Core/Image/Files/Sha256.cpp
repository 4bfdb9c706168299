#include "Core/Image/Files/Sha256.h"

#include "Core/Compute/Error.h"

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace tessera {
namespace {

void require(bool done)
{
  if (!done)
    throw std::runtime_error("OpenSSL's libcrypto gives no SHA-256");
}

}

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>())
{
  require(state_->context && EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes)
{
  require(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()));
}

void Sha256::addFile(const std::string& path)
{
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(std::size_t(1) << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
    add({piece.data(), static_cast<std::size_t>(file.gcount())});
  if (!file.eof() || file.bad())
    throw Error(ExitCode::unreadableInput,
                path + ": the file cannot be read. Allowed: a file that this user may read.");
}

std::string Sha256::hexadecimal()
{
  std::array<unsigned char, 32> digest;
  require(EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr));
  std::string text;
  for (const unsigned char byte : digest)
    for (const int nibble : {byte >> 4, byte & 15})
      text += "0123456789abcdef"[nibble];
  return text;
}

}
