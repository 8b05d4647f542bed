#include "shard/peers/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <stdexcept>
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

Made MakeBlowfish(const PeerOptions& options, const std::string& name, int record_layers,
                  int place_layers) {
  if (options.scratch.empty()) return "no directory for its files was given";
  return MakeBlowfishPeer({.name = name,
                           .directory = fmt::format("{}/{}", options.scratch, name),
                           .record_layers = record_layers,
                           .place_layers = place_layers});
}

Made MakeBytes(const PeerOptions& options, const std::string& name, int position_layers,
               int row_layers) {
  if (options.scratch.empty()) return "no directory for its files was given";
  return MakeBytesPeer({.name = name,
                        .directory = fmt::format("{}/{}", options.scratch, name),
                        .position_layers = position_layers,
                        .row_layers = row_layers});
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

/// Ours first, with no layers, some and all: line items have up to four.
const std::vector<Maker>& Makers() {
  constexpr std::size_t kSmallCache = std::size_t{4} << 20;
  constexpr std::size_t kCacheForAll = std::size_t{64} << 30;  // what is not used costs nothing
  static const std::vector<Maker> makers = {
      {"blowfish",
       [](const PeerOptions& options) { return MakeBlowfish(options, "blowfish", 0, 0); }},
      {"blowfish-2",
       [](const PeerOptions& options) { return MakeBlowfish(options, "blowfish-2", 2, 1); }},
      {"blowfish-4",
       [](const PeerOptions& options) { return MakeBlowfish(options, "blowfish-4", 4, 1); }},
      {"bytes", [](const PeerOptions& options) { return MakeBytes(options, "bytes", 0, 0); }},
      {"bytes-1", [](const PeerOptions& options) { return MakeBytes(options, "bytes-1", 0, 1); }},
      {"bytes-4", [](const PeerOptions& options) { return MakeBytes(options, "bytes-4", 4, 2); }},
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
    std::vector<std::string> list;
    list.reserve(Makers().size());
    for (const Maker& maker : Makers()) list.push_back(maker.name);
    return list;
  }();
  return names;
}

Peers MakePeers(const std::vector<std::string>& names, const PeerOptions& options) {
  Peers peers;
  for (const Maker& maker : Makers()) {
    if (std::find(names.begin(), names.end(), maker.name) == names.end()) continue;
    Made made = maker.make(options);
    if (auto* const peer = std::get_if<std::unique_ptr<ShardPeer>>(&made)) {
      peers.peers.push_back(std::move(*peer));
    } else {
      peers.left_out.push_back({maker.name, std::get<std::string>(made)});
    }
  }
  return peers;
}

}  // namespace stout::bench::shard
