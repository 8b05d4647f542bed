#pragma once

#include <string_view>

namespace stout::blowfish {

enum class GlobCase { kExact, kIgnore };

/// Whether the whole of `text` is what `pattern` describes, by the rules of redis:
///
///   `*`     any bytes, also none        `[abc]`, `[a-c]`   one of these bytes
///   `?`     one byte                    `[^abc]`           any but these
///   `\x`    the byte x, which within brackets works as well
///
/// As there, brackets that are not closed reach to the end of the pattern, the ends of a range may
/// be the wrong way round, and a backslash at the end is one. Bytes are unsigned, and `*` describes
/// the empty text too.
///
/// `kIgnore`: of letters A to Z.
/// Cost: at most |pattern| * |text| steps, whatever the pattern; no memory.
[[nodiscard]] bool GlobMatch(std::string_view pattern, std::string_view text,
                             GlobCase letters = GlobCase::kExact);

}  // namespace stout::blowfish
