#include "stout/adapters/memory_store.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "memory_table.h"
#include "stout/adapters/delay_queue.h"
#include "stout/adapters/scan_page.h"

namespace stout {

// The latency model: when is a call that arrives now done?
class MemoryStore::Server {
 public:
  Server(const boost::asio::any_io_executor& executor, const LatencyModel& model)
      : model_(model),
        random_(model.seed),
        free_at_(std::max<std::size_t>(model.workers, 1)),
        queue_(executor) {}

  // Runs `call(true)` when a call of this size has been served, or `call(false)` now: the queue is
  // full.
  template <typename Call>
  void Serve(std::size_t items, Call call) {
    const std::optional<Clock::time_point> due = Admit(items);
    if (!due) return call(false);
    queue_.Schedule(*due, [this, call = std::move(call)]() mutable {
      Leave();
      call(true);
    });
  }

  // Calls waiting or served.
  [[nodiscard]] std::size_t inside() {
    const std::lock_guard lock(mutex_);
    return inside_;
  }

 private:
  using Clock = DelayQueue::Clock;

  // When the call will be done, or nothing if the queue is full.
  std::optional<Clock::time_point> Admit(std::size_t items) {
    const std::lock_guard lock(mutex_);
    if (inside_ >= model_.max_queue) return std::nullopt;
    ++inside_;
    // free_at_ is a heap with the worker in front that is free first.
    std::pop_heap(free_at_.begin(), free_at_.end(), std::greater<>());
    free_at_.back() = std::max(Clock::now(), free_at_.back()) + ServiceTime(items);
    const Clock::time_point due = free_at_.back();
    std::push_heap(free_at_.begin(), free_at_.end(), std::greater<>());
    return due;
  }

  void Leave() {
    const std::lock_guard lock(mutex_);
    --inside_;
  }

  Duration ServiceTime(std::size_t items) {
    const double uniform = static_cast<double>(random_() >> 11) * 0x1.0p-53;  // [0, 1)
    const double mean = static_cast<double>(model_.latency.count()) +
                        static_cast<double>(model_.per_item.count()) * static_cast<double>(items);
    return Duration(static_cast<Duration::rep>(mean * (1 + model_.jitter * (2 * uniform - 1))));
  }

  const LatencyModel model_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::vector<Clock::time_point> free_at_;
  std::size_t inside_ = 0;  // Calls waiting or served.
  DelayQueue queue_;        // Last: its destructor runs what waits, which uses the members above.
};

MemoryStore::MemoryStore(const boost::asio::any_io_executor& executor, MemoryOptions options)
    : traits_{.name = "memory",
              .atomic_batches = true,
              .compares_stamps = true,
              .fences = true,
              .scans = true,
              .ordered = true,
              .detects_loss = true,
              .tombstone_ttl = options.tombstone_ttl},
      table_(std::make_unique<Table>(options.tombstone_ttl)),
      server_(options.latency.immediate() ? nullptr
                                          : std::make_unique<Server>(executor, options.latency)) {}

MemoryStore::~MemoryStore() = default;

const StoreTraits& MemoryStore::traits() const { return traits_; }

template <typename Call>
void MemoryStore::Serve(std::size_t items, Call call) {
  if (server_ == nullptr) return call(true);
  server_->Serve(items, std::move(call));
}

void MemoryStore::Write(const WriteBatch& batch, WriteHandler handler) {
  Serve(batch.items.size(), [this, &batch, handler = std::move(handler)](bool served) mutable {
    handler(served ? table_->Write(batch) : WriteResult{Errc::kTransient, {}});
  });
}

void MemoryStore::Read(const ReadBatch& batch, ReadHandler handler) {
  Serve(batch.keys.size(), [this, &batch, handler = std::move(handler)](bool served) mutable {
    ReadResult result = served ? table_->Read(batch) : ReadResult{Errc::kTransient, {}};
    if (server_ != nullptr) result.queue = server_->inside();
    handler(std::move(result));
  });
}

void MemoryStore::NewEpoch(EpochHandler handler) {
  Serve(0, [this, handler = std::move(handler)](bool served) mutable {
    if (served) {
      handler(ErrorCode(), table_->NewEpoch());
    } else {
      handler(Errc::kTransient, 0);
    }
  });
}

void MemoryStore::Fence(const Scope& scope, Epoch epoch, FenceHandler handler) {
  Serve(0, [this, scope, epoch, handler = std::move(handler)](bool served) mutable {
    handler(served ? table_->Fence(scope, epoch) : Errc::kTransient);
  });
}

void MemoryStore::Scan(const ScanRequest& request, ScanHandler handler) {
  if (!ScanPage::FirstKey(request)) return handler({Errc::kRefused, {}, {}});
  // How many keys there are shows only when it is served. It takes the time of one item.
  Serve(1, [this, request, handler = std::move(handler)](bool served) mutable {
    handler(served ? table_->Scan(request) : ScanResult{Errc::kTransient, {}, {}});
  });
}

Result<std::unique_ptr<Store>> MemoryStore::OpenUrl(const StoreUrl& url,
                                                    const boost::asio::any_io_executor& executor,
                                                    Diagnostics* diagnostics) {
  MemoryOptions options;
  std::size_t seed = options.latency.seed;
  UrlOptionReader reader(url);
  reader.Duration("latency", options.latency.latency);
  reader.Duration("per_item", options.latency.per_item);
  reader.Count("workers", options.latency.workers, 1, 65536);
  reader.Number("jitter", options.latency.jitter, 0, 1);
  reader.Count("seed", seed, 0, std::numeric_limits<std::size_t>::max());
  reader.Count("max_queue", options.latency.max_queue, 1, std::size_t{1} << 30);
  reader.Duration("tombstone_ttl", options.tombstone_ttl);
  options.latency.seed = seed;
  std::optional<std::string> error = reader.Finish();
  if (!error && (!url.authority.empty() || !url.path.empty())) {
    error = "memory: takes no host and no path";
  }
  if (error) return BadUrl(*error, kUrlSyntax, diagnostics);
  return std::make_unique<MemoryStore>(executor, options);
}

}  // namespace stout
