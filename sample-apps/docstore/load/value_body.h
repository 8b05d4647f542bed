#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "load/workload.h"

namespace stout::load {

/// Says who wrote a value: a header at its beginning, filler up to the wanted size. Any two writes
/// of one run differ, so what a read shows can be traced to the request that wrote it.
///
///     run 6b8b4567327b23c6 section 0000002a write 00000000000004d2\n<filler>
///
/// The filler follows from the write's number: a value mixed from two writes does not parse.
struct BodyTag {
  std::uint64_t run = 0;  ///< Random per run: tells our values from those of earlier runs.
  SectionId section = 0;
  std::uint64_t sequence = 0;  ///< Unique within the run, from 1.

  bool operator==(const BodyTag&) const = default;
};

/// The smallest --value-bytes: the header's length, bytes.
inline constexpr std::size_t kBodyHeaderBytes = 61;

/// Appends a value of exactly `size` bytes; requires size >= kBodyHeaderBytes.
void AppendBody(const BodyTag& tag, std::size_t size, std::string& out);

/// Returns nullopt if AppendBody did not write these bytes.
[[nodiscard]] std::optional<BodyTag> ParseBody(std::string_view body);

}  // namespace stout::load
