#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace stout::resp {

/// Splits a command as people type it into its words, as redis does: `SET k "a b\x00\n"`.
///
/// Words are separated by spaces. "Double quotes" know \n, \r, \t, \b, \a and \xHH, and any other
/// character after a backslash means itself. 'Single quotes' know \' alone. A closing quote ends
/// its word: a space or the end must follow.
///
/// Quoted words are unescaped in place, which never makes them longer. The only memory is that of
/// `words`, to which they are appended. `line` comes without its line end. Returns false if the
/// quotes are not balanced; then `words` is undefined.
[[nodiscard]] bool SplitInline(std::span<char> line, std::vector<std::string_view>& words);

}  // namespace stout::resp
