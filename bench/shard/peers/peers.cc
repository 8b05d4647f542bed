#include "shard/peers/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <variant>

#include "shard/peers/blowfish_peer.h"
#include "shard/peers/bytes_peer.h"
#include "shard/peers/hash_peer.h"
#ifdef STOUT_HAS_ZSTD
#include "shard/peers/zstd_peer.h"
#endif
#ifdef STOUT_HAS_SDSL
#include "shard/peers/sdsl_peer.h"
#endif
#ifdef STOUT_HAS_ROCKSDB
#include "shard/peers/rocksdb_peer.h"
#endif
#ifdef STOUT_HAS_REDIS
#include "shard/peers/redis_peer.h"
#endif

namespace stout::bench::shard {
namespace {

/// A peer, or why there is none.
using Made = std::variant<std::unique_ptr<ShardPeer>, std::string>;

struct Maker {
  std::string name;
  std::function<Made(const PeerOptions&)> make;
};

[[maybe_unused]] Made NotBuilt(std::string_view package) {
  return fmt::format("built without {}", package);
}

/// One of our peers: "FAMILY", or "FAMILY:FIRST:SECOND", with these numbers of layers in its two
/// arrays.
struct Layered {
  std::string family;
  int first = 0;
  int second = 0;
};

/// As many layers as the two arrays of the family have for line items, whose values have 15
/// attributes, or of any text. Blocks have layers of one kind.
const std::map<std::string, std::pair<int, int>, std::less<>>& MostLayers() {
  static const std::map<std::string, std::pair<int, int>, std::less<>> most = {
      {"blocks", {0, 4}}, {"blowfish", {4, 4}}, {"bytes", {9, 9}}};
  return most;
}

std::optional<Layered> ParseLayered(const std::string& name) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  const auto family = MostLayers().find(std::string_view(name).substr(0, colon));
  if (family == MostLayers().end()) return std::nullopt;
  Layered layered{.family = family->first};
  if (colon == name.size()) return layered;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data() + colon + 1, end, layered.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, layered.second);
  const auto [most_first, most_second] = family->second;
  if (second.ec != std::errc() || second.ptr != end || layered.first < 0 || layered.second < 0 ||
      layered.first > most_first || layered.second > most_second) {
    return std::nullopt;
  }
  return layered;
}

Made MakeLayered(const PeerOptions& options, const std::string& name, const Layered& layered) {
  if (options.scratch.empty()) return "no directory for its files was given";
  const std::string directory = fmt::format("{}/{}", options.scratch, name);
  if (layered.family == "bytes") {
    return MakeBytesPeer({.name = name,
                          .directory = directory,
                          .position_layers = layered.first,
                          .row_layers = layered.second});
  }
  if (layered.family == "blocks") {
    return MakeBlowfishPeer({.name = name,
                             .directory = directory,
                             .block_layers = layered.second,
                             .encoding = blowfish::Encoding::kBlocks});
  }
  return MakeBlowfishPeer({.name = name,
                           .directory = directory,
                           .record_layers = layered.first,
                           .place_layers = layered.second});
}

Made MakeZstd(const PeerOptions&) {
#ifdef STOUT_HAS_ZSTD
  return MakeZstdPeer();
#else
  return NotBuilt("libzstd");
#endif
}

Made MakeSada(const PeerOptions&) {
#ifdef STOUT_HAS_SDSL
  return MakeSdslSadaPeer();
#else
  return NotBuilt("sdsl-lite");
#endif
}

Made MakeWavelet(const PeerOptions&) {
#ifdef STOUT_HAS_SDSL
  return MakeSdslWaveletPeer();
#else
  return NotBuilt("sdsl-lite");
#endif
}

[[maybe_unused]] Made MakeRocksDb([[maybe_unused]] const PeerOptions& options,
                                  [[maybe_unused]] const std::string& name,
                                  [[maybe_unused]] std::size_t cache_bytes) {
#ifdef STOUT_HAS_ROCKSDB
  if (options.scratch.empty()) return "no directory for its files was given";
  return MakeRocksDbPeer({.name = name,
                          .directory = fmt::format("{}/{}", options.scratch, name),
                          .cache_bytes = cache_bytes});
#else
  return NotBuilt("RocksDB");
#endif
}

Made MakeRedis([[maybe_unused]] const PeerOptions& options) {
#ifdef STOUT_HAS_REDIS
  if (options.redis.empty()) return "no server was given";
  const std::size_t colon = options.redis.rfind(':');
  int port = 0;
  const char* const end = options.redis.data() + options.redis.size();
  if (colon == std::string::npos ||
      std::from_chars(options.redis.data() + colon + 1, end, port).ptr != end) {
    throw std::runtime_error(fmt::format("'{}' is no host:port", options.redis));
  }
  return MakeRedisPeer(options.redis.substr(0, colon), port);
#else
  return NotBuilt("hiredis");
#endif
}

/// Ours without layers, in an encoding that was not measured and chosen.
Made MakeEncoded(const PeerOptions& options, const std::string& name, blowfish::Encoding encoding) {
  if (options.scratch.empty()) return "no directory for its files was given";
  return MakeBlowfishPeer({.name = name,
                           .directory = fmt::format("{}/{}", options.scratch, name),
                           .encoding = encoding});
}

/// Peers without a number of layers.
const std::vector<Maker>& Makers() {
  constexpr std::size_t kSmallCache = std::size_t{4} << 20;
  constexpr std::size_t kCacheForAll = std::size_t{64} << 30;  // what is not used costs nothing
  static const std::vector<Maker> makers = {
      {"index",
       [](const PeerOptions& options) {
         return MakeEncoded(options, "index", blowfish::Encoding::kIndex);
       }},
      {"text",
       [](const PeerOptions& options) {
         return MakeEncoded(options, "text", blowfish::Encoding::kText);
       }},
      {"zstd", MakeZstd},
      {"sdsl-sada", MakeSada},
      {"sdsl-wt", MakeWavelet},
      {"rocksdb",
       [](const PeerOptions& options) { return MakeRocksDb(options, "rocksdb", kSmallCache); }},
      {"rocksdb-cached",
       [](const PeerOptions& options) {
         return MakeRocksDb(options, "rocksdb-cached", kCacheForAll);
       }},
      {"hash", [](const PeerOptions&) { return Made(MakeHashPeer()); }},
      {"redis", MakeRedis},
  };
  return makers;
}

}  // namespace

const std::vector<std::string>& PeerNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list = {"blowfish",     "blowfish:0:1", "blowfish:0:2", "blowfish:1:1",
                                     "blowfish:2:1", "blowfish:3:1", "blowfish:4:1", "blowfish:4:4",
                                     "bytes",        "bytes:0:2",    "bytes:3:2",    "bytes:5:3",
                                     "bytes:7:4",    "blocks",       "blocks:0:3",   "blocks:0:4"};
    for (const Maker& maker : Makers()) list.push_back(maker.name);
    return list;
  }();
  return names;
}

std::string IsPeer(const std::string& name) {
  if (ParseLayered(name) || std::ranges::count(Makers(), name, &Maker::name) > 0) return "";
  return fmt::format("there is no peer '{}'; there are {}, and ours with other numbers of layers",
                     name, fmt::join(PeerNames(), ", "));
}

Peers MakePeers(const std::vector<std::string>& names, const PeerOptions& options) {
  Peers peers;
  for (const std::string& name : names) {
    const auto layered = ParseLayered(name);
    Made made = layered ? MakeLayered(options, name, *layered)
                        : std::ranges::find(Makers(), name, &Maker::name)->make(options);
    if (auto* const peer = std::get_if<std::unique_ptr<ShardPeer>>(&made)) {
      peers.peers.push_back(std::move(*peer));
    } else {
      peers.left_out.push_back({name, std::get<std::string>(made)});
    }
  }
  return peers;
}

}  // namespace stout::bench::shard
