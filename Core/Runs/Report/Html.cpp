#include "Core/Runs/Report/Html.h"

#include "Core/Compute/ControlCharacters.h"
#include "Core/Compute/Log.h"
#include "Core/Image/Files/Sha256.h"

#include <cmath>
#include <cstdint>
#include <cstdio>

namespace tessera {
namespace {

constexpr const char* commonStyle = R"(
:root{color-scheme:light dark;--line:#ccc;--soft:#666;--failed:#b3261e;--look:#8a5a00;--done:#1b6e3c;--link:#0b57d0;--head:#f4f4f4}
@media(prefers-color-scheme:dark){:root{--line:#444;--soft:#aaa;--failed:#ff8a80;--look:#ffc266;--done:#7ddb9b;--link:#8ab4f8;--head:#222}}
body{font:15px/1.4 system-ui,sans-serif;margin:1.5em;background:Canvas;color:CanvasText}
a{color:var(--link)}table{border-collapse:collapse}
td,th{border-bottom:1px solid var(--line);padding:.3em .6em;text-align:left;vertical-align:top}
th{position:sticky;top:0;background:var(--head);font-weight:600}
td.n{text-align:right;font-variant-numeric:tabular-nums}
.failed{color:var(--failed)}.look{color:var(--look)}.done{color:var(--done)}
.v{font-weight:600}.r{max-width:28em;overflow-wrap:anywhere}.s{color:var(--soft)}
:focus-visible{outline:3px solid var(--link);outline-offset:1px}
)";

}

std::string htmlText(std::string_view text)
{
  std::string escaped;
  escaped.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    switch (text[i]) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      const std::size_t control = text[i] == '\n' ? 0 : controlLength(text, i);
      escaped += control > 0 ? '?' : text[i];
      i += control > 0 ? control - 1 : 0;
    }
  return escaped;
}

std::string base64(std::string_view bytes)
{
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < count ? static_cast<std::uint8_t>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= count ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string htmlPath(std::string_view path)
{
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string encoded;
  for (const char c : path)
    if (plain.find(c) != std::string_view::npos)
      encoded += c;
    else {
      char digits[4];
      std::snprintf(digits, sizeof digits, "%%%02X", static_cast<unsigned>(static_cast<std::uint8_t>(c)));
      encoded += digits;
    }
  return encoded;
}

std::string shortNumber(double value)
{
  return std::isfinite(value) ? significant(value == 0 ? 0.0 : value, 4) : "-"; // no "-0"
}

std::string policyHash(std::string_view text)
{
  Sha256 sha;
  sha.add(text);
  const std::string digits = sha.hexadecimal();
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return "'sha256-" + base64(bytes) + "'";
}

std::string pageHead(const std::string& title, const std::string& style, const std::string& script,
                     const std::string& imageSources)
{
  const std::string shown = htmlText(title), all = commonStyle + style;
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\""
         "Content-Security-Policy\" content=\"default-src 'none'; img-src "
         + imageSources + "; style-src " + policyHash(all) + "; script-src " + policyHash(script)
         + "\"><meta name=\"viewport\" content=\"width=device-width\"><link rel=\"icon\" "
           "href=\"data:,\"><title>"
         + shown + "</title><style>" + all + "</style></head><body><h1>" + shown + "</h1>\n";
}

}
