#pragma once

#include <string_view>

namespace stout::blowfish::text_section {

// The sections of a TextStore's file beside SelfIndexSections.

inline constexpr std::string_view kKeys = "keys";          ///< KeyDirectory.
inline constexpr std::string_view kBegins = "begins";      ///< EliasFano; see TextIndex.
inline constexpr std::string_view kAlphabet = "alphabet";  ///< ByteAlphabet.

}  // namespace stout::blowfish::text_section
