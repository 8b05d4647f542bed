#include "load/load_options.h"

#include <algorithm>

namespace stout::load {

std::string Target::Authority() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? "[" + host + "]:" + port : host + ":" + port;
}

std::optional<Target> ParseTarget(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return std::nullopt;
  url.remove_prefix(kScheme.size());
  if (url.ends_with('/')) url.remove_suffix(1);
  const std::size_t colon = url.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = url.substr(0, colon);
  const std::string_view port = url.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool is_port =
      !port.empty() && port.size() <= 5 &&
      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (host.empty() || host.find_first_of("/@") != std::string_view::npos || !is_port)
    return std::nullopt;
  return Target{std::string(host), std::string(port)};
}

}  // namespace stout::load
