#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stout::docstore {

/// The list of a document's sections, in the order of their creation, as the store keeps it: each
/// name is followed by a line feed. Names are ids, so nothing needs escaping.
///
/// A section exists if the manifest names it. Creating a section, or deleting a document, therefore
/// takes effect with the one write of the manifest. Section states that a crash has orphaned are
/// never seen.
namespace manifest {

[[nodiscard]] bool Contains(std::string_view manifest, std::string_view section);

/// Requires that `section` is not there.
[[nodiscard]] std::string With(std::string_view manifest, std::string_view section);

/// Requires that `section` is there.
[[nodiscard]] std::string Without(std::string_view manifest, std::string_view section);

/// The names; they point into `manifest`.
[[nodiscard]] std::vector<std::string_view> Sections(std::string_view manifest);

[[nodiscard]] std::size_t Count(std::string_view manifest);

/// Returns the text for clients: {"document": ..., "sections": [...]}.
[[nodiscard]] std::string ToJson(std::string_view document, std::string_view manifest);

}  // namespace manifest
}  // namespace stout::docstore
