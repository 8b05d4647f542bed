#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace stout::resp {

/// The places of the scans that clients have under way. A client carries only a number, but a place
/// among keys is a key. Therefore the server keeps the keys, for the newest scans: at most `most`,
/// of `most_bytes` together, but at least one.
///
/// Threads: one.
class ScanCursors {
 public:
  struct Place {
    std::size_t shard = 0;
    std::optional<std::string> after;  ///< nullopt: at the beginning of the shard
  };

  explicit ScanCursors(std::size_t most = 10'000, std::size_t most_bytes = std::size_t{16} << 20)
      : most_(most), most_bytes_(most_bytes) {}

  /// The number under which a client goes on; never 0.
  [[nodiscard]] std::uint64_t Keep(Place place);
  /// Returns null for an unknown cursor, or one that is old and forgotten. The same cursor may be
  /// used again.
  [[nodiscard]] const Place* Find(std::uint64_t cursor) const;

 private:
  static std::uint64_t FirstCursor();
  void ForgetOldest();

  const std::size_t most_;
  const std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  // Begins anywhere, so that a cursor of another server or run is not taken for one of this.
  std::uint64_t next_ = FirstCursor();
  boost::unordered_flat_map<std::uint64_t, Place> places_;
  std::deque<std::uint64_t> oldest_;
};

}  // namespace stout::resp
