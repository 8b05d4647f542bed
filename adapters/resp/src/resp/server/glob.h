#pragma once

#include <string_view>

namespace stout::resp {

enum class GlobCase { kExact, kIgnore };

/// Returns true if `pattern` describes the whole of `text`, by the rules of redis:
///
///     `*`     any bytes, also none        `[abc]`, `[a-c]`   one of these bytes
///     `?`     one byte                    `[^abc]`           any but these
///     `\x`    the byte x, which within brackets works as well
///
/// As in redis, brackets that are not closed reach to the end of the pattern, the ends of a range
/// may be swapped, and a backslash at the end is one. Bytes are unsigned, and `*` also describes
/// the empty text.
///
/// `kIgnore`: ignores the case of A to Z.
/// Cost: at most |pattern| * |text| steps, for any pattern; no memory.
[[nodiscard]] bool GlobMatch(std::string_view pattern, std::string_view text,
                             GlobCase letters = GlobCase::kExact);

}  // namespace stout::resp
