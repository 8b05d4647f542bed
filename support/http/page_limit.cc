#include "http/page_limit.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace stout::http {

PageLimit::Page PageLimit::Take() const {
  const auto give_back = [pages = pages_](std::atomic<std::size_t>* count) { count->fetch_sub(1); };
  const bool has_room = pages_->fetch_add(1) < kMaxPages;
  Page page(pages_.get(), give_back);
  return has_room ? std::move(page) : nullptr;
}

Response PageLimit::Hold(Page page, Response response) {
  const std::string* const body = response.body.get();
  response.body = {body, [page = std::move(page), text = std::move(response.body)](const auto*) {}};
  return response;
}

Response PageLimit::TooMany() {
  return MakeUnavailable(
      fmt::format("{} pages for operators are being made, or are not read yet", kMaxPages),
      "repeat the request after Retry-After seconds; read the pages that you ask for");
}

}  // namespace stout::http
