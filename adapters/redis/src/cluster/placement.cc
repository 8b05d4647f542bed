#include "cluster/placement.h"

#include <fmt/format.h>

namespace stout::redis {

Slot SlotOfKey(const Layout& layout, std::string_view key) {
  return layout.prefix().empty() ? SlotOf(key) : SlotOf(layout.prefix() + std::string(key));
}

// The tag stands first, so that no braces of the prefix or the scope count.
std::string FenceKeyIn(Slot slot, const Layout& layout, std::string_view scope) {
  return fmt::format("{{{}}}{}", SlotTags()[slot], layout.FenceKey(scope));
}

}  // namespace stout::redis
