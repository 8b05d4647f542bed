#include "stout/adapters/open_store.h"

#include <span>
#include <string>

#include "schemes.h"
#include "stout/adapters/memory_store.h"
#ifdef STOUT_HAS_BLOWFISH
#include "stout/adapters/blowfish_store.h"
#endif
#ifdef STOUT_HAS_POSTGRES
#include "stout/adapters/postgres_store.h"
#endif
#ifdef STOUT_HAS_REDIS
#include "stout/adapters/redis_cluster_store.h"
#include "stout/adapters/redis_store.h"
#endif
#ifdef STOUT_HAS_ROCKSDB
#include "stout/adapters/rocksdb_store.h"
#endif

namespace stout {
namespace {

// The kinds that are compiled in.
constexpr Scheme<Store> kStoreSchemes[] = {
    {"memory", MemoryStore::kUrlSyntax, MemoryStore::OpenUrl},
#ifdef STOUT_HAS_ROCKSDB
    {"rocksdb", RocksDbStore::kUrlSyntax, RocksDbStore::OpenUrl},
#endif
#ifdef STOUT_HAS_POSTGRES
    {"postgres", PostgresStore::kUrlSyntax, PostgresStore::OpenUrl},
    {"postgresql", "", PostgresStore::OpenUrl},
#endif
#ifdef STOUT_HAS_REDIS
    {"redis", RedisStore::kUrlSyntax, RedisStore::OpenUrl},
    {"redis-cluster", RedisClusterStore::kUrlSyntax, RedisClusterStore::OpenUrl},
    {"rediss", "", RedisStore::OpenUrl},  // which says that it is not
#endif
#ifdef STOUT_HAS_BLOWFISH
    {"blowfish", BlowfishStore::kUrlSyntax, BlowfishStore::OpenUrl},
    {"stout", BlowfishStore::kNodeUrlSyntax, BlowfishStore::OpenUrl},
#endif
};

}  // namespace

std::string_view StoreUrlSyntax() {
  static const std::string text = JoinSyntax(std::span<const Scheme<Store>>(kStoreSchemes));
  return text;
}

Result<std::unique_ptr<Store>> OpenStore(std::string_view url,
                                         const boost::asio::any_io_executor& executor,
                                         Diagnostics* diagnostics) {
  return OpenByScheme(std::span<const Scheme<Store>>(kStoreSchemes), "store", url, executor,
                      diagnostics);
}

}  // namespace stout
