#include "Core/Runs/Report/Html.h"

#include "Core/Compute/ControlCharacters.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Log.h"
#include "Core/Image/Files/Sha256.h"

#include <algorithm>
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
.failed{color:var(--failed)}.look,.interrupted{color:var(--look)}.done{color:var(--done)}
.v{font-weight:600}.r{max-width:28em;overflow-wrap:anywhere}.s{color:var(--soft)}
:focus-visible{outline:3px solid var(--link);outline-offset:1px}
)";

}

std::string htmlText(std::string_view text)
{
  constexpr std::pair<char, const char*> entities[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t control = text[i] == '\n' ? 0 : controlLength(text, i);
    const auto entity = std::ranges::find(entities, text[i], &std::pair<char, const char*>::first);
    escaped += control > 0 ? "?" : entity != std::end(entities) ? entity->second : std::string(1, text[i]);
    i += control > 0 ? control - 1 : 0;
  }
  return escaped;
}

std::string filledIn(std::string_view pattern, std::initializer_list<std::string_view> values)
{
  std::string text;
  const auto* value = values.begin();
  for (const char c : pattern)
    if (c == '$')
      text += *value++;
    else
      text += c;
  return text;
}

std::string tableHtml(const std::vector<std::string>& heads, const std::string& rows)
{
  const auto head = [](const std::string& name) { return "<th>" + name + "</th>"; };
  return filledIn("<div class=\"wide\"><table><thead><tr>$</tr></thead><tbody>\n$</tbody></table></div>\n",
                  {joined(heads, "", head), rows});
}

std::string base64(std::string_view bytes)
{
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  for (std::size_t i = 0, to = 0; i < bytes.size(); i += 3, to += 4) {
    const std::size_t count = std::min<std::size_t>(bytes.size() - i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < count ? static_cast<std::uint8_t>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k <= count; ++k)
      text[to + k] = digits[bits >> (18 - 6 * k) & 63];
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
  return filledIn(R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none';
img-src $; style-src $; script-src $"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<title>$</title><style>$</style></head><body><h1>$</h1>
)",
                  {imageSources, policyHash(all), policyHash(script), shown, all, shown});
}

}
