#pragma once

#include <string_view>

namespace stout::monitor {

/// The text of live_page.html. The page shows the answers of GET /history, and loads nothing else.
extern const std::string_view kLivePage;

/// The Content-Security-Policy of the page. It allows the page's own script and style, and answers
/// of this server.
extern const std::string_view kLivePagePolicy;

}  // namespace stout::monitor
