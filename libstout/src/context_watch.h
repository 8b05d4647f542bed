#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <list>
#include <memory>

namespace stout::internal {

/// Keeps handlers of others until their time comes.
///
/// Such a handler may own, through whatever it captured, the object that keeps it: a cycle, which
/// ends when the handler is run, or can never be run any more.
class HandlerKeeper {
 public:
  /// Destroys the handlers that are kept, unrun.
  virtual void Forget() noexcept = 0;

 protected:
  ~HandlerKeeper() = default;
};

/// Lets a keeper forget its handlers when the context of their executor is destroyed, by the thread
/// that does so: as Asio's own I/O objects do, by a service of the context.
///
/// Owner: the keeper itself; it does not live longer for being watched.
/// Threads: any; and it may be destroyed after the context.
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
