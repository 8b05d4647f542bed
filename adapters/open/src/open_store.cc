#include "stout/adapters/open_store.h"

#include <fmt/format.h>

#include <string>

#include "stout/adapters/memory_store.h"
#include "stout/adapters/store_url.h"
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

struct Scheme {
  std::string_view name;
  std::string_view syntax;
  Result<std::unique_ptr<Store>> (*open)(const StoreUrl& url,
                                         const boost::asio::any_io_executor& executor,
                                         Diagnostics* diagnostics);
};

// What is compiled in.
constexpr Scheme kSchemes[] = {
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
    {"rediss", "", RedisStore::OpenUrl},  // which says that it is not
    {"redis-cluster", RedisClusterStore::kUrlSyntax, RedisClusterStore::OpenUrl},
#endif
};

std::string JoinSyntax() {
  std::string text;
  for (const Scheme& scheme : kSchemes) {
    if (scheme.syntax.empty()) continue;  // another name of one above
    if (!text.empty()) text += '\n';
    text += scheme.syntax;
  }
  return text;
}

}  // namespace

std::string_view StoreUrlSyntax() {
  static const std::string text = JoinSyntax();
  return text;
}

Result<std::unique_ptr<Store>> OpenStore(std::string_view url,
                                         const boost::asio::any_io_executor& executor,
                                         Diagnostics* diagnostics) {
  const Result<StoreUrl> parsed = ParseStoreUrl(url, diagnostics);
  if (!parsed) {
    if (diagnostics != nullptr) {
      diagnostics->message += fmt::format("; store URLs are:\n{}", StoreUrlSyntax());
    }
    return parsed.error();
  }
  for (const Scheme& scheme : kSchemes) {
    if (scheme.name == parsed->scheme) return scheme.open(*parsed, executor, diagnostics);
  }
  return Fail(Errc::kBadUrl,
              fmt::format("no store for '{}:' is compiled in; store URLs are:\n{}", parsed->scheme,
                          StoreUrlSyntax()),
              diagnostics);
}

}  // namespace stout
