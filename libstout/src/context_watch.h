#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <list>
#include <memory>

namespace stout::internal {

/// Keeps the handlers of callers until they run.
///
/// A handler may own, through its captures, the object that keeps it. That cycle ends when the
/// handler runs, or when it can never run.
class HandlerKeeper {
 public:
  /// Destroys the handlers that are kept, unrun.
  virtual void Forget() noexcept = 0;

 protected:
  ~HandlerKeeper() = default;
};

/// Lets a keeper forget its handlers when the context of their executor is destroyed, on the thread
/// that destroys it. Asio's own I/O objects do the same through a service of the context.
///
/// Owner: the keeper itself. The watch does not extend its life.
/// Threads: any. It may be destroyed after the context.
class ContextWatch {
 public:
  ContextWatch(const boost::asio::any_io_executor& executor, std::weak_ptr<HandlerKeeper> keeper);
  ContextWatch(const ContextWatch&) = delete;
  ContextWatch& operator=(const ContextWatch&) = delete;
  ~ContextWatch();

 private:
  class Service;
  class List;

  const std::shared_ptr<List> list_;  // Shared with the context.
  const std::list<std::weak_ptr<HandlerKeeper>>::iterator place_;
};

}  // namespace stout::internal
