#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/workload.h"
#include "stout/core/types.h"

namespace stout::load {

/// Reads an entity tag `"<epoch>.<version>"`; nothing if it is malformed.
[[nodiscard]] std::optional<Stamp> ParseETag(std::string_view text);

/// The result of a read.
struct Shown {
  bool present = false;        ///< False: there is no such section.
  std::optional<Stamp> stamp;  ///< nullopt if the ETag was missing or malformed
  std::string_view body;
};

/// The errors of the server. All are zero for a correct server.
struct Findings {
  std::uint64_t lost = 0;         ///< Read back: absent, or an older version than one acknowledged.
  std::uint64_t stale = 0;        ///< Read back: a newer version, but an older acknowledged value.
  std::uint64_t stale_reads = 0;  ///< During the run: older than what was known when it was sent.
  std::uint64_t invalid = 0;      ///< No ETag, a version given twice or going back, mangled bytes.
  std::vector<std::string> examples;  ///< The first few, in words.

  [[nodiscard]] bool clean() const { return lost + stale + stale_reads + invalid == 0; }
};

/// Remembers the server's promises and compares every answer with them.
///
/// Invariants that it checks, per section:
///  1. Versions that acknowledge writes are distinct. Each is newer than every version known when
///     the write was sent.
///  2. A read shows at least the newest version known when the read was sent. A version is known if
///     it acknowledged a write, or if an earlier read showed it: a crash must not undo a state that
///     a read has revealed.
///  3. A version always has the same value.
///  4. A version newer than all known ones shows one of two values. The first is a write whose
///     outcome is open: it was sent, but not acknowledged. A write that timed out may have
///     happened. The second is the newest known value, because a server that takes a range over may
///     write an unchanged state again under its own epoch.
///
/// No other client may write the corpus during the run. Values from before the run are accepted
/// until the first acknowledged write of their section.
///
/// Memory: 24 bytes per section and about 20 per write without an answer.
/// Owner: value type.   Threads: none of its own.
class Verifier {
 public:
  /// `run` is random: it tells our values from those of earlier runs.
  Verifier(const Corpus& corpus, std::uint64_t run);

  /// A write is about to be sent; returns its number, unique within the run. Its fate is open until
  /// OnAcknowledged, and for good if it is never acknowledged, whatever the server says instead.
  std::uint64_t BeginWrite(SectionId section);
  /// `known` is Known(section) from when the write was sent.
  void OnAcknowledged(SectionId section, std::uint64_t sequence, std::optional<Stamp> stamp,
                      Stamp known);

  /// The newest version known; {0, 0} if none.
  [[nodiscard]] Stamp Known(SectionId section) const { return newest_[section].stamp; }
  /// A read during the run; `known` is Known(section) from when it was sent.
  void OnRead(SectionId section, const Shown& shown, Stamp known);

  /// Sections that the final read-back must look at: all that were ever written or seen.
  [[nodiscard]] std::vector<SectionId> SectionsToReadBack() const;
  /// An answer of the read-back, when no request is in flight any more.
  void OnReadBack(SectionId section, const Shown& shown);

  [[nodiscard]] const Findings& findings() const { return findings_; }
  [[nodiscard]] const Corpus& corpus() const { return corpus_; }
  [[nodiscard]] std::uint64_t run() const { return run_; }
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  [[nodiscard]] std::size_t open_writes() const { return open_.size(); }

  /// Writes all that is known, but not the findings, as text; Load makes a verifier that goes on
  /// where this one ended. Load returns nothing if the text is not from Save.
  void Save(std::ostream& out) const;
  static std::optional<Verifier> Load(std::istream& in);

 private:
  struct Newest {
    Stamp stamp;
    std::uint64_t sequence = 0;  // 0: a value from before this run
  };
  enum class Verdict { kOk, kOlder, kOtherValue, kInvalid };

  /// Checks invariants 2 to 4 and takes what was shown as known.
  Verdict Judge(SectionId section, const Shown& shown, Stamp known);
  void Report(std::uint64_t Findings::*counter, std::string_view what, SectionId section,
              std::optional<Stamp> stamp, Stamp newest);

  Corpus corpus_;
  std::uint64_t run_;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::vector<Newest> newest_;                                // by section
  boost::unordered_flat_map<std::uint64_t, SectionId> open_;  // by sequence
  Findings findings_;
};

}  // namespace stout::load
