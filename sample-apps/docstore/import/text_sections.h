#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stout::docstore {

/// A piece of a text, under a name that is a section id: "0003-getting-started".
struct TextSection {
  std::string name;
  std::string_view text;  ///< Into the text that was cut.

  bool operator==(const TextSection&) const = default;
};

struct SectioningOptions {
  /// Paragraphs without a heading are gathered until a section has this many bytes. >= 1
  std::size_t block_bytes = 2048;
  /// No section is larger; a longer paragraph is cut between characters. >= 4
  std::size_t max_bytes = std::size_t{1} << 20;
};

/// Cuts a text into sections. A section begins at each heading, and after a paragraph that ends
/// beyond `block_bytes`. Headings are Markdown's ("# A", or underlined with === or ---). Lines
/// between blank ones also count if they are numbered ("2.1 Scope") or all capitals ("PREAMBLE").
///
/// Deterministic. The sections are the text, in order, without the blank space between them.
[[nodiscard]] std::vector<TextSection> CutIntoSections(std::string_view text,
                                                       const SectioningOptions& options);

/// Returns true if these bytes are a text: valid UTF-8. The only control characters allowed are
/// white space and the few that old documents use (form feed, escape, backspace).
[[nodiscard]] bool IsText(std::string_view bytes);

}  // namespace stout::docstore
