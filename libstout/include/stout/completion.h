#pragma once

#include <atomic>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "stout/unique_function.h"

namespace stout::internal {

/// Runs a function once both Set and Want have been called, on the thread of the later call. Each
/// may be called once.
class WantedFunction {
 public:
  void Set(UniqueFunction<void()> function) {
    function_ = std::move(function);
    Arrive();
  }
  void Want() { Arrive(); }

 private:
  void Arrive() {
    if (!arrived_.exchange(true, std::memory_order_acq_rel)) return;
    if (auto function = std::exchange(function_, {})) function();
  }

  UniqueFunction<void()> function_;
  std::atomic<bool> arrived_ = false;
};

/// The handler of a call that is under way, in memory from the handler's allocator.
template <typename Handler, typename Executor>
class PendingHandler {
 public:
  PendingHandler(Handler handler, Executor executor) {
    auto allocator = AllocatorOf(handler);
    call_ = Traits::allocate(allocator, 1);
    ::new (static_cast<void*>(call_)) Call{std::move(handler), std::move(executor)};  // no throw
  }
  PendingHandler(PendingHandler&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
  PendingHandler& operator=(PendingHandler&&) = delete;
  ~PendingHandler() {
    if (call_ != nullptr) (void)Take();
  }

  /// Posts the handler with these arguments, unless it was posted before. The memory is freed
  /// before the handler runs, as Asio requires.
  template <typename... Args>
  void Post(Args... args) {
    if (call_ == nullptr) return;
    Call call = Take();
    boost::asio::post(call.executor,
                      boost::asio::append(std::move(call.handler), std::move(args)...));
  }

  /// As Post, and clears the handler's cancellation slot before the handler runs.
  template <typename... Args>
  void ClearSlotAndPost(Args... args) {
    Call call = Take();
    const auto allocator = boost::asio::get_associated_allocator(call.handler);
    auto clear_and_run = [handler = std::move(call.handler),
                          args = std::tuple<Args...>(std::move(args)...)]() mutable {
      auto slot = boost::asio::get_associated_cancellation_slot(handler);
      slot.clear();
      std::apply(std::move(handler), std::move(args));
    };
    boost::asio::post(call.executor,
                      boost::asio::bind_allocator(allocator, std::move(clear_and_run)));
  }

 private:
  struct Call {
    Handler handler;
    Executor executor;
  };
  using Allocator = typename std::allocator_traits<
      boost::asio::associated_allocator_t<Handler>>::template rebind_alloc<Call>;
  using Traits = std::allocator_traits<Allocator>;

  static Allocator AllocatorOf(const Handler& handler) {
    return Allocator(boost::asio::get_associated_allocator(handler));
  }
  Call Take() {
    auto allocator = AllocatorOf(call_->handler);
    Call call(std::move(*call_));
    call_->~Call();
    Traits::deallocate(allocator, std::exchange(call_, nullptr), 1);
    return call;
  }

  Call* call_;
};

/// A call that is either completed or cancelled: the first of the two claims its handler.
///
/// Owner: shared by the work. The cancellation slot refers to it weakly, because the handler may
/// own the slot.
template <typename Pending, typename... Args>
class CancellableCall {
 public:
  explicit CancellableCall(Pending pending) : pending_(std::move(pending)) {}

  void Complete(Args... args) {
    if (Claim()) pending_.ClearSlotAndPost(std::move(args)...);
  }
  void Cancel() {
    if (!Claim()) return;
    Finish(boost::asio::error::operation_aborted, Args()...);
    withdraw_.Want();
  }
  void SetWithdraw(UniqueFunction<void()> withdraw) { withdraw_.Set(std::move(withdraw)); }

 private:
  bool Claim() { return !claimed_.exchange(true, std::memory_order_acq_rel); }
  template <typename First, typename... Rest>
  void Finish(const boost::system::error_code& aborted, First, Rest... rest) {
    pending_.ClearSlotAndPost(aborted, std::move(rest)...);
  }

  Pending pending_;
  std::atomic<bool> claimed_ = false;
  WantedFunction withdraw_;
};

/// Begins a call. It can be cancelled only if its signature begins with an error code.
template <typename Signature>
struct Completion;
template <typename... Args>
struct Completion<void(Args...)> {
  static constexpr bool kCancellable =
      std::is_same_v<std::tuple_element_t<0, std::tuple<Args..., void>>, boost::system::error_code>;

  template <typename Pending, typename Start>
  static void Begin(Pending pending, Start& start) {
    (void)start(UniqueFunction<void(Args...)>([pending = std::move(pending)](Args... args) mutable {
      pending.Post(std::move(args)...);
    }));
  }

  template <typename Pending, typename Slot, typename Start>
  static void BeginCancellable(Pending pending, Slot slot, Start& start) {
    using Call = CancellableCall<Pending, Args...>;
    const auto call =
        std::allocate_shared<Call>(boost::asio::recycling_allocator<Call>(), std::move(pending));
    slot.assign([weak = std::weak_ptr(call)](boost::asio::cancellation_type type) {
      using enum boost::asio::cancellation_type;
      if ((type & (terminal | partial)) == none) return;
      if (const auto live = weak.lock()) live->Cancel();
    });
    UniqueFunction<void(Args...)> complete(
        [call](Args... args) { call->Complete(std::move(args)...); });
    if constexpr (std::is_void_v<std::invoke_result_t<Start&, UniqueFunction<void(Args...)>>>) {
      start(std::move(complete));
    } else {
      call->SetWithdraw(start(std::move(complete)));
    }
  }
};

}  // namespace stout::internal

namespace stout::inline v1 {

/// Turns a call that takes a UniqueFunction into one that takes an Asio completion token.
///
/// `start(UniqueFunction<Signature>)` begins the work and calls the function once, on any thread.
/// Initiate then posts the token's handler to its associated executor (`fallback` if it has none).
/// The handler is never called directly. run() of that executor does not return before. Memory
/// comes from the handler's associated allocator.
///
/// Cancellation requires a signature that begins with an ErrorCode, and a handler with a
/// cancellation slot. `terminal` and `partial` then complete the call at once with
/// asio::error::operation_aborted and default values, and release the handler. `total` alone is
/// ignored, because the work may go on: a flush still flushes, a store still writes. `start` may
/// return a function that withdraws the call. It runs at most once, after a cancellation, on any
/// thread.
template <typename Signature, typename Start, typename Executor, typename Token>
auto Initiate(Start start, const Executor& fallback, Token&& token) {
  namespace asio = boost::asio;
  return asio::async_initiate<Token, Signature>(
      [](auto handler, Start begin, const Executor& default_executor) {
        using Completion = internal::Completion<Signature>;
        auto executor = asio::prefer(asio::get_associated_executor(handler, default_executor),
                                     asio::execution::outstanding_work.tracked);
        [[maybe_unused]] const auto slot = asio::get_associated_cancellation_slot(handler);
        internal::PendingHandler pending(std::move(handler), std::move(executor));
        if constexpr (Completion::kCancellable) {
          if (slot.is_connected()) {
            return Completion::BeginCancellable(std::move(pending), slot, begin);
          }
        }
        Completion::Begin(std::move(pending), begin);
      },
      token, std::move(start), fallback);
}

template <typename Signature, typename Start, typename Token>
auto Initiate(Start start, Token&& token) {
  return Initiate<Signature>(std::move(start), boost::asio::system_executor(),
                             std::forward<Token>(token));
}

}  // namespace stout::inline v1
