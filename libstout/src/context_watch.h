#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <list>
#include <memory>

namespace stout::internal {

/// An object that keeps callers' handlers until they run.
///
/// A handler's captures may own the object that keeps it. This cycle ends when the handler runs, or
/// with Forget, when it can no longer run.
class HandlerKeeper {
 public:
  /// Destroys the kept handlers without running them.
  virtual void Forget() noexcept = 0;

 protected:
  ~HandlerKeeper() = default;
};

/// Calls HandlerKeeper::Forget when the executor's context is destroyed, on the thread that
/// destroys it. Asio's own I/O objects do the same through a service of the context.
///
/// Owner: the keeper. The watch does not extend the keeper's life.
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

  const std::shared_ptr<List> list_;  // shared with the context
  const std::list<std::weak_ptr<HandlerKeeper>>::iterator place_;
};

}  // namespace stout::internal
