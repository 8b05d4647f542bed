#include "node/expiry_sweep.h"

#include <spdlog/spdlog.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "node/value_format.h"
#include "stout/completion.h"
#include "stout/join.h"
#include "stout/key_map.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

/// Maximum keys in one page.
constexpr std::size_t kSweptPage = 1000;

/// Time between two pages: 10,000 keys or 40 MiB per second at most.
constexpr Duration kSweepPause = std::chrono::milliseconds(100);

/// Attempts to read a page. The pauses between them grow by kSweepPause, and are 44 s together, so
/// that a store may restart meanwhile. After the last one, pages that took hours are read again.
constexpr int kMaxAttempts = 30;

using Keys = std::vector<std::string>;

// Makes all changes durable. Returns false if that failed. A range that this node does not serve
// has none: it is not open yet, or another node owns it.
asio::awaitable<bool> Flush(const Ranges& ranges) {
  const auto served = ranges.Served();
  const auto [failed] = co_await Initiate<void(ErrorCode)>(
      [&served](UniqueFunction<void(ErrorCode)> done) {
        const auto join = stout::internal::Join::Of(served.size(), std::move(done));
        for (const RangeServer::Served& range : served) {
          asio::post(range->map->get_executor(), [range, join] {
            range->map->Flush([join](ErrorCode ec) {
              const bool not_served = ec == Errc::kClosed || ec == Errc::kFenced;
              join->Finish(not_served || IsOnlyRefused(ec) ? ErrorCode() : ec);
            });
          });
        }
      },
      asio::as_tuple(asio::use_awaitable));
  co_return !failed;
}

// Deletes the key if its newest state has expired, unless another node owns it. Fails if that is
// not known or possible. In a shared range another node may have written a newer state that this
// node has not seen, so nothing is deleted.
void DeleteIfExpired(const RangeServer::Served& served, const std::string& key,
                     const Deadlines& deadlines, UniqueFunction<void(ErrorCode)> done) {
  if (!served || served->shared) return done({});
  // The key may have changed since it was read. This turn sees its newest state, and deletes.
  auto judge = [served, key, &deadlines, done = std::move(done)](ErrorCode ec,
                                                                 const KeyMap::Entry&) mutable {
    if (ec) return done(ec);
    const auto newest = served->map->Peek(key, {.counted = true});
    if (!newest) return done(Errc::kTransient);
    if (newest->value && DecodeValue(*newest->value).expired(deadlines.now()) && served->owns()) {
      const auto deleted = served->map->Delete(key);
      if (!deleted) ec = deleted.error();
    }
    done(ec);
  };
  served->map->Get(key, {.ahead = true}, std::move(judge));
}

// Returns false if some may be left.
asio::awaitable<bool> DeleteExpired(Ranges& ranges, const Keys& keys, const Deadlines& deadlines) {
  const auto [failed] = co_await Initiate<void(ErrorCode)>(
      [&](UniqueFunction<void(ErrorCode)> done) {
        const auto join = stout::internal::Join::Of(keys.size(), std::move(done));
        for (const std::string& key : keys) {
          ranges.Run(ranges.RangeOf(key), true,
                     [&key, &deadlines, join](const RangeServer::Served& served) {
                       DeleteIfExpired(served, key, deadlines,
                                       [join](ErrorCode ec) { join->Finish(ec); });
                     });
        }
      },
      asio::as_tuple(asio::use_awaitable));
  co_return !failed;
}

// Notes the deadlines of a page, and returns the keys that have expired.
Keys ExpiredOf(const ScanResult& page, Deadlines& deadlines, std::int64_t now) {
  Keys expired;
  for (const ScannedKey& key : page.keys) {
    const DatedValue dated = DecodeValue(key.state.value);
    dated.expired(now) ? expired.push_back(key.key) : deadlines.Note(dated.deadline);
  }
  return expired;
}

}  // namespace

asio::awaitable<void> Sweep(Ranges& ranges, Store& store, Deadlines& deadlines, Duration pause) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  // Commands before this turn are durable when the pages are read, and later ones note their
  // deadlines.
  deadlines.earliest = std::numeric_limits<std::int64_t>::max();
  if (!co_await Flush(ranges)) {
    deadlines.earliest = 0;
    co_return;
  }
  bool complete = true;
  ScanRequest request;
  request.limit = kSweptPage;
  for (int failures = 0; !deadlines.over;) {
    ScanResult page = co_await store.AsyncScan(request, asio::use_awaitable);
    if (page.errc == Errc::kTransient && ++failures < kMaxAttempts) {
      timer.expires_after(failures * pause);
      co_await timer.async_wait(asio::use_awaitable);
      continue;
    }
    if (page.errc != Errc::kOk) {
      spdlog::warn("expired keys are not deleted: the store cannot list its keys: {}",
                   ErrorCode(page.errc).message());
      complete = false;
      break;
    }
    failures = 0;
    const Keys expired = ExpiredOf(page, deadlines, deadlines.now());
    if (!expired.empty()) complete &= co_await DeleteExpired(ranges, expired, deadlines);
    if (page.cursor.empty()) break;
    request.cursor = std::move(page.cursor);
    timer.expires_after(pause);
    co_await timer.async_wait(asio::use_awaitable);
  }
  if (!complete || deadlines.shared) deadlines.earliest = 0;
}

asio::awaitable<void> SweepForever(Ranges& ranges, Store& store, Deadlines& deadlines,
                                   Duration interval) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (!deadlines.over) {
    timer.expires_after(interval);
    co_await timer.async_wait(asio::use_awaitable);
    if (!deadlines.over && deadlines.earliest < deadlines.now())
      co_await Sweep(ranges, store, deadlines, kSweepPause);
  }
}

}  // namespace stout::node
