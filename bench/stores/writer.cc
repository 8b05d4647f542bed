#include "stores/writer.h"

#include <fmt/format.h>

#include <stdexcept>

#include "stores/redis_writer.h"
#include "stout/adapters/store_url.h"
#include "stout/core/parse_number.h"
#ifdef STOUT_HAS_POSTGRES
#include "stores/postgres_writer.h"
#endif
#ifdef STOUT_HAS_ROCKSDB
#include "stores/rocksdb_writer.h"
#endif

namespace stout::bench {
namespace {

constexpr std::string_view kPool = "pool:";
constexpr std::string_view kPipelined = "pipelined:";
constexpr std::size_t kMaxConnections = 1000;

}  // namespace

std::string WriterSpec::Name() const {
  return fmt::format("{}{}", pipelined ? kPipelined : kPool, connections);
}

std::optional<WriterSpec> ParseWriter(std::string_view text) {
  WriterSpec spec;
  spec.pipelined = text.starts_with(kPipelined);
  if (!spec.pipelined && !text.starts_with(kPool)) return std::nullopt;
  text.remove_prefix(text.find(':') + 1);
  spec.connections = internal::ParseNumber<std::size_t>(text).value_or(0);
  if (spec.connections < 1 || spec.connections > kMaxConnections) return std::nullopt;
  return spec;
}

std::unique_ptr<Writer> OpenWriter(const std::string& url, const WriterSpec& spec,
                                   boost::asio::io_context& context) {
  Diagnostics why;
  const Result<StoreUrl> parsed = ParseStoreUrl(url, &why);
  if (!parsed) throw std::runtime_error(why.message);
  const std::string& scheme = parsed->scheme;
#ifdef STOUT_HAS_POSTGRES
  if (scheme == "postgres") return OpenPostgresWriter(url, spec, context);
#endif
  if (scheme == "redis") return OpenRedisWriter(url, spec, context);
#ifdef STOUT_HAS_ROCKSDB
  if (scheme == "rocksdb") {
    return OpenRocksDbWriter(fmt::format("{}-{}", parsed->path, spec.connections), spec, context);
  }
#endif
  throw std::runtime_error(
      fmt::format("no plain client for '{}:' is compiled in; compare policies alone with "
                  "--writers none",
                  scheme));
}

}  // namespace stout::bench
