#include "stout/write_back_map.h"

#include <boost/asio/post.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stout/require.h"
#include "value_cache.h"
#include "working.h"

namespace stout::inline v1 {

struct WriteBackMap::State : std::enable_shared_from_this<State> {
  /// The Gets that wait for one read of the store. They share the read, because separate reads
  /// would return a copy of the state each. Owner: the handler of the read.
  using Waiting = std::vector<std::pair<FetchOptions, GetHandler>>;

  State(const boost::asio::any_io_executor& executor, Store& store, WriteBackMapOptions options)
      : store(store),
        max_waiting_gets(options.engine.lane.max_pending_reads),
        values(options.cache_bytes, std::move(options.lent_bytes), std::move(options.tenants)),
        interposer(
            executor, store,
            {.serialize = [this](KeyView key,
                                 std::string& out) { return values.Serialize(key, out); },
             .on_refused = [this](KeyView key, ErrorCode) { Forget(key); },
             .on_fenced =
                 [this, &store](LaneId lane) {
                   // The keys of the other lanes stay, because their dirty values exist only
                   // in memory.
                   values.EraseIf([&](KeyView key) { return store.PartitionOf(key) == lane; });
                 },
             .on_lost = [this] { values.EraseIf([](KeyView) { return true; }); }},
            std::move(options.engine)) {}

  Result<Stamp> Change(KeyView key, std::shared_ptr<const std::string> value) {
    const Result<Stamp> stamp = interposer.MarkDirty(key, value ? value->size() : 0);
    if (stamp) values.Keep(key, {std::move(value), *stamp}, is_dirty);
    return stamp;
  }

  // Drops a value that the store refused, so that the next Get reads the store.
  void Forget(KeyView key) {
    if (!interposer.IsDirty(key)) values.Erase(key);
  }

  void Get(KeyView key, const FetchOptions& options, GetHandler handler) {
    if (values.Use(key, options) != nullptr) return GetLater(key, options, std::move(handler));
    std::weak_ptr<Waiting>& read = reads[std::string(key)];
    auto waiting = read.lock();
    if (waiting && waiting_gets >= max_waiting_gets) {
      return Fail(interposer.get_executor(), handler, Errc::kPushedBack);
    }
    const FetchOptions asked = values.ForStore(options);
    if (waiting) {
      // The read must not yield any more, because this Get does not yield.
      const bool yields = waiting->front().first.yields;
      if (yields && !asked.yields)
        interposer.Fetch(key, asked, [](ErrorCode, const StoredState&) {});
      waiting->emplace_back(options, std::move(handler));
      FetchOptions& first = waiting->front().first;
      first.ahead |= options.ahead;
      first.yields = yields && asked.yields;
      ++waiting_gets;
      return;
    }
    read = waiting = std::make_shared<Waiting>();
    waiting->emplace_back(options, std::move(handler));
    waiting->front().first.yields = asked.yields;
    interposer.Fetch(
        key, asked,
        [weak = weak_from_this(), executor = interposer.get_executor(), key = std::string(key),
         waiting](ErrorCode ec, StoredState state) {
          const auto self = weak.lock();
          if (!self && !ec) ec = Errc::kClosed;
          if (self) self->EndRead(key, waiting->size());
          Entry entry = ec ? Entry{} : self->Learn(key, waiting->front().first, std::move(state));
          // Each other handler runs in a turn of its own, because a handler may throw.
          for (std::size_t i = 1; i < waiting->size(); ++i) {
            auto& [own, other] = (*waiting)[i];
            own.counted = true;  // with the first Get
            ec ? Fail(executor, other, ec) : self->Get(key, own, std::move(other));
          }
          waiting->front().second(ec, std::move(entry));
        });
    ++waiting_gets;  // only now: if there was no memory, nothing waits
  }

  // Answers in a later turn with what memory has then, because the store may refuse the present
  // state before.
  void GetLater(KeyView key, FetchOptions options, GetHandler handler) {
    options.counted = true;
    boost::asio::post(interposer.get_executor(), [weak = weak_from_this(), key = std::string(key),
                                                  options, handler = std::move(handler)]() mutable {
      const auto self = weak.lock();
      if (!self) return handler(Errc::kClosed, {});
      if (const Entry* const known = self->values.Find(key)) return handler({}, *known);
      self->Get(key, options, std::move(handler));
    });
  }

  static void Fail(const Executor& executor, GetHandler& handler, ErrorCode ec) {
    boost::asio::post(executor, [handler = std::move(handler), ec]() mutable { handler(ec, {}); });
  }

  void EndRead(const std::string& key, std::size_t gets) {
    reads.erase(key);
    waiting_gets -= gets;
  }

  // Returns the state that was read, or a newer one that was put during the read.
  Entry Learn(const std::string& key, const FetchOptions& options, StoredState read) {
    if (const Entry* const newer = values.Find(key)) return *newer;
    Entry entry{.value = nullptr, .stamp = read.stamp};
    if (read.found) entry.value = values.MakeValue(std::move(read.value));
    values.KeepRead(key, entry, options, is_dirty);
    return entry;
  }

  void RequireStrand() const {
    internal::Require(strand.running_in_this_thread(),
                      "a WriteBackMap is used outside its strand: post the call to get_executor()");
  }

  Store& store;
  const std::size_t max_waiting_gets;  // beyond it a Get may not join a read
  std::size_t waiting_gets = 0;
  std::unordered_map<std::string, std::weak_ptr<Waiting>> reads;
  internal::ValueCache values;
  Interposer interposer;
  const std::function<bool(KeyView)> is_dirty = [this](KeyView key) {
    return interposer.IsDirty(key);
  };
  const Executor strand = interposer.get_executor();
};

WriteBackMap::WriteBackMap(const boost::asio::any_io_executor& executor, Store& store,
                           WriteBackMapOptions options)
    : state_(std::make_shared<State>(executor, store, std::move(options))) {}

WriteBackMap::~WriteBackMap() = default;

WriteBackMap::Executor WriteBackMap::get_executor() const {
  return state_->interposer.get_executor();
}

Result<Stamp> WriteBackMap::Put(KeyView key, std::string value) {
  return state_->Change(key, state_->values.MakeValue(std::move(value)));
}

Result<Stamp> WriteBackMap::Delete(KeyView key) { return state_->Change(key, nullptr); }

void WriteBackMap::Get(KeyView key, const FetchOptions& options, GetHandler handler) {
  state_->RequireStrand();
  state_->Get(key, options, std::move(handler));
}

std::optional<WriteBackMap::Entry> WriteBackMap::Peek(KeyView key, const FetchOptions& options) {
  state_->RequireStrand();
  const Entry* const known = state_->values.Use(key, options);
  return known != nullptr ? std::optional(*known) : std::nullopt;
}

bool WriteBackMap::Holds(KeyView key) const {
  state_->RequireStrand();
  return state_->values.Find(key) != nullptr;
}

void WriteBackMap::Prefetch(std::span<const KeyView> keys) const {
  state_->RequireStrand();
  state_->values.Prefetch(keys);
}

bool WriteBackMap::HasReplyRoom() const { return state_->interposer.HasReplyRoom(); }

// All changes that were answered are durable at the one store.
void WriteBackMap::Count(std::uint32_t, Duration, CountHandler handler) {
  boost::asio::post(get_executor(), [handler = std::move(handler)]() mutable { handler({}, 1); });
}

void WriteBackMap::Flush(Reply done) { state_->interposer.Flush(std::move(done)); }
void WriteBackMap::Drain(Reply done) { state_->interposer.Drain(std::move(done)); }
void WriteBackMap::Close() { state_->interposer.Close(); }
void WriteBackMap::Fence() { state_->interposer.Fence(); }

bool WriteBackMap::IsDirty(KeyView key) const { return state_->interposer.IsDirty(key); }

std::vector<MemberStats> WriteBackMap::Members() const {
  return {MemberStats{.datalet = {}, .engine = state_->interposer.Stats()}};
}

UniqueFunction<void()> WriteBackMap::WithdrawableReply(std::span<const KeyView> keys, Reply reply,
                                                       const AnswerLevel&) {
  return state_->interposer.WithdrawableReply(keys, std::move(reply));
}

// The store has all changes that were answered.
void WriteBackMap::ScanStore(std::string cursor, std::size_t limit, Store::ScanHandler handler) {
  state_->RequireStrand();
  auto answer = [strand = state_->strand, work = internal::Working(state_->strand),
                 handler = std::move(handler)](ScanResult page) mutable {
    boost::asio::post(strand, [handler = std::move(handler), page = std::move(page)]() mutable {
      handler(std::move(page));
    });
  };
  if (!state_->store.traits().ordered) return answer({Errc::kRefused, {}, {}});
  state_->store.Scan({.cursor = std::move(cursor), .limit = limit}, std::move(answer));
}

bool WriteBackMap::Renew(ScannedKey& key) const {
  const Entry* const known = state_->values.Find(key.key);
  if (known != nullptr) key.state = known->stored();
  return true;
}

Interposer& WriteBackMap::interposer() { return state_->interposer; }

std::shared_ptr<const std::string> WriteBackMap::Lend(std::string value) {
  return state_->values.MakeValue(std::move(value));
}

std::size_t WriteBackMap::cached_bytes() const { return state_->values.bytes(); }

std::size_t WriteBackMap::lent_bytes() const { return state_->values.lent(); }

std::vector<TenantStats> WriteBackMap::CachedByTenant() const { return state_->values.ByTenant(); }

}  // namespace stout::inline v1
