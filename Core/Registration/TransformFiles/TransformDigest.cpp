#include "Core/Registration/TransformFiles/TransformDigest.h"

#include "Core/Compute/Error.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/TransformFiles/TransformFile.h"

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace tessera {
namespace {

class Sha256 {
public:
  Sha256() { require(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr)); }

  void add(std::string_view bytes) { require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size())); }

  std::string hexadecimal()
  {
    std::array<unsigned char, 32> digest;
    require(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr));
    std::string text;
    for (const unsigned char byte : digest)
      for (const int nibble : {byte >> 4, byte & 15})
        text += "0123456789abcdef"[nibble];
    return text;
  }

private:
  static void require(bool done)
  {
    if (!done)
      throw std::runtime_error("OpenSSL's libcrypto gives no SHA-256");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

/// The name at the start of `(Name value ...)` or of `Name = value`.
std::string_view nameOf(std::string_view line)
{
  if (line.starts_with('('))
    line.remove_prefix(1);
  return line.substr(0, line.find_first_of(" \t=)"));
}

void addLine(std::string_view line, Sha256& sha)
{
  line = trimmed(line.substr(0, line.find("//")));
  if (line.empty() || isOutputEntry(nameOf(line)))
    return;
  sha.add(line);
  sha.add("\n");
}

}

std::string transformDigest(const std::string& path)
{
  std::ifstream file(path, std::ios::binary);
  Sha256 sha;
  if (path.ends_with(".txt") || path.ends_with(".toml")) {
    for (std::string line; std::getline(file, line);)
      addLine(line, sha);
  } else {
    std::vector<char> piece(std::size_t(1) << 20);
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
      sha.add({piece.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (!file.eof() || file.bad())
    throw Error(ExitCode::unreadableInput,
                path + ": the file cannot be read. Allowed: a file that this user may read.");
  return sha.hexadecimal();
}

}
