#include "context_end.h"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>
#include <list>
#include <mutex>
#include <utility>

namespace stout {
namespace asio = boost::asio;

namespace {

/// The keepers of a context. It may outlive the context, for registrations do.
class Keepers {
 public:
  using Place = std::list<std::weak_ptr<KeepsHandlers>>::iterator;

  Place Add(std::weak_ptr<KeepsHandlers> keeper) {
    const std::scoped_lock lock(mutex_);
    return keepers_.insert(keepers_.end(), std::move(keeper));
  }

  void Remove(Place place) {
    const std::scoped_lock lock(mutex_);
    if (!ended_) keepers_.erase(place);
  }

  void ForgetAll() {
    std::list<std::weak_ptr<KeepsHandlers>> keepers;
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
      keepers.swap(keepers_);
    }
    for (const auto& weak : keepers) {
      if (const auto keeper = weak.lock()) keeper->Forget();
    }
  }

 private:
  std::mutex mutex_;
  std::list<std::weak_ptr<KeepsHandlers>> keepers_;
  bool ended_ = false;  // and the places with it
};

class ContextEnd final : public asio::execution_context::service {
 public:
  using key_type = ContextEnd;
  static inline asio::execution_context::id id;

  explicit ContextEnd(asio::execution_context& context) : service(context) {}

  const std::shared_ptr<Keepers>& keepers() const { return keepers_; }

 private:
  void shutdown() override { keepers_->ForgetAll(); }

  const std::shared_ptr<Keepers> keepers_ = std::make_shared<Keepers>();
};

}  // namespace

std::shared_ptr<void> ForgetAtEndOf(const asio::any_io_executor& executor,
                                    const std::shared_ptr<KeepsHandlers>& keeper) {
  struct Registration {
    Registration(std::shared_ptr<Keepers> keepers, std::weak_ptr<KeepsHandlers> keeper)
        : keepers(std::move(keepers)), place(this->keepers->Add(std::move(keeper))) {}
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() { keepers->Remove(place); }

    const std::shared_ptr<Keepers> keepers;
    const Keepers::Place place;
  };
  auto& context = asio::query(executor, asio::execution::context);
  return std::make_shared<Registration>(asio::use_service<ContextEnd>(context).keepers(), keeper);
}

}  // namespace stout
