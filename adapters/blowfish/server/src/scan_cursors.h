#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace stout::blowfish {

/// Where the scans are that clients have under way. Clients carry a number only, and a place among
/// keys is a key: so the server keeps the keys, of the newest scans.
///
/// Threads: one.
class ScanCursors {
 public:
  struct Place {
    std::size_t shard = 0;
    std::optional<std::string> after;  ///< Nothing: at its beginning.
  };

  explicit ScanCursors(std::size_t most = 10'000) : most_(most) {}

  /// The number under which a client goes on; never 0.
  [[nodiscard]] std::uint64_t Keep(Place place);
  /// Nothing: not one of ours, or so old that it is forgotten. It may be asked for again.
  [[nodiscard]] const Place* Find(std::uint64_t cursor) const;

 private:
  const std::size_t most_;
  std::uint64_t next_ = 1;
  boost::unordered_flat_map<std::uint64_t, Place> places_;
  std::deque<std::uint64_t> oldest_;
};

}  // namespace stout::blowfish
