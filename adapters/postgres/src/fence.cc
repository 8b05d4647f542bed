#include "fence.h"

#include <algorithm>
#include <chrono>

#include "array.h"

namespace stout::postgres {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// The index, among the queries of each function, of the one that checks a fence, waits for its lock
// or raises it.
constexpr std::size_t kCheck = 1;
constexpr std::size_t kTake = 1;
constexpr std::size_t kRaise = 2;

// A batch that is alive takes milliseconds. One that is ended all the same is sent again.
constexpr std::chrono::milliseconds kPatience = 1s;
constexpr int kAttempts = 3;

Query With(const Statement& statement, const std::vector<std::string>& parameters) {
  return {&statement, parameters};
}

std::vector<Query> HoldsFence(const Schema& schema, const Scope& scope, Epoch epoch) {
  return {With(schema.holds_fence, {scope, Int8(static_cast<std::int64_t>(epoch))})};
}

// Waits for the batches under way, or ends them.
asio::awaitable<Errc> TakeFence(Connection& connection, const Schema& schema, const Scope& scope,
                                Epoch epoch, Duration timeout) {
  const std::string number = Int8(static_cast<std::int64_t>(epoch));
  const auto patience =
      std::clamp(std::chrono::floor<std::chrono::milliseconds>(timeout / 2), 1ms, kPatience);
  const std::vector<Query> raise = {
      With(schema.patience, {Int8(patience.count())}), With(schema.take_scope, {scope}),
      With(schema.raise_fence, {scope, number}), With(schema.note_epoch, {number})};
  const std::vector<Query> evict = {With(schema.evict, {scope})};
  for (int attempt = 1;; ++attempt) {
    const Outcome outcome = co_await connection.RunOnPrimary(raise);
    if (outcome.errc == Errc::kOk) {
      co_return RowsTouched(outcome.results[kRaise]) == 1 ? Errc::kOk : Errc::kFenced;
    }
    if (outcome.errc == Errc::kUnknown) co_return Errc::kUnknown;
    if (outcome.results.size() != kTake || attempt == kAttempts) co_return Errc::kTransient;
    const Outcome evicted = co_await connection.Run(evict);
    if (evicted.errc != Errc::kOk) co_return Errc::kTransient;
  }
}

}  // namespace

std::vector<Query> CheckFence(const Schema& schema, const Scope& scope, Epoch epoch) {
  return {With(schema.share_scope, {scope}),
          With(schema.check_fence, {scope, Int8(static_cast<std::int64_t>(epoch))})};
}

bool IsFenced(const Outcome& outcome, std::size_t before) {
  return outcome.errc == Errc::kRefused && outcome.results.size() == before + kCheck;
}

// A fence that is repeated takes no lock: it would wait for the owner's own batches, and end them.
// One whose outcome was unknown is raised again, because its row may be on no standby.
asio::awaitable<Errc> Fence(Connection& connection, const Schema& schema, const Scope& scope,
                            Epoch epoch, bool again, Duration timeout) {
  if (!again) co_return co_await TakeFence(connection, schema, scope, epoch, timeout);
  const Outcome held = co_await connection.RunOnPrimary(HoldsFence(schema, scope, epoch));
  if (held.errc == Errc::kUnknown) co_return Errc::kUnknown;
  if (held.errc != Errc::kOk) co_return Errc::kTransient;
  if (PQntuples(held.results[0].get()) == 1) co_return Errc::kOk;
  co_return co_await TakeFence(connection, schema, scope, epoch, timeout);
}

}  // namespace stout::postgres
