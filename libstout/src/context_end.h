#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

namespace stout {

/// What keeps handlers of others until their time comes.
///
/// Such a handler may own, through whatever it captured, the object that keeps it: a cycle, which
/// ends when the handler is run, or can never be run any more.
class KeepsHandlers {
 public:
  /// Destroys the handlers that are kept, unrun. Called when the context of their executor is
  /// destroyed, by the thread that does so.
  virtual void Forget() noexcept = 0;

 protected:
  ~KeepsHandlers() = default;
};

/// From now on `keeper` forgets its handlers when the context of `executor` is destroyed: as Asio's
/// own I/O objects do, by a service of the context.
///
/// Owner: the registration ends with the keeper, or with the result, whichever comes first.
/// Threads: any; the result may be destroyed by any, even after the context.
[[nodiscard]] std::shared_ptr<void> ForgetAtEndOf(const boost::asio::any_io_executor& executor,
                                                  const std::shared_ptr<KeepsHandlers>& keeper);

}  // namespace stout
