#pragma once

#include <fmt/format.h>

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "stout/adapters/store_url.h"
#include "stout/error.h"

namespace stout {

// How something is opened by a URL of one scheme. T: a Store, a LeaseService.
template <typename T>
struct Scheme {
  std::string_view name;
  std::string_view syntax;  // Empty: another name of one above.
  Result<std::unique_ptr<T>> (*open)(const StoreUrl& url,
                                     const boost::asio::any_io_executor& executor,
                                     Diagnostics* diagnostics);
};

template <typename T>
std::string JoinSyntax(std::span<const Scheme<T>> schemes) {
  std::string text;
  for (const Scheme<T>& scheme : schemes) {
    if (scheme.syntax.empty()) continue;
    if (!text.empty()) text += '\n';
    text += scheme.syntax;
  }
  return text;
}

// `what` is opened, for messages: "store".
template <typename T>
Result<std::unique_ptr<T>> OpenByScheme(std::span<const Scheme<T>> schemes, std::string_view what,
                                        std::string_view url,
                                        const boost::asio::any_io_executor& executor,
                                        Diagnostics* diagnostics) {
  const Result<StoreUrl> parsed = ParseStoreUrl(url, diagnostics);
  if (!parsed) {
    if (diagnostics != nullptr) {
      diagnostics->message += fmt::format("; {} URLs are:\n{}", what, JoinSyntax(schemes));
    }
    return parsed.error();
  }
  for (const Scheme<T>& scheme : schemes) {
    if (scheme.name == parsed->scheme) return scheme.open(*parsed, executor, diagnostics);
  }
  return Fail(Errc::kBadUrl,
              fmt::format("no {} for '{}:' is compiled in; {} URLs are:\n{}", what, parsed->scheme,
                          what, JoinSyntax(schemes)),
              diagnostics);
}

}  // namespace stout
