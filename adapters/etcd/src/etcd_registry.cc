#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine.h"
#include "requests.h"
#include "stout/adapters/etcd_leases.h"
#include "stout/adapters/registry_json.h"
#include "stout/core/registry_ledger.h"

namespace stout {
namespace {

namespace asio = boost::asio;
using etcd::Gateway;
using etcd::Message;
using etcd::Reply;
using internal::Judged;

asio::awaitable<Judged> Decide(Gateway& gateway, const etcd::Keys& keys, Epoch epoch_base,
                               RegistryChange change) {
  Revision created = 0;
  if (change.owned) {
    // Revision 0 is that of a range without an owner.
    if (epoch_base == 0 || change.owned->epoch <= epoch_base) {
      co_return Judged{Errc::kOk, {ChangeOutcome::kNotOwner, 0}};
    }
    created = change.owned->epoch - epoch_base;
  }
  const std::string text = change.value ? EncodeRecord(*change.value) : "";
  Message request = etcd::ChangeRecord(keys, change, text, created);
  const Reply reply = co_await gateway.Call(request.path, std::move(request.body));
  if (reply.not_found) co_return Judged{Errc::kFenced};
  if (reply.errc != Errc::kOk) co_return Judged{reply.errc};
  co_return internal::Judge(change, etcd::FactsOf(reply.body, change, text, created));
}

asio::awaitable<Result<RegistryTable>> ReadRecords(Gateway& gateway, const etcd::Keys& keys) {
  Message request = etcd::ReadAll(keys);
  const Reply reply = co_await gateway.Call(request.path, std::move(request.body));
  if (reply.errc != Errc::kOk) co_return reply.errc;
  co_return etcd::RecordsOf(keys, etcd::EntriesOf(reply.body));
}

}  // namespace

void EtcdLeases::Change(RegistryChange change, ChangeHandler handler) {
  if (WhyInvalid(change)) return handler(Errc::kBadOptions, {});
  auto call =
      pending_.Add<Judged>([handler = std::move(handler)](
                               Judged judged) mutable { handler(judged.errc, judged.answer); },
                           Judged{Errc::kUnknown});
  engine_->Start(Engine::Kind::kChange, call,
                 [change = std::move(change)](Engine& engine, Gateway& gateway) {
                   const Epoch base = engine.deployment ? engine.deployment->epoch_base : 0;
                   return Decide(gateway, engine.keys(), base, change);
                 });
}

void EtcdLeases::Read(ReadHandler handler) {
  auto call = pending_.AddResult<RegistryTable>(std::move(handler), Errc::kUnknown);
  engine_->Start(Engine::Kind::kChange, call, [](Engine& engine, Gateway& gateway) {
    return ReadRecords(gateway, engine.keys());
  });
}

LeaseService::Watch EtcdLeases::WatchRecords(Registry::TableHandler handler) {
  return engine_->WatchRecords(std::move(handler));
}

Result<std::unique_ptr<LeaseService>> EtcdLeases::OpenTable(std::string_view table,
                                                            Diagnostics* diagnostics) {
  if (const auto why = WhyInvalid(CreateTable(table, {})))
    return Fail(Errc::kBadUrl, *why, diagnostics);
  EtcdLeasesOptions options = engine_->options();
  options.name = engine_->keys().OfTable(table).name();
  // Not by Open(), which refuses names of tables.
  return std::unique_ptr<LeaseService>(
      new EtcdLeases(std::make_shared<Engine>(options, engine_->executor())));
}

}  // namespace stout
