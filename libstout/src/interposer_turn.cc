#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "interposer_impl.h"

// A turn of an interposer: it sends batches to the store, and calls handlers.

namespace stout::inline v1 {
namespace asio = boost::asio;
using namespace internal;

void Interposer::Impl::ScheduleTurn() {
  if (turn_scheduled_) return;
  asio::post(strand_, [self = shared_from_this()] { self->Turn(); });
  turn_scheduled_ = true;  // only now: if there was no memory, the next call tries again
}

void Interposer::Impl::Turn() {
  turn_scheduled_ = false;
  if (abandoned_) Stop(Errc::kClosed);
  if (open_by_ <= Now()) EndOpens(Errc::kUnknown);
  TimePoint next = open_by_;
  if (engine_) {
    next = std::min(next, engine_->Poll(Now(), *this));
    engine_->TakeEffects(effects_);
    for (WriteBatch& batch : effects_.writes) Write(std::move(batch));
    for (ReadBatch& batch : effects_.reads) Read(std::move(batch));
    QueueHandlers();
  }
  Arm(next);
  // Runs user code: the engine is consistent here, and no iterator is held.
  RunDue(due_, [this] { ScheduleTurn(); });
}

void Interposer::Impl::Arm(TimePoint next) {
  timer_.Arm(next, [self = shared_from_this()] { self->Turn(); });
}

void Interposer::Impl::Write(WriteBatch batch) {
  batch.scope = ownership_.scope;
  auto owned = std::make_unique<WriteBatch>(std::move(batch));
  const WriteBatch& reference = *owned;  // lives in the handler
  store().Write(reference, [self = shared_from_this(), work = Working(),
                            owned = std::move(owned)](WriteResult result) mutable {
    if (!self) return;  // a second answer
    Impl& impl = *self;
    asio::post(impl.strand_, [self = std::move(self), owned = std::move(owned),
                              result = std::move(result)]() mutable {
      if (result.batch == Errc::kOk) self->last_write_ = self->Now();
      self->engine_->WriteDone(owned->lane, owned->id, result, self->Now());
      self->engine_->Recycle(std::move(*owned));
      self->Turn();
    });
  });
}

void Interposer::Impl::Read(ReadBatch batch) {
  auto owned = std::make_unique<ReadBatch>(std::move(batch));
  const ReadBatch& reference = *owned;
  store().Read(reference, [self = shared_from_this(), work = Working(),
                           owned = std::move(owned)](ReadResult result) mutable {
    if (!self) return;
    Impl& impl = *self;
    asio::post(impl.strand_, [self = std::move(self), lane = owned->lane, id = owned->id,
                              result = std::move(result)]() mutable {
      if (result.errc == Errc::kOk) {
        self->last_read_ = self->Now();
        self->read_queue_ = result.queue;
      }
      self->engine_->ReadDone(lane, id, std::move(result), self->Now());
      self->Turn();
    });
  });
}

Serialized Interposer::Impl::Serialize(KeyView key, std::string& value) noexcept {
  try {
    return application_->serialize(key, value);
  } catch (const std::exception& error) {  // any exception concerns this key only
    KeepFailure(key, error.what());
  } catch (...) {
    KeepFailure(key, "serialize threw an exception that is not a std::exception");
  }
  return Serialized::kFailed;
}

void Interposer::Impl::KeepFailure(KeyView key, const char* text) noexcept {
  try {
    failures_.emplace_back(key, text);
  } catch (const std::bad_alloc&) {  // the key is refused without this text
  }
}

void Interposer::Impl::Later(Reply reply, ErrorCode ec) {
  if (forgotten_) return;
  ScheduleTurn();
  due_.push_back({std::move(reply), ec});
}

Diagnostics Interposer::Impl::WhyRefused(const KeyRefused& refused) const {
  if (refused.errc == Errc::kNotSerialized) {
    for (const auto& [key, text] : failures_) {
      if (key == refused.key) return {text};
    }
  }
  return {std::string(Describe(refused.errc))};
}

void Interposer::Impl::QueueHandlers() {
  const auto before = static_cast<std::ptrdiff_t>(due_.size());
  for (KeyRefused& refused : effects_.refused) {
    Diagnostics why = WhyRefused(refused);
    due_.push_back({[this, key = std::move(refused.key), why = std::move(why)](ErrorCode ec) {
                      const auto application = GetApplication();
                      if (application && application->on_refused)
                        application->on_refused(key, ec, why);
                    },
                    refused.doubtful ? Errc::kUnknown : refused.errc});
  }
  failures_.clear();
  for (const LaneId lane : effects_.fenced) {
    due_.push_back({[this, lane](ErrorCode) {
                      const auto application = GetApplication();
                      if (application && application->on_fenced) application->on_fenced(lane);
                    },
                    Errc::kFenced});
  }
  if (effects_.lost) {
    due_.push_back({[this](ErrorCode) {
                      const auto application = GetApplication();
                      if (application && application->on_lost) application->on_lost();
                    },
                    Errc::kLost});
  }
  // These run before all others. Otherwise a handler could see a refused state, and a SafeReply
  // could let it out.
  std::rotate(due_.begin(), due_.begin() + before, due_.end());
  for (const RunReply& run : effects_.replies) {
    const auto id = static_cast<Pool<Kept>::Index>(run.id);
    due_.push_back({Release(id), run.errc});
  }
  for (FetchDone& done : effects_.fetched) {
    const auto id = static_cast<Pool<FetchHandler>::Index>(done.id);
    due_.push_back({[handler = std::move(fetches_[id]), state = std::move(done.state)](
                        ErrorCode ec) mutable { handler(ec, std::move(state)); },
                    done.errc});
    fetches_.Give(id);
  }
  if (effects_.drained || closed_ != Errc::kOk) {
    const Errc errc = closed_ != Errc::kOk ? closed_ : *effects_.drained;
    for (Reply& done : std::exchange(drains_, {})) due_.push_back({std::move(done), errc});
  }
}

}  // namespace stout::inline v1
