#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace stout::docstore {

/// Derives document ids from paths: "licenses/GPL 3" becomes "licenses.GPL_3". An id that would be
/// too long keeps the end of the path behind a digest. A second path with the same id gets "-2".
/// Deterministic: the same paths in the same order get the same ids.
class DocumentIds {
 public:
  [[nodiscard]] std::string Take(std::string_view path);

 private:
  std::unordered_set<std::string> taken_;
};

}  // namespace stout::docstore
