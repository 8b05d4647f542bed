#pragma once

#include <string_view>

namespace stout::docstore {

/// live_page.html: one page that shows GET /history, and loads nothing else.
extern const std::string_view kLivePage;

/// The Content-Security-Policy of the page: its own script, its own style, and answers of this
/// server.
extern const std::string_view kLivePagePolicy;

}  // namespace stout::docstore
