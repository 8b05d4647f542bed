#include "engine.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "requests.h"
#include "stout/adapters/no_throw.h"

namespace stout {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using namespace std::chrono_literals;

// Before a watch that has ended is begun again: a server that ends each at once is not to be worn
// out by that.
constexpr std::chrono::milliseconds kPause = 100ms;
// The same if the deployment is a table that was dropped.
constexpr std::chrono::minutes kGonePause = 1min;

// Null if there is none.
const json::array* ArrayIn(const json::value& object, std::string_view name) {
  const json::value* const found =
      object.is_object() ? object.get_object().if_contains(name) : nullptr;
  return found == nullptr ? nullptr : found->if_array();
}

}  // namespace

EtcdLeases::Engine::Engine(EtcdLeasesOptions options, const asio::any_io_executor& executor)
    : options_(std::make_shared<const EtcdLeasesOptions>(std::move(options))),
      keys_(options_->name),
      executor_(executor),
      strand_(asio::make_strand(executor)),
      leases_(executor),
      records_(executor),
      watch_(options_->endpoints, options_->timeout, strand_),
      pause_(strand_) {
  const auto make_pool = [this](const char* name) {
    return MakeLeasePool<etcd::Gateway>(strand_, name, [shared = options_, strand = strand_] {
      return std::make_unique<etcd::Gateway>(shared->endpoints, shared->timeout, strand);
    });
  };
  renewals_ = make_pool("etcd renewals");
  changes_ = make_pool("etcd changes");
}

LeaseService::Watch EtcdLeases::Engine::WatchTable(LeaseService::TableHandler handler) {
  asio::post(strand_, [self = shared_from_this()] { self->BeginToFollow(); });
  return leases_.Watch(std::move(handler));
}

LeaseService::Watch EtcdLeases::Engine::WatchRecords(Registry::TableHandler handler) {
  asio::post(strand_, [self = shared_from_this()] {
    self->records_watched_ = true;
    if (self->revision_ != 0) self->PublishRecords();
    self->BeginToFollow();
  });
  return records_.Watch(std::move(handler));
}

void EtcdLeases::Engine::BeginToFollow() {
  if (closed_ || std::exchange(watching_, true)) return;
  asio::co_spawn(strand_, Follow(), [self = shared_from_this()](const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
}

asio::awaitable<void> EtcdLeases::Engine::Follow() {
  while (!closed_) {
    co_await FollowOnce();
    if (closed_) break;
    pause_.expires_after(IsGone() ? Duration(kGonePause) : Duration(kPause));
    co_await pause_.async_wait(kNoThrow);
  }
}

asio::awaitable<void> EtcdLeases::Engine::FollowOnce() {
  etcd::Message request = etcd::ReadAll(keys_);
  const etcd::Reply everything = co_await watch_.Call(request.path, std::move(request.body));
  if (closed_) co_return;
  if (everything.errc == Errc::kTransient) watch_.Report(everything.message);
  if (everything.errc != Errc::kOk) co_return;
  entries_ = etcd::EntriesOf(everything.body);
  revision_ = etcd::RevisionOf(everything.body);
  leases_.Publish(etcd::TableOf(keys_, entries_));
  if (records_watched_) PublishRecords();
  seen_ |= !entries_.empty();
  if (IsGone()) co_return;
  request = etcd::WatchAll(keys_, revision_ + 1);
  const bool open = co_await watch_.OpenStream(request.path, std::move(request.body));
  if (!open) co_return;
  while (!closed_) {
    const std::optional<json::value> message = co_await watch_.Next(options_->silence);
    if (!message || !Apply(*message)) co_return;
  }
}

bool EtcdLeases::Engine::Apply(const json::value& message) {
  const json::value* const result = message.get_object().if_contains("result");
  if (result == nullptr || !result->is_object()) return false;  // An error.
  // The events that it missed are compacted, or the server ended the watch.
  if (result->get_object().contains("canceled")) return false;
  const json::array* const events = ArrayIn(*result, "events");
  if (events == nullptr) return true;
  for (const json::value& event : *events) {
    const json::object* const object = event.if_object();
    const json::value* const kv = object == nullptr ? nullptr : object->if_contains("kv");
    auto entry = kv == nullptr ? std::nullopt : etcd::DecodeKeyValue(*kv);
    if (!entry) return false;
    const std::string key = entry->key;
    if (object->contains("type")) {  // DELETE; PUT, the first of the enumeration, is left out.
      entries_.erase(entry->key);
    } else {
      entries_[std::move(entry->key)] = {std::move(entry->value), entry->created, entry->modified};
    }
    if (records_watched_) etcd::UpdateRecord(keys_, entries_, key, &table_);
  }
  seen_ |= !entries_.empty();
  leases_.Publish(etcd::TableOf(keys_, entries_));
  if (records_watched_) records_.Publish(table_);
  return true;
}

void EtcdLeases::Engine::PublishRecords() {
  table_ = etcd::RecordsOf(keys_, entries_);
  records_.Publish(table_);
}

void EtcdLeases::Engine::Close() {
  renewals_->Close();
  changes_->Close();
  asio::post(strand_, [self = shared_from_this()] {
    self->closed_ = true;
    self->watch_.Close();
    self->pause_.cancel();
  });
}

}  // namespace stout
