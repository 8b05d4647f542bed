#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stout/core/batch.h"

namespace stout {

/// The answer to a scan while a store fills it.
///
///     const auto first = ScanPage::FirstKey(request);
///     if (!first) return handler({Errc::kRefused, {}, {}});
///     ScanPage page(request.limit);
///     for (auto at = keys.lower_bound(*first); at != keys.end() && !page.full(); ++at) ...
///     handler(page.TakeOrdered());
class ScanPage {
 public:
  /// A page of this size takes no more keys.
  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
  /// Counted for each key, beside its own bytes and those of its value.
  static constexpr std::size_t kKeyBytes = 100;

  /// No page has more keys.
  static constexpr std::size_t kMaxKeys = kMaxBytes / kKeyBytes;

  explicit ScanPage(std::size_t limit) : limit_(limit) {}

  void Add(std::string key, StoredState state) {
    bytes_ += kKeyBytes + key.size() + state.value.size();
    result_.keys.push_back({std::move(key), std::move(state)});
  }
  [[nodiscard]] bool full() const { return result_.keys.size() >= limit_ || bytes_ >= kMaxBytes; }

  /// Returns the first key that the page may have, or nullopt if the request must be refused. The
  /// key is a part of the request. The cursor is "k" and this key, as CursorBehind() makes it.
  [[nodiscard]] static std::optional<std::string_view> FirstKey(const ScanRequest& request) {
    if (request.limit == 0) return std::nullopt;
    if (request.cursor.empty()) return "";
    if (request.cursor.front() != 'k') return std::nullopt;
    return std::string_view(request.cursor).substr(1);
  }

  /// The answer of a store in byte order. A page that is not full is the last one.
  [[nodiscard]] ScanResult TakeOrdered() {
    if (full()) result_.cursor = CursorBehind(result_.keys.back().key);
    return std::move(result_);
  }
  [[nodiscard]] ScanResult Take(std::string cursor) {
    result_.cursor = std::move(cursor);
    return std::move(result_);
  }

 private:
  const std::size_t limit_;
  std::size_t bytes_ = 0;
  ScanResult result_;
};

}  // namespace stout
