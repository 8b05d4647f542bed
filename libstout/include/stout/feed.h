#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "stout/unique_function.h"

namespace stout::inline v1 {

/// Hands the newest table to its watchers. Lease services and registries are built on it.
///
/// Handlers run on the executor, one at a time, and never inside a call of the feed. If a table is
/// replaced before a watcher got it, the watcher does not get it.
/// Owner: the executor's context must outlive it.   Threads: any.
template <typename Table>
class Feed {
 public:
  using Handler = UniqueFunction<void(Table)>;

  explicit Feed(const boost::asio::any_io_executor& executor)
      : state_(std::make_shared<State>(executor)) {}
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  /// Calls no handler any more. A handler that is running may still end.
  ~Feed() { state_->Close(); }

  /// Hands out `table`, unless it equals the table that was published last.
  void Publish(Table table) { state_->Publish(std::move(table)); }
  /// Adds a watcher. Drop the result to remove it.
  [[nodiscard]] std::shared_ptr<void> Watch(Handler handler) {
    return state_->Watch(std::move(handler));
  }

 private:
  class State : public std::enable_shared_from_this<State> {
   public:
    explicit State(const boost::asio::any_io_executor& executor)
        : strand_(boost::asio::make_strand(executor)) {}

    void Publish(Table table) {
      const std::lock_guard lock(mutex_);
      if (table_ == table) return;
      table_ = std::move(table);
      ++version_;
      Schedule();
    }

    std::shared_ptr<void> Watch(Handler handler) {
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
      Handler handler;
      std::uint64_t seen = 0;  // on the strand
    };

    void Schedule() {
      if (!table_ || std::exchange(scheduled_, true)) return;
      boost::asio::post(strand_, [weak = this->weak_from_this()] {
        if (const auto self = weak.lock()) self->Deliver();
      });
    }

    void Deliver() {
      std::unique_lock lock(mutex_);
      scheduled_ = false;
      const Table table = *table_;
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

    const boost::asio::strand<boost::asio::any_io_executor> strand_;
    std::mutex mutex_;
    std::optional<Table> table_;
    std::uint64_t version_ = 0;  // of table_
    bool scheduled_ = false;     // Deliver() will run
    std::vector<std::weak_ptr<Watcher>> watchers_;
  };

  std::shared_ptr<State> state_;
};

}  // namespace stout::inline v1
