#include "stout/adapters/store_url.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "stout/adapters/bytes.h"
#include "stout/core/parse_number.h"
#include "stout/core/policy/basic.h"

namespace stout {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The text before the first `c`, which is dropped; `*rest` is what follows, or empty.
std::string_view CutAt(std::string_view text, char c, std::string_view* rest) {
  const std::size_t at = text.find(c);
  *rest = at == text.npos ? std::string_view() : text.substr(at + 1);
  return text.substr(0, at);
}

// Empty if the text is no scheme.
std::string LowerScheme(std::string_view text) {
  std::string scheme;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!letter && !(other && !scheme.empty())) return {};
    scheme += letter ? static_cast<char>(c | 0x20) : c;
  }
  return scheme;
}

// Returns `text`, a part of an option, or "***" if it may be a part of a password. A "/" or "?" in
// a password ends the authority before its "@".
std::string_view Shown(std::string_view text, const StoreUrl& url) {
  const auto has_at = [](std::string_view part) { return part.find('@') != part.npos; };
  const bool at_is_behind =
      has_at(url.path) ||
      std::any_of(url.options.begin(), url.options.end(), [&](const auto& option) {
        return has_at(option.first) || has_at(option.second);
      });
  return at_is_behind && !url.authority.empty() && !has_at(url.authority) ? "***" : text;
}

// The problem, or empty.
std::optional<std::string> ParseOptions(std::string_view query, StoreUrl* url) {
  const bool ambiguous = query.find('@') != query.npos;
  while (!query.empty()) {
    std::string_view rest;
    const std::string_view pair = CutAt(query, '&', &rest);
    query = rest;
    if (pair.empty()) continue;
    std::string_view value;
    const std::optional<std::string> name = PercentDecode(CutAt(pair, '=', &value));
    const std::optional<std::string> decoded = PercentDecode(value);
    if (!name || !decoded) return "an option has a broken percent escape: write % as %25";
    if (name->empty() || decoded->empty()) return "an option is not of the form option=value";
    const auto same = [&](const auto& option) { return option.first == *name; };
    if (std::any_of(url->options.begin(), url->options.end(), same)) {
      return fmt::format("the option '{}' is given twice", ambiguous ? "***" : *name);
    }
    url->options.emplace_back(*name, *decoded);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

ErrorCode Fail(Errc errc, std::string message, Diagnostics* diagnostics) {
  if (diagnostics != nullptr) diagnostics->message = std::move(message);
  return errc;
}

ErrorCode BadUrl(std::string_view problem, std::string_view syntax, Diagnostics* diagnostics) {
  return Fail(Errc::kBadUrl, fmt::format("{} (syntax: {})", problem, syntax), diagnostics);
}

Result<StoreUrl> ParseStoreUrl(std::string_view text, Diagnostics* diagnostics) {
  StoreUrl url;
  const std::size_t colon = text.find(':');
  if (colon != text.npos) url.scheme = LowerScheme(text.substr(0, colon));
  if (url.scheme.empty()) {
    return Fail(Errc::kBadUrl, "the store URL does not begin with SCHEME:", diagnostics);
  }
  std::string_view query;
  std::string_view address = CutAt(text.substr(colon + 1), '?', &query);
  if (address.starts_with("//")) {
    address.remove_prefix(2);
    const std::size_t slash = std::min(address.find('/'), address.size());
    url.authority = address.substr(0, slash);
    address.remove_prefix(slash);
  }
  std::optional<std::string> path = PercentDecode(address);
  if (!path) {
    return Fail(
        Errc::kBadUrl,
        fmt::format("store URL '{}' has a broken percent escape: write % as %25", Redacted(text)),
        diagnostics);
  }
  url.path = *std::move(path);
  if (std::optional<std::string> error = ParseOptions(query, &url)) {
    return Fail(Errc::kBadUrl, fmt::format("store URL '{}': {}", Redacted(text), *error),
                diagnostics);
  }
  return url;
}

const std::string* UrlOptionReader::Find(std::string_view name) {
  known_.emplace_back(name);
  for (const auto& [key, value] : url_.options) {
    if (key == name) return &value;
  }
  return nullptr;
}

void UrlOptionReader::Reject(std::string_view name, const std::string& text,
                             const std::string& expected) {
  Refuse(fmt::format("option '{}={}': expected {}", name, Shown(text, url_), expected));
}

void UrlOptionReader::Refuse(std::string why) {
  if (!error_) error_ = std::move(why);
}

void UrlOptionReader::Duration(std::string_view name, stout::Duration& value, stout::Duration min) {
  const std::string* text = Find(name);
  if (text == nullptr) return;
  const std::optional<stout::Duration> parsed = ParseDuration(*text);
  if (parsed && *parsed >= min) {
    value = *parsed;
  } else {
    Reject(name, *text,
           fmt::format("a duration of at least {}, such as 20ms, 1.5s, 10min or 1h",
                       FormatDuration(min)));
  }
}

void UrlOptionReader::Count(std::string_view name, std::size_t& value, std::size_t min,
                            std::size_t max) {
  const std::string* text = Find(name);
  if (text == nullptr) return;
  const auto parsed = internal::ParseNumber<std::size_t>(*text);
  if (parsed && *parsed >= min && *parsed <= max) {
    value = *parsed;
  } else {
    Reject(name, *text, fmt::format("a whole number from {} to {}", min, max));
  }
}

void UrlOptionReader::Bytes(std::string_view name, std::size_t& value, std::size_t min,
                            std::size_t max) {
  const std::string* text = Find(name);
  if (text == nullptr) return;
  const std::optional<std::uint64_t> parsed = ParseBytes(*text);
  if (parsed && *parsed >= min && *parsed <= max) {
    value = *parsed;
  } else {
    Reject(name, *text,
           fmt::format("a size from {} to {} bytes, such as 65536, 64KiB or 64MiB", min, max));
  }
}

void UrlOptionReader::Number(std::string_view name, double& value, double min, double max) {
  const std::string* text = Find(name);
  if (text == nullptr) return;
  const auto parsed = internal::ParseNumber<double>(*text);
  if (parsed && *parsed >= min && *parsed <= max) {
    value = *parsed;
  } else {
    Reject(name, *text, fmt::format("a number from {} to {}", min, max));
  }
}

void UrlOptionReader::Text(std::string_view name, std::string& value) {
  if (const std::string* text = Find(name)) value = *text;
}

void UrlOptionReader::Choice(std::string_view name, std::string& value,
                             std::initializer_list<std::string_view> choices) {
  const std::string* text = Find(name);
  if (text == nullptr) return;
  if (std::find(choices.begin(), choices.end(), *text) != choices.end()) {
    value = *text;
  } else {
    Reject(name, *text, fmt::format("{}", fmt::join(choices, " or ")));
  }
}

void UrlOptionReader::Flag(std::string_view name, bool& value) {
  const std::string* text = Find(name);
  if (text == nullptr) return;
  if (*text == "true" || *text == "false") {
    value = *text == "true";
  } else {
    Reject(name, *text, "true or false");
  }
}

std::optional<std::string> UrlOptionReader::Finish() const {
  for (const auto& option : url_.options) {
    if (std::find(known_.begin(), known_.end(), option.first) == known_.end()) {
      return fmt::format("unknown option '{}': a {}: URL takes {}", Shown(option.first, url_),
                         url_.scheme,
                         known_.empty() ? "none" : fmt::format("{}", fmt::join(known_, ", ")));
    }
  }
  return error_;
}

}  // namespace stout
