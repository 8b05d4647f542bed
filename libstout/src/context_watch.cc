#include "context_watch.h"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>
#include <mutex>
#include <utility>

namespace stout::internal {
namespace asio = boost::asio;

/// The keepers of a context. It may outlive the context, because watches may.
class ContextWatch::List {
 public:
  auto Add(std::weak_ptr<HandlerKeeper> keeper) {
    const std::scoped_lock lock(mutex_);
    return keepers_.insert(keepers_.end(), std::move(keeper));
  }

  void Remove(std::list<std::weak_ptr<HandlerKeeper>>::iterator place) {
    const std::scoped_lock lock(mutex_);
    if (!ended_) keepers_.erase(place);
  }

  void End() {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    for (const auto& weak : keepers_) {  // handlers that are destroyed may end other watches
      if (const auto keeper = weak.lock()) keeper->Forget();
    }
  }

 private:
  std::mutex mutex_;
  std::list<std::weak_ptr<HandlerKeeper>> keepers_;
  bool ended_ = false;  // End() iterates over keepers_ then, so no element is erased
};

class ContextWatch::Service final : public asio::execution_context::service {
 public:
  using key_type = Service;
  static inline asio::execution_context::id id;

  explicit Service(asio::execution_context& context) : service(context) {}

  static std::shared_ptr<List> ListOf(const asio::any_io_executor& executor) {
    return asio::use_service<Service>(asio::query(executor, asio::execution::context)).list_;
  }

 private:
  void shutdown() override { list_->End(); }

  const std::shared_ptr<List> list_ = std::make_shared<List>();
};

ContextWatch::ContextWatch(const asio::any_io_executor& executor,
                           std::weak_ptr<HandlerKeeper> keeper)
    : list_(Service::ListOf(executor)), place_(list_->Add(std::move(keeper))) {}

ContextWatch::~ContextWatch() { list_->Remove(place_); }

}  // namespace stout::internal
