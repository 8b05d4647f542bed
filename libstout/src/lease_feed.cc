#include "stout/lease_feed.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace stout::inline v1 {
namespace asio = boost::asio;
using namespace internal;

class LeaseFeed::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(const asio::any_io_executor& executor) : strand_(asio::make_strand(executor)) {}

  void Publish(LeaseTable table) {
    const std::lock_guard lock(mutex_);
    if (table_ == table) return;
    table_ = std::move(table);
    ++version_;
    Schedule();
  }

  LeaseService::Watch Watch(LeaseService::TableHandler handler) {
    auto watcher = std::make_shared<Watcher>(Watcher{std::move(handler)});
    const std::lock_guard lock(mutex_);
    std::erase_if(watchers_, [](const auto& weak) { return weak.expired(); });
    watchers_.push_back(watcher);
    Schedule();
    return watcher;
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    watchers_.clear();
  }

 private:
  struct Watcher {
    LeaseService::TableHandler handler;
    std::uint64_t seen = 0;  // On the strand.
  };

  void Schedule() {
    if (!table_ || std::exchange(scheduled_, true)) return;
    asio::post(strand_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Deliver();
    });
  }

  void Deliver() {
    std::unique_lock lock(mutex_);
    scheduled_ = false;
    const LeaseTable table = *table_;
    const std::uint64_t version = version_;
    const std::vector<std::weak_ptr<Watcher>> watchers = watchers_;
    lock.unlock();
    for (const auto& weak : watchers) {
      const std::shared_ptr<Watcher> watcher = weak.lock();
      if (watcher != nullptr && std::exchange(watcher->seen, version) != version) {
        watcher->handler(table);
      }
    }
  }

  const asio::strand<asio::any_io_executor> strand_;
  std::mutex mutex_;
  std::optional<LeaseTable> table_;
  std::uint64_t version_ = 0;  // version of table_
  bool scheduled_ = false;     // Deliver() will run.
  std::vector<std::weak_ptr<Watcher>> watchers_;
};

LeaseFeed::LeaseFeed(const asio::any_io_executor& executor)
    : state_(std::make_shared<State>(executor)) {}

LeaseFeed::~LeaseFeed() { state_->Close(); }

void LeaseFeed::Publish(LeaseTable table) { state_->Publish(std::move(table)); }

LeaseService::Watch LeaseFeed::Watch(LeaseService::TableHandler handler) {
  return state_->Watch(std::move(handler));
}

}  // namespace stout::inline v1
