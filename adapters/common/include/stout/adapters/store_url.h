#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stout/core/types.h"
#include "stout/error.h"

namespace stout {

/// The address of a store, in parts: `scheme:[//authority]path[?option=value&...]`.
///
///     memory:?latency=2ms             path "",          authority ""
///     rocksdb:/var/lib/app%20one      path "/var/lib/app one"
///     redis://user@host:6379/0        path "/0",        authority "user@host:6379"
struct StoreUrl {
  std::string scheme;     ///< Lower case.
  std::string authority;  ///< As written: the adapter splits it before it decodes the parts.
  std::string path;       ///< Percent-decoded.
  std::vector<std::pair<std::string, std::string>> options;  ///< Decoded, in order.

  bool operator==(const StoreUrl&) const = default;
};

/// Fails with kBadUrl on a missing scheme, a broken percent escape, an option without a value or
/// one that is given twice.
[[nodiscard]] Result<StoreUrl> ParseStoreUrl(std::string_view url, Diagnostics* diagnostics);

/// Returns `url` without its secrets, for logs, errors and reports:
///
///     postgres://app:secret@db:5432/app?sslpassword=x
///     postgres://app:***@db:5432/app?sslpassword=*** redis://:secret@h1,h2 redis://:***@h1,h2
///     postgres:host=db password='a b'                   postgres:host=db password=***
///     postgres://app:a/b@db                             postgres:***
///
/// Secrets are: the password before the host, and the options password, sslpassword, auth, pass,
/// pwd, apikey and those with passwd, secret or token in their names. If a URL is malformed or
/// ambiguous, its scheme alone is returned. Accepts any text.
[[nodiscard]] std::string Redacted(std::string_view url);

/// Returns `message` without the parts of `url` that Redacted() hides. Use it for messages of
/// libraries, which quote parts of URLs.
[[nodiscard]] std::string RedactedMessage(std::string_view message, std::string_view url);

/// The same for each URL among the arguments of a program. Use it for errors of command line
/// parsers.
[[nodiscard]] std::string RedactedMessage(std::string_view message,
                                          std::span<const char* const> arguments);

/// Returns nullopt if an escape is broken.
[[nodiscard]] std::optional<std::string> PercentDecode(std::string_view text);

/// Fills `*diagnostics`, if there is one, and answers the error to return.
[[nodiscard]] ErrorCode Fail(Errc errc, std::string message, Diagnostics* diagnostics);

/// As Fail with kBadUrl. The message is the problem, and the syntax of such a URL.
[[nodiscard]] ErrorCode BadUrl(std::string_view problem, std::string_view syntax,
                               Diagnostics* diagnostics);

/// Reads a URL's options into variables, and knows from that which options there are:
///
///     UrlOptionReader reader(url);
///     reader.Duration("latency", options.latency);
///     reader.Count("workers", options.workers, 1, 1024);
///     if (auto error = reader.Finish()) ...  // a bad value, or an option that nobody asked for
///
/// An option that the URL does not give leaves its variable alone. `min` and `max` are inclusive.
/// Threads: none of its own.   Errors: the first one is kept for Finish().
class UrlOptionReader {
 public:
  /// `url` must outlive the reader.
  explicit UrlOptionReader(const StoreUrl& url) : url_(url) {}

  /// As stout::ParseDuration: "20ms", "90min", "1.5h".
  void Duration(std::string_view name, stout::Duration& value,
                stout::Duration min = stout::Duration::zero());
  void Count(std::string_view name, std::size_t& value, std::size_t min, std::size_t max);
  /// As stout::ParseBytes: "65536", "64MiB".
  void Bytes(std::string_view name, std::size_t& value, std::size_t min, std::size_t max);
  /// A number such as 0.25.
  void Number(std::string_view name, double& value, double min, double max);
  /// Any text.
  void Text(std::string_view name, std::string& value);
  /// One of these words.
  void Choice(std::string_view name, std::string& value,
              std::initializer_list<std::string_view> choices);
  /// "true" or "false".
  void Flag(std::string_view name, bool& value);

  /// Returns nullopt if every option was read, otherwise one line that names the option and the
  /// remedy.
  [[nodiscard]] std::optional<std::string> Finish() const;

  /// Makes Finish() return `why`, unless an earlier error or an unknown option comes first.
  void Refuse(std::string why);

 private:
  const std::string* Find(std::string_view name);
  void Reject(std::string_view name, const std::string& text, const std::string& expected);

  const StoreUrl& url_;
  std::vector<std::string> known_;
  std::optional<std::string> error_;
};

}  // namespace stout
