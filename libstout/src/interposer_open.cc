#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "interposer_impl.h"

// How an interposer opens: with an epoch of the store, or as the owner of a scope.

namespace stout::inline v1 {
namespace asio = boost::asio;
using namespace internal;

void Interposer::Impl::Open(Reply done) {
  asio::dispatch(strand_, [self = shared_from_this(), done = std::move(done)]() mutable {
    const std::optional<std::uint64_t> attempt = self->BeginOpen({}, std::move(done));
    if (!attempt) return;
    self->store().NewEpoch(
        [self, attempt = *attempt, work = self->Working()](ErrorCode ec, Epoch epoch) mutable {
          PostOpened(std::move(self), attempt, ec, epoch);
        });
  });
}

void Interposer::Impl::OpenOwned(Scope scope, Epoch epoch, Reply done) {
  asio::dispatch(strand_, [self = shared_from_this(), scope = std::move(scope), epoch,
                           done = std::move(done)]() mutable {
    if (scope.empty()) return self->Later(std::move(done), Errc::kBadOptions);
    const std::optional<std::uint64_t> attempt = self->BeginOpen({scope, epoch}, std::move(done));
    if (!attempt) return;
    if (!self->store().traits().fences) return self->Opened(*attempt, {}, epoch);
    self->store().Fence(
        scope, epoch,
        [self, attempt = *attempt, epoch, work = self->Working()](ErrorCode ec) mutable {
          PostOpened(std::move(self), attempt, ec, epoch);
        });
  });
}

void Interposer::Impl::OpenScope(Scope scope, Reply done) {
  asio::dispatch(strand_, [self = shared_from_this(), scope = std::move(scope),
                           done = std::move(done)]() mutable {
    if (scope.empty()) return self->Later(std::move(done), Errc::kBadOptions);
    const std::optional<std::uint64_t> attempt =
        self->BeginOpen({std::move(scope)}, std::move(done));
    if (!attempt) return;
    self->store().NewEpoch(
        [self, attempt = *attempt, work = self->Working()](ErrorCode ec, Epoch epoch) mutable {
          if (!self) return;  // a second answer
          Impl& impl = *self;
          asio::post(impl.strand_, [self = std::move(self), attempt, ec, epoch] {
            ec ? self->Opened(attempt, ec, epoch) : self->FenceScope(attempt, epoch);
          });
        });
  });
}

ErrorCode Interposer::Impl::OpenWithEpoch(Epoch epoch) {
  if (!opens_.empty() && !ownership_.scope.empty()) return Errc::kBadOptions;
  if (!engine_) ownership_ = {};
  return Start(epoch);
}

ErrorCode Interposer::Impl::Start(Epoch epoch) {
  if (trouble_) return Errc::kBadOptions;
  if (closed_ != Errc::kOk) return closed_;
  if (!engine_) {
    last_read_ = last_write_ = Now();
    engine_ = std::make_unique<Engine>(options_, store().traits().partitions, epoch);
    EndOpens({});
  }
  return epoch == engine_->epoch() ? ErrorCode() : Errc::kBadOptions;
}

ErrorCode Interposer::Impl::OpenFenced(Scope scope, Epoch epoch) {
  Ownership ownership{std::move(scope), epoch};
  if (!engine_ && opens_.empty()) {
    ownership_ = std::move(ownership);
  } else if (closed_ == Errc::kOk && ownership != ownership_) {
    return Errc::kBadOptions;
  }
  return Start(epoch);
}

std::optional<std::uint64_t> Interposer::Impl::BeginOpen(Ownership ownership, Reply done) {
  std::optional<ErrorCode> known;
  if (trouble_) {
    known = Errc::kBadOptions;
  } else if (closed_ != Errc::kOk) {
    known = closed_;
  } else if ((engine_ || !opens_.empty()) && ownership != ownership_) {
    known = Errc::kBadOptions;
  } else if (engine_) {
    known = ErrorCode();
  }
  if (known) {
    Later(std::move(done), *known);
    return std::nullopt;
  }
  opens_.push_back(std::move(done));
  if (opens_.size() > 1) return std::nullopt;
  ownership_ = std::move(ownership);
  open_by_ = SaturatingAdd(Now(), options_.lane.attempt_timeout);
  Arm(open_by_);
  return ++open_attempt_;
}

void Interposer::Impl::FenceScope(std::uint64_t attempt, Epoch epoch) {
  if (opens_.empty() || attempt != open_attempt_) return;
  if (!store().traits().fences) return Opened(attempt, {}, epoch);
  store().Fence(ownership_.scope, epoch,
                [self = shared_from_this(), attempt, epoch, work = Working()](
                    ErrorCode ec) mutable { PostOpened(std::move(self), attempt, ec, epoch); });
}

void Interposer::Impl::PostOpened(std::shared_ptr<Impl> self, std::uint64_t attempt, ErrorCode ec,
                                  Epoch epoch) {
  if (!self) return;  // a second answer
  Impl& impl = *self;
  asio::post(impl.strand_,
             [self = std::move(self), attempt, ec, epoch] { self->Opened(attempt, ec, epoch); });
}

void Interposer::Impl::Opened(std::uint64_t attempt, ErrorCode ec, Epoch epoch) {
  // The answer may be too late: a later attempt may ask for another scope or epoch.
  if (opens_.empty() || attempt != open_attempt_) return;
  EndOpens(ec ? ec : Start(epoch));
}

void Interposer::Impl::EndOpens(ErrorCode ec) {
  open_by_ = kNever;
  for (Reply& done : std::exchange(opens_, {})) Later(std::move(done), ec);
}

}  // namespace stout::inline v1
