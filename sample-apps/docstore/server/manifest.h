#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/types.h"

namespace stout::docstore {

/// The list of a document's sections, in the order of their creation, as the store keeps it: lines
/// of a name, a space, and the stamp of the state with which the section was created, such as
/// "intro 3.17". Names are ids, so nothing needs escaping. Earlier servers wrote no stamps.
///
/// A section exists if the manifest names it and its state is not older than that stamp. Deleting a
/// document therefore takes effect with the one write of the manifest, and so does naming a new
/// section. States that a crash, a refusal or a push-back has left behind are older, and are never
/// seen. A store without stamps cannot tell these states apart.
namespace manifest {

[[nodiscard]] bool Contains(std::string_view manifest, std::string_view section);

/// Returns true if the manifest names the section and a state with this stamp is not older. A zero
/// stamp is of a store without stamps, and counts as new.
[[nodiscard]] bool Shows(std::string_view manifest, std::string_view section, Stamp stamp);

/// Requires that `section` is not there.
[[nodiscard]] std::string With(std::string_view manifest, std::string_view section, Stamp created);

/// Requires that `section` is there.
[[nodiscard]] std::string Without(std::string_view manifest, std::string_view section);

/// The names; they point into `manifest`.
[[nodiscard]] std::vector<std::string_view> Sections(std::string_view manifest);

[[nodiscard]] std::size_t Count(std::string_view manifest);

/// Returns the text for clients: {"document": ..., "sections": [...]}.
[[nodiscard]] std::string ToJson(std::string_view document, std::string_view manifest);

}  // namespace manifest
}  // namespace stout::docstore
