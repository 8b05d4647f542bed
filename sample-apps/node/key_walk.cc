#include "node/key_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "node/commands.h"
#include "node/value_format.h"
#include "resp/server/ascii.h"
#include "resp/server/command_options.h"
#include "resp/server/glob.h"
#include "stout/clock.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

/// Maximum keys in one page.
constexpr std::size_t kPage = 1000;

/// Pause before keys are deleted again for which there was no room among the changes.
constexpr auto kPause = std::chrono::milliseconds(10);

std::string WhyNot(Errc why) {
  if (why == Errc::kRefused) return "ERR this store cannot list its keys as it is opened";
  if (why == Errc::kTransient)
    return "TRYAGAIN the store cannot list its keys at present: repeat the command, or begin again "
           "with cursor 0";
  return fmt::format("ERR the store cannot list its keys: {}", ErrorCode(why).message());
}

constexpr std::string_view kNoOwner =
    "TRYAGAIN a range has no owner at present: repeat the command, or begin again with cursor 0";

constexpr std::string_view kMoved =
    "TRYAGAIN a range has moved to another owner meanwhile: repeat the command at all nodes";

bool MayPass(std::string_view error) {
  return error.starts_with("TRYAGAIN") || error.starts_with("ERR not all done");
}

}  // namespace

asio::awaitable<void> KeyWalk::Run(Request& request) {
  request.replies = &replies_;
  request.reply_begin = replies_.size();
  if (!table_->store.traits().scans) {
    request.error = WhyNot(Errc::kRefused);
  } else if (request.command->id == CommandId::kScan) {
    co_await Scan(request);
  } else if (request.command->id == CommandId::kDbsize) {
    co_await Count(request);
  } else {
    co_await RemoveAll(request);
  }
  request.reply_end = replies_.size();
}

asio::awaitable<bool> KeyWalk::Read(Request& request, ScanRequest scan, ScanResult& page) {
  page = co_await table_->store.AsyncScan(scan, asio::use_awaitable);
  if (page.errc != Errc::kOk) request.error = WhyNot(page.errc);
  const std::int64_t now = table_->deadlines.now();
  std::erase_if(page.keys, [&](const ScannedKey& key) {
    if (!key.state.found || DecodeValue(key.state.value).expired(now)) return true;
    if (!router_.redirects()) return false;
    const auto lease = table_->ranges.LeaseOf(table_->ranges.RangeOf(key.key));
    if (!lease) request.error = kNoOwner;
    return !lease || lease->address != table_->cluster->self;
  });
  co_return request.error.empty();
}

// A range that moves during a pass may be left out at both nodes.
std::vector<Epoch> KeyWalk::Owners() const {
  std::vector<Epoch> owners(router_.redirects() ? table_->ranges.partition().ranges : 0);
  for (RangeId range = 0; range < owners.size(); ++range) {
    const auto lease = table_->ranges.LeaseOf(range);
    if (lease) owners[range] = lease->epoch;
  }
  return owners;
}

// A pass over many keys would hold up the end of the node.
bool KeyWalk::Advance(Request& request, ScanRequest& scan, ScanResult& page) const {
  scan.cursor = std::move(page.cursor);
  if (scan.cursor.empty()) return false;
  if (service_.draining) request.error = kEnding;
  return request.error.empty();
}

asio::awaitable<void> KeyWalk::Scan(Request& request) {
  const auto options = *resp::ParseScanOptions(request.arguments);
  ScanRequest scan{.cursor = {},
                   .limit = std::min<std::size_t>(static_cast<std::size_t>(options.count), kPage),
                   .values = true};  // they have the deadlines
  if (options.cursor != 0) {
    const auto* const place = table_->cursors.Find(options.cursor);
    if (place == nullptr)
      co_return Refuse<void>(request, "ERR the cursor is not known any more: begin again with 0");
    // The table has room for a shard and a key. A store's cursor takes the place of the key.
    scan.cursor = *place->after;
  }
  ScanResult page;
  if (!co_await Read(request, scan, page)) co_return;
  const bool typed = !options.type || resp::EqualIgnoringCase(*options.type, "string");
  std::vector<std::string_view> keys;
  for (const ScannedKey& key : page.keys) {
    if (!typed || (options.match && !resp::GlobMatch(*options.match, key.key))) continue;
    keys.push_back(key.key);
    if (room_.Take(key.key.size())) continue;
    request.error = kRepliesTooLarge;
    co_return;
  }
  const std::uint64_t next = page.cursor.empty() ? 0 : table_->cursors.Keep({0, page.cursor});
  resp::ReplyWriter reply(replies_, session_.version);
  reply.ArrayHeader(2);
  reply.BulkString(std::to_string(next));
  reply.ArrayHeader(keys.size());
  for (const std::string_view key : keys) reply.BulkString(key);
}

asio::awaitable<void> KeyWalk::Count(Request& request) {
  ScanRequest scan{.cursor = {}, .limit = kPage, .values = true};
  ScanResult page;
  std::int64_t count = 0;
  const std::vector<Epoch> owners = Owners();
  do {
    if (!co_await Read(request, scan, page)) co_return;
    count += static_cast<std::int64_t>(page.keys.size());
  } while (Advance(request, scan, page));
  if (request.error.empty() && Owners() != owners) request.error = kMoved;
  if (!request.error.empty()) co_return;
  if (!router_.redirects()) table_->key_count.Set(count);
  resp::ReplyWriter(replies_, session_.version).Integer(count);
}

asio::awaitable<void> KeyWalk::RemoveAll(Request& request) {
  ScanRequest scan{.cursor = {}, .limit = kPage, .values = false};
  ScanResult page;
  bool removed = false;
  const std::vector<Epoch> owners = Owners();
  do {
    if (co_await Read(request, scan, page) && !page.keys.empty())
      removed |= co_await Remove(request, page);
  } while (request.error.empty() && Advance(request, scan, page));
  // Keys of a range without an owner may have been left to that.
  if (request.error.empty() && std::ranges::count(owners, Epoch{0}) > 0) request.error = kNoOwner;
  if (request.error.empty() && Owners() != owners) request.error = kMoved;
  if (!request.error.empty()) {
    if (removed && request.not_done()) request.error = "ERR not all done: " + request.error;
    co_return;
  }
  if (!router_.redirects()) table_->key_count.Set(0);
  resp::ReplyWriter(replies_, session_.version).Ok();
}

// There may be room for a part of the keys only.
asio::awaitable<bool> KeyWalk::Remove(Request& request, const ScanResult& page) {
  const TimePoint deadline = SteadyNow() + service_.reply_deadline;
  std::vector<std::string_view> words = {"del"};
  for (const ScannedKey& key : page.keys) words.push_back(key.key);
  for (bool removed = false;;) {
    Request del;
    del.command = service_.commands.Find("del");
    del.arguments = words;
    del.tenant = request.tenant;
    del.levels.write = request.levels.write;
    co_await remover_.Run({&del, 1});
    remover_.Clear();
    router_.writes().merge(std::exchange(remover_.writes(), {}));
    removed |= !del.not_done();
    if (del.error.empty()) co_return removed;
    if (del.displaced || !MayPass(del.error) || SteadyNow() >= deadline) {
      request.error = std::move(del.error);
      co_return removed;
    }
    asio::steady_timer pause(co_await asio::this_coro::executor, kPause);
    boost::system::error_code ignored;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

}  // namespace stout::node
