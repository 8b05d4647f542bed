#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stout/adapters/store_url.h"

namespace stout {
namespace {

constexpr std::string_view kMask = "***";

bool IsAlphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool IsName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return IsAlphanumeric(c) || c == '_' || c == '-' || c == '.';
  });
}

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool IsSecret(std::string_view option) {
  constexpr std::array<std::string_view, 4> kParts = {"password", "passwd", "secret", "token"};
  constexpr std::array<std::string_view, 5> kWords = {"auth", "pass", "pwd", "apikey", "api_key"};
  std::string name(option);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kWords.begin(), kWords.end(), name) != kWords.end() ||
         std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return Contains(name, part); });
}

// A URL in two parts: the text to show, and the texts that were left out of it.
struct Redaction {
  std::string shown;
  std::vector<std::string> hidden;

  void Show(std::string_view text) { shown += text; }
  void Hide(std::string_view text) {
    shown += kMask;
    hidden.emplace_back(text);
  }
};

Redaction HideAll(std::string_view scheme, std::string_view rest) {
  Redaction redaction;
  redaction.Show(scheme);
  redaction.Hide(rest);
  return redaction;
}

// "host", "host:port", "[::1]:port", or nothing: a port is a number.
bool IsHost(std::string_view text) {
  std::size_t end = 0;
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == text.npos) return false;
    ++end;
  } else {
    const auto is_host = [](char c) { return IsAlphanumeric(c) || Contains("-._~%", {&c, 1}); };
    while (end < text.size() && is_host(text[end])) ++end;
  }
  std::string_view port = text.substr(end);
  if (port.empty()) return true;
  port.remove_prefix(1);
  return text[end] == ':' &&
         std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A user without a password is shown for PostgreSQL only. Elsewhere it is a password whose colon is
// missing. False: the text is no authority.
bool AddAuthority(std::string_view scheme, std::string_view text, Redaction* redaction) {
  if (const std::size_t at = text.rfind('@'); at != text.npos) {
    const std::string_view user = text.substr(0, at);
    const std::size_t colon = user.find(':');
    if (colon != user.npos) {
      redaction->Show(user.substr(0, colon + 1));
      redaction->Hide(user.substr(colon + 1));
    } else if (scheme.starts_with("postgres")) {
      redaction->Show(user);
    } else {
      redaction->Hide(user);
    }
    redaction->Show("@");
    text.remove_prefix(at + 1);
  }
  redaction->Show(text);
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (!IsHost(text.substr(0, comma))) return false;
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

// False: the text is no list of options.
bool AddOptions(std::string_view query, Redaction* redaction) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = pair.find('=');
    const std::optional<std::string> name = PercentDecode(pair.substr(0, equals));
    if (equals == pair.npos || !name || !IsName(*name)) return false;
    const std::string_view value = pair.substr(equals + 1);
    const std::optional<std::string> decoded = PercentDecode(value);
    redaction->Show(pair.substr(0, equals + 1));
    // A value with "=" may have an option in it, because its separator is wrong.
    const bool shown = decoded && !IsSecret(*name) && !Contains(*decoded, "=");
    if (shown) {
      redaction->Show(value);
    } else {
      redaction->Hide(value);
    }
    if (end == query.size()) break;
    redaction->Show("&");
    query.remove_prefix(end + 1);
  }
  return true;
}

// Returns the length of the value at the start of `text`, in the syntax of libpq: 'a b', a\ b.
// Returns nullopt if a quote is missing.
std::optional<std::size_t> ConninfoValue(std::string_view text) {
  const bool quoted = text.starts_with('\'');
  for (std::size_t i = quoted ? 1 : 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (quoted && text[i] == '\'') {
      return i + 1;
    } else if (!quoted && std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      return i;
    }
  }
  return quoted ? std::nullopt : std::optional(text.size());
}

// Reads `host=db user=app password='a b'`. Returns nullopt if the text is anything else.
std::optional<Redaction> RedactConninfo(std::string_view scheme, std::string_view text) {
  Redaction redaction;
  redaction.Show(scheme);
  while (!text.empty()) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos || !IsName(text.substr(0, equals))) return std::nullopt;
    const std::string_view name = text.substr(0, equals);
    text.remove_prefix(equals + 1);
    const std::optional<std::size_t> length = ConninfoValue(text);
    // libpq allows blanks before a value: then this is no pair of its own.
    if (!length || (*length == 0 && !text.empty())) return std::nullopt;
    redaction.Show(name);
    redaction.Show("=");
    const std::string_view value = text.substr(0, *length);
    if (IsSecret(name) || Contains(value, "=") || Contains(value, "@")) {
      redaction.Hide(value);
    } else {
      redaction.Show(value);
    }
    text.remove_prefix(*length);
    const std::size_t spaces = std::min(text.find_first_not_of(' '), text.size());
    if (spaces == 0 && !text.empty()) return std::nullopt;
    redaction.Show(text.substr(0, spaces));
    text.remove_prefix(spaces);
  }
  return redaction;
}

// Returns the length of "SCHEME:", or 0.
std::size_t SchemeLength(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon == 0) return 0;
  const bool is_scheme =
      std::all_of(text.begin(), text.begin() + static_cast<long>(colon), [](char c) {
        return IsAlphanumeric(c) || Contains("+-.", {&c, 1});
      });
  return is_scheme ? colon + 1 : 0;
}

// The ends of a URL's parts decide which of them are secrets. If a reserved character of a password
// may have moved these ends, all except the scheme is hidden.
Redaction Redact(std::string_view url) {
  const std::string_view scheme = url.substr(0, SchemeLength(url));
  const std::string_view rest = url.substr(scheme.size());
  const auto is_odd = [](unsigned char c) {
    return c <= ' ' || c >= 0x7f || Contains("\"'\\", {reinterpret_cast<const char*>(&c), 1});
  };
  std::string_view left = rest;
  if (scheme.empty() || IsName(left.substr(0, left.find('=')))) {
    if (auto conninfo = RedactConninfo(scheme, left)) return *std::move(conninfo);
  }
  if (scheme.empty() || std::any_of(left.begin(), left.end(), is_odd)) return HideAll(scheme, rest);

  Redaction redaction;
  redaction.Show(scheme);
  if (left.starts_with("//")) {
    left.remove_prefix(2);
    redaction.Show("//");
    const std::size_t end = std::min(left.find_first_of("/?"), left.size());
    if (!AddAuthority(scheme, left.substr(0, end), &redaction)) return HideAll(scheme, rest);
    left.remove_prefix(end);
  }
  if (Contains(left, "@")) return HideAll(scheme, rest);
  const std::size_t question = std::min(left.find('?'), left.size());
  const std::optional<std::string> path = PercentDecode(left.substr(0, question));
  if (!path || path->find_first_of("@:=") != path->npos) return HideAll(scheme, rest);
  redaction.Show(left.substr(0, question));
  left.remove_prefix(question);
  if (left.empty()) return redaction;
  redaction.Show("?");
  if (!AddOptions(left.substr(1), &redaction)) return HideAll(scheme, rest);
  return redaction;
}

void ReplaceAll(std::string_view from, std::string_view to, std::string* text) {
  for (std::size_t at = text->find(from); at != text->npos; at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

// Masks the texts in quotes that are part of a secret, or have one in them.
void MaskQuoted(char quote, std::string_view secret, std::string* text) {
  std::size_t open = text->find(quote);
  while (open != text->npos) {
    const std::size_t close = text->find(quote, open + 1);
    if (close == text->npos) return;
    const std::string quoted = text->substr(open + 1, close - open - 1);
    const bool is_text = std::any_of(quoted.begin(), quoted.end(), IsAlphanumeric);
    if (is_text && (Contains(secret, quoted) || Contains(quoted, secret))) {
      text->replace(open + 1, quoted.size(), kMask);
      open = text->find(quote, open + kMask.size() + 2);
    } else {
      // The text between two quoted ones is looked at as well: a secret may have a quote in it.
      open = close;
    }
  }
}

}  // namespace

std::string Redacted(std::string_view url) { return Redact(url).shown; }

std::string RedactedMessage(std::string_view message, std::string_view url) {
  constexpr std::size_t kShortest = 3;  // a shorter secret would be found in ordinary words
  std::string text(message);
  const Redaction redaction = Redact(url);
  if (redaction.hidden.empty()) return text;
  ReplaceAll(url, redaction.shown, &text);
  for (const std::string& hidden : redaction.hidden) {
    for (const std::string& secret : {hidden, PercentDecode(hidden).value_or(hidden)}) {
      if (secret.empty()) continue;
      if (secret.size() >= kShortest) ReplaceAll(secret, kMask, &text);
      for (const char quote : {'"', '\'', '`'}) MaskQuoted(quote, secret, &text);
    }
  }
  return text;
}

std::string RedactedMessage(std::string_view message, std::span<const char* const> arguments) {
  std::string text(message);
  for (const std::string_view argument : arguments) {
    // libpq's other syntax has a "=" or, by mistake, a space behind the word. The names of options
    // and files that have the word in them are to be shown.
    const bool may_be_secret = Contains(argument, "://") || Contains(argument, "password=") ||
                               Contains(argument, "password ");
    if (!may_be_secret) continue;
    // URLs are also given as --store=URL and NAME=URL.
    const std::size_t equals = argument.find('=');
    const bool named = equals < argument.find(':');
    text = RedactedMessage(text, named ? argument.substr(equals + 1) : argument);
  }
  return text;
}

}  // namespace stout
