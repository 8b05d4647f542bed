#include "blowfish/server/slices.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "blowfish/server/error_of_exception.h"
#include "blowfish/server/shard_command.h"

namespace stout::blowfish {
namespace {

/// The time that the subrequests share, while other requests wait.
constexpr auto kSlice = std::chrono::milliseconds(2);

/// Searches that are under way at a time: each holds the stores that it began with.
constexpr std::size_t kMaxSearches = 8;

// The search that the next subrequest asks for; null if none.
const KeySearch* SearchOf(const SubBatch& batch) {
  return std::get_if<KeySearch>(&batch.next_request().parsed);
}

// GREP without a text index reads all records. Layers do not make that faster.
bool LayersHelp(const SubBatch& batch, const Shard& shard) {
  const KeySearch* const search = SearchOf(batch);
  if (search == nullptr) return false;
  const bool grep = search->query.kind == LogQuery::Kind::kContains;
  return !grep || (shard.text_index() && !search->query.text.empty());
}

}  // namespace

Slices::SubBatches::const_iterator Slices::NextTurn() const {
  if (searches_ < kMaxSearches) return waiting_.begin();
  return std::ranges::find_if(waiting_, [](const SubBatch* batch) {
    return batch->search != nullptr || SearchOf(*batch) == nullptr;
  });
}

void Slices::Take(const OnLeave& on_leave) {
  if (waiting_.empty()) return;
  TimePoint now = now_();
  const TimePoint end = now + kSlice;
  do {
    const auto next = NextTurn();
    if (next == waiting_.end()) return;
    SubBatch& batch = **next;
    waiting_.erase(next);
    const Work work(runner_, batch, batch.subrequests[batch.next]);
    const bool counts = LayersHelp(batch, work.shard());
    walked_ = false;
    if (counts) read_time_.Begin(now);
    const bool leaves = GoOn(batch, end);
    walked_ = walked_ && counts;
    // If the sub-batch has more subrequests, on_leave() begins them, and they may be writes. If
    // not, it answers the search.
    const bool last = !leaves || batch.begun();
    if (counts && !walked_) read_time_.Forget();
    if (walked_ && !last) read_time_.End(now_());
    if (leaves) {
      on_leave(batch);
    } else {
      Add(batch);
    }
    now = now_();
    if (walked_ && last) read_time_.End(now);
  } while (now < end);
}

bool Slices::GoOn(SubBatch& batch, TimePoint end) {
  Subrequest& subrequest = batch.subrequests[batch.next];
  const ShardCommand& row = *batch.RequestOf(subrequest).row;
  try {
    if (ending_) {
      subrequest.error = "ERR the server is ending";
    } else {
      Slice slice{Work(runner_, batch, subrequest), now_, end};
      if (const KeySearch* const search = SearchOf(batch); search != nullptr && !batch.search) {
        batch.search = std::make_unique<ShardSearch>(slice.work.shard().BeginSearch(search->query));
        ++searches_;
      }
      const std::uint64_t seen = batch.search ? batch.search->records_seen() : 0;
      const bool done = row.slice(slice);
      walked_ = batch.search && batch.search->records_seen() > seen;
      // Then the command is begun again, with these keys.
      const bool again = row.begin != nullptr && !subrequest.keys.empty();
      if (batch.search && (!done || again)) batch.search->Keep();
      if (!done || again) return done;
    }
  } catch (const std::exception&) {
    subrequest.error = ErrorOfException();
  }
  CloseSearch(batch);
  ++batch.next;
  return true;
}

void Slices::CloseSearch(SubBatch& batch) {
  if (std::exchange(batch.search, nullptr)) --searches_;
}

}  // namespace stout::blowfish
