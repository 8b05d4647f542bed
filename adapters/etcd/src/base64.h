#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stout::etcd {

// As the JSON gateway writes keys and values: RFC 4648, section 4, with padding.
[[nodiscard]] std::string EncodeBase64(std::string_view bytes);
[[nodiscard]] std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace stout::etcd
