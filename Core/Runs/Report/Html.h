#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// The text with the characters that HTML gives a meaning replaced, for elements and quoted attributes.
std::string htmlText(std::string_view);

/// The pattern with each $ replaced by the next value.
std::string filledIn(std::string_view pattern, std::initializer_list<std::string_view> values);

/// A table that scrolls sideways in itself; `rows` are elements.
std::string tableHtml(const std::vector<std::string>& heads, const std::string& rows);

std::string base64(std::string_view bytes);

/// A path relative to a page as the value of href or src: octets other than letters, digits and "-._~/" are
/// percent-encoded (RFC 3986).
std::string htmlPath(std::string_view path);

/// Four significant digits; "-" for a value that is not finite.
std::string shortNumber(double);

/// The source of a policy that allows this inline script or style alone: 'sha256-...'
/// (https://www.w3.org/TR/CSP3/#grammardef-hash-source).
std::string policyHash(std::string_view text);

/// A page up to its heading. Its policy allows no network: this style, this script, and images from
/// `imageSources` (a list of sources as in a policy).
std::string pageHead(const std::string& title, const std::string& style, const std::string& script,
                     const std::string& imageSources);

}
