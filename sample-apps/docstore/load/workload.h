#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "load/random.h"
#include "load/zipf.h"

namespace stout::load {

/// Sections are numbered 0..documents * sections - 1, document by document.
using SectionId = std::uint32_t;

/// The sections that the load touches, and what they are called on the server.
struct Corpus {
  std::uint32_t documents = 10'000;  ///< >= 1
  std::uint32_t sections = 1;        ///< Per document, >= 1; documents * sections < 2^32.

  [[nodiscard]] std::uint32_t size() const { return documents * sections; }
  /// "/docs/load-00000042/sections/s0"
  void AppendPath(SectionId id, std::string& out) const;

  bool operator==(const Corpus&) const = default;
};

/// How often each document is chosen: all alike, or Zipf with document 0 the hottest. The sections
/// of a document are chosen alike.
struct Distribution {
  double theta = 0;  ///< 0: uniform; otherwise the exponent of Zipf's law.

  [[nodiscard]] std::string Name() const;
  bool operator==(const Distribution&) const = default;
};

/// Reads `uniform` or `zipf:0.99` (0 < exponent <= 10); nothing if the text is neither.
[[nodiscard]] std::optional<Distribution> ParseDistribution(std::string_view text);

enum class Op : std::uint8_t { kRead, kWrite };

/// Chooses what each request does, from a seed.
/// Owner: value type.   Threads: none of its own.
class Workload {
 public:
  struct Choice {
    Op op;
    SectionId section;
  };

  /// `read_fraction` is the share of reads, 0..1.
  Workload(const Corpus& corpus, Distribution distribution, double read_fraction,
           std::uint64_t seed);

  Choice Next();

 private:
  Corpus corpus_;
  std::optional<Zipf> zipf_;
  double read_fraction_;
  Random random_;
};

}  // namespace stout::load
