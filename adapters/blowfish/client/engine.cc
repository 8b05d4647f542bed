#include "blowfish/client/engine.h"

#include <boost/asio/strand.hpp>
#include <utility>

#include "stout/adapters/reconnection.h"
#include "stout/tenants.h"

namespace stout {
namespace client = blowfish::client;

BlowfishStore::Engine::Engine(const Options& options, const std::shared_ptr<const resp::Peer>& peer,
                              const std::shared_ptr<const client::Expectation>& expected,
                              const boost::asio::any_io_executor& executor)
    : is_node_(options.is_node) {
  const boost::asio::any_io_executor strand = boost::asio::make_strand(executor);
  // Shared: they reach the same server, and what one pool learns of it, the others know.
  const auto reconnection = std::make_shared<Reconnection>(peer->name);
  const auto make_pool = [&](std::size_t connections) {
    return std::make_shared<Pool>(
        strand, Pool::Options{.connections = connections, .max_queue = options.max_queue},
        reconnection,
        [peer, expected, strand] { return std::make_unique<Connection>(peer, expected, strand); });
  };
  shards_.reserve(expected->shards);
  while (shards_.size() < expected->shards) {
    const auto writers = make_pool(options.connections);
    shards_.push_back(
        {.writers = writers,
         .readers = make_pool(options.read_connections),
         .writes = {writers,
                    client::Write,
                    {options.max_queue, {Errc::kTransient, {}}, {Errc::kUnknown, {}}}}});
  }
  common_ = make_pool(1);
  searchers_ = make_pool(options.read_connections);
}

void BlowfishStore::Engine::Obey(std::shared_ptr<const Tenants> tenants) {
  const std::lock_guard lock(mutex_);
  tenants_ = std::move(tenants);
}

std::vector<std::string> BlowfishStore::Engine::SplitByTenant(const ReadBatch& batch,
                                                              client::Split* split) {
  std::vector<std::string> names;
  if (!is_node_) return names;
  const std::lock_guard lock(mutex_);
  if (tenants_ == nullptr) return names;
  has_tenants_ = has_tenants_ || !batch.tenants.empty();
  if (!has_tenants_) return names;
  for (const TenantId tenant : client::SplitByTenant(batch.tenants, split))
    names.push_back(tenants_->NameOf(tenant));
  return names;
}

void BlowfishStore::Engine::Close() {
  for (const Shard& shard : shards_) {
    shard.writers->Close();
    shard.readers->Close();
  }
  common_->Close();
  searchers_->Close();
}

}  // namespace stout
