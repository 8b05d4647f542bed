#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "http/message.h"

namespace stout::http {

/// Bounds the pages for operators that are being made, or that clients have not read yet. A page is
/// a text of its own, so a client that asks for many and reads none must not get all of them.
///
///     PageLimit::Page page = limit_.Take();
///     if (page == nullptr) return respond(PageLimit::TooMany());
///     respond(PageLimit::Hold(std::move(page), MakePrometheus(...)));
///
/// Owner: copies share one limit; pages may outlive it.   Threads: any.
class PageLimit {
 public:
  /// Scrapers and browsers need a few at a time.
  static constexpr std::size_t kMaxPages = 64;
  /// Counts as a page while it exists.
  using Page = std::shared_ptr<void>;

  /// Returns null if there are too many.
  [[nodiscard]] Page Take() const;
  /// Keeps `page` until the body of the response is gone.
  [[nodiscard]] static Response Hold(Page page, Response response);
  /// Makes a 503.
  [[nodiscard]] static Response TooMany();

 private:
  // The pages share it.
  std::shared_ptr<std::atomic<std::size_t>> pages_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace stout::http
