#include "engine.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <exception>
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
      strand_(asio::make_strand(executor)),
      feed_(executor),
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
  asio::post(strand_, [self = shared_from_this()] {
    if (self->closed_ || std::exchange(self->watching_, true)) return;
    asio::co_spawn(self->strand_, self->Follow(), [self](const std::exception_ptr& thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
  });
  return feed_.Watch(std::move(handler));
}

asio::awaitable<void> EtcdLeases::Engine::Follow() {
  while (!closed_) {
    co_await FollowOnce();
    if (closed_) break;
    pause_.expires_after(kPause);
    co_await pause_.async_wait(kNoThrow);
  }
}

asio::awaitable<void> EtcdLeases::Engine::FollowOnce() {
  etcd::Message request = etcd::ReadAll(keys_);
  const etcd::Reply everything = co_await watch_.Call(request.path, std::move(request.body));
  if (closed_ || !ReadEverything(everything)) co_return;
  feed_.Publish(etcd::TableOf(keys_, entries_));
  request = etcd::WatchAll(keys_, revision_ + 1);
  const bool open = co_await watch_.OpenStream(request.path, std::move(request.body));
  if (!open) co_return;
  while (!closed_) {
    const std::optional<json::value> message = co_await watch_.Next(options_->silence);
    if (!message || !Apply(*message)) co_return;
  }
}

bool EtcdLeases::Engine::ReadEverything(const etcd::Reply& reply) {
  if (reply.errc != Errc::kOk) return false;
  entries_.clear();
  revision_ = etcd::RevisionOf(reply.body);
  const json::array* const kvs = ArrayIn(reply.body, "kvs");
  if (kvs == nullptr) return true;  // There is nothing yet.
  for (const json::value& kv : *kvs) {
    if (auto entry = etcd::DecodeKeyValue(kv)) {
      entries_[std::move(entry->key)] = {std::move(entry->value), entry->created};
    }
  }
  return true;
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
    if (object->contains("type")) {  // DELETE; PUT, the first of the enumeration, is left out.
      entries_.erase(entry->key);
    } else {
      entries_[std::move(entry->key)] = {std::move(entry->value), entry->created};
    }
  }
  feed_.Publish(etcd::TableOf(keys_, entries_));
  return true;
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
