#pragma once

#include <concepts>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/types.h"

namespace stout::inline v1 {

/// The keys that an asynchronous call names: one key, keys in braces, or a range of keys.
///
///     Interposer interposer(executor, store, MakeApplication(), options);
///     co_await interposer.AsyncSafeReply(key, asio::use_awaitable);
///     co_await interposer.AsyncSafeReply({key, other}, asio::use_awaitable);
///     co_await interposer.AsyncSafeReply(keys, asio::use_awaitable);
///
/// It replaces std::initializer_list, because gcc 12 cannot keep the array of such a list in a
/// coroutine ("array used as initializer").
///
/// Owner: a value. It copies the keys, because the caller's may be gone when a deferred call
/// begins.
class KeyList {
 public:
  // NOLINTBEGIN(google-explicit-constructor): a key is a list of one
  template <std::convertible_to<KeyView>... Keys>
  KeyList(const Keys&... keys) {
    copies_.reserve(sizeof...(keys));
    (copies_.emplace_back(KeyView(keys)), ...);
  }
  template <std::ranges::input_range Range>
  requires(!std::convertible_to<const Range&, KeyView> &&
           std::convertible_to<std::ranges::range_reference_t<const Range>, KeyView>)
      KeyList(const Range& keys) {
    for (auto&& key : keys)
      copies_.emplace_back(KeyView(key));  // a view may return strings by value
  }
  KeyList(std::vector<std::string> keys) : copies_(std::move(keys)) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] auto begin() const { return copies_.begin(); }
  [[nodiscard]] auto end() const { return copies_.end(); }
  /// Valid until the list is changed or destroyed.
  [[nodiscard]] std::vector<KeyView> views() const { return std::vector<KeyView>(begin(), end()); }

 private:
  std::vector<std::string> copies_;
};

}  // namespace stout::inline v1
