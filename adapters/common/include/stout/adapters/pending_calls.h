#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <mutex>
#include <utility>

#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout {

/// Is set once a store may have lost what it acknowledged, and stays so. Shared by the store's
/// connections, which detect it, and its calls.
using LossFlag = std::atomic<bool>;

/// One call of a store, which waits for its answer. The first answer counts, others find no handler
/// any more.
///
/// Threads: any. Answer() returns when the handler has returned, also if another thread's answer
/// came first: after it nothing of the call runs.
template <typename T>
class PendingCall;

/// The calls of a store that wait for answers from elsewhere. Close() answers all that are left,
/// even if a connection or an executor still refers to them:
///
///     auto call = pending_.Add<WriteResult>(std::move(handler), {Errc::kUnknown, {}});
///     ... call->Answer(std::move(result));   // later, on any thread
///     pending_.Close();                      // in the store's destructor
///
/// Threads: any. A handler may make new calls; it must not destroy the store.
class PendingCalls {
 public:
  class Call {
   public:
    virtual ~Call() = default;
    virtual void AnswerAtClose() = 0;
  };

  /// Once `lost` is set, the answer of every call is kLost instead of the answer that it is given.
  /// Null: that never happens.
  explicit PendingCalls(std::shared_ptr<const LossFlag> lost = nullptr)
      : open_(std::make_shared<Open>(std::move(lost))) {}
  PendingCalls(const PendingCalls&) = delete;
  PendingCalls& operator=(const PendingCalls&) = delete;
  ~PendingCalls() { Close(); }

  /// `at_close` is the answer of a call that has none when the store goes.
  template <typename T>
  std::shared_ptr<PendingCall<T>> Add(UniqueFunction<void(T)> handler, T at_close) {
    auto call = std::make_shared<PendingCall<T>>(std::move(handler), std::move(at_close), open_);
    const std::lock_guard lock(open_->mutex);
    open_->calls.emplace(call.get(), call);
    return call;
  }
  /// The handler takes the error, and the result apart: T() after an error.
  template <typename T>
  std::shared_ptr<PendingCall<Result<T>>> AddResult(UniqueFunction<void(ErrorCode, T)> handler,
                                                    Errc at_close) {
    return Add<Result<T>>(
        [handler = std::move(handler)](Result<T> result) mutable {
          handler(result ? ErrorCode() : result.error(), result ? *std::move(result) : T());
        },
        at_close);
  }
  /// The handler takes an error alone.
  std::shared_ptr<PendingCall<Errc>> AddErrc(UniqueFunction<void(ErrorCode)> handler,
                                             Errc at_close) {
    return Add<Errc>([handler = std::move(handler)](
                         Errc errc) mutable { handler(errc == Errc::kOk ? ErrorCode() : errc); },
                     at_close);
  }

  /// Answers what is left, and what the handlers of that call anew.
  void Close() {
    while (true) {
      boost::unordered_flat_map<const Call*, std::shared_ptr<Call>> left;
      {
        const std::lock_guard lock(open_->mutex);
        left.swap(open_->calls);
      }
      if (left.empty()) return;
      for (const auto& [address, call] : left) call->AnswerAtClose();
    }
  }

 private:
  template <typename T>
  friend class PendingCall;

  struct Open {
    explicit Open(std::shared_ptr<const LossFlag> loss) : lost(std::move(loss)) {}
    [[nodiscard]] bool IsLost() const { return lost != nullptr && *lost; }
    void Remove(const Call* call) {
      const std::lock_guard lock(mutex);
      calls.erase(call);
    }
    const std::shared_ptr<const LossFlag> lost;
    std::mutex mutex;
    boost::unordered_flat_map<const Call*, std::shared_ptr<Call>> calls;
  };

  std::shared_ptr<Open> open_;  // Also of calls that outlive the store.
};

template <typename T>
class PendingCall final : public PendingCalls::Call {
 public:
  PendingCall(UniqueFunction<void(T)> handler, T at_close, std::shared_ptr<PendingCalls::Open> open)
      : handler_(std::move(handler)), at_close_(std::move(at_close)), open_(std::move(open)) {}

  void Answer(T result) {
    if (open_->IsLost()) SetLost(result);
    Run(std::move(result));
    open_->Remove(this);
  }
  /// Answers a call that need not be sent any more. Returns false if the store is not lost.
  [[nodiscard]] bool AnswerIfLost() {
    if (!open_->IsLost()) return false;
    Answer(at_close_);
    return true;
  }
  void AnswerAtClose() override { Run(std::move(at_close_)); }

 private:
  static void SetLost(T& result) {
    if constexpr (requires { result = Errc::kLost; }) {
      result = Errc::kLost;
    } else {
      result = T();
      if constexpr (requires { result.batch = Errc::kLost; }) result.batch = Errc::kLost;
      if constexpr (requires { result.errc = Errc::kLost; }) result.errc = Errc::kLost;
    }
  }

  void Run(T result) {
    const std::lock_guard lock(mutex_);
    if (!handler_) return;
    UniqueFunction<void(T)> handler = std::move(handler_);
    handler(std::move(result));
  }

  std::mutex mutex_;
  UniqueFunction<void(T)> handler_;
  T at_close_;
  std::shared_ptr<PendingCalls::Open> open_;
};

}  // namespace stout
