#include "shard_turns.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "command_list.h"
#include "error_of_exception.h"
#include "resp/server/command_options.h"
#include "resp/server/glob.h"
#include "search_options.h"
#include "stout_scan.h"

namespace stout::blowfish {
namespace {

/// The time that the pieces in turns share, while other requests wait.
constexpr auto kSlice = std::chrono::milliseconds(2);

/// Searches that are under way at a time: each holds the stores that it began with.
constexpr std::size_t kMostSearches = 8;

/// Keys that FLUSHALL deletes in one batch, about: some milliseconds of work.
constexpr std::size_t kFlushAtOnce = 1000;

// With what the strings themselves take.
std::size_t SizeOf(const std::vector<std::string>& keys) {
  std::size_t size = keys.size() * sizeof(std::string);
  for (const std::string& key : keys) size += key.size();
  return size;
}

// Returns the query that the request describes.
LogQuery QueryOf(const Request& request, const Schema& schema) {
  if (request.command->id != CommandId::kSearch)
    return {.kind = LogQuery::Kind::kContains, .text = request.arguments[1]};
  const bool prefix = ParseSearchOptions(request.arguments)->prefix;
  return {.kind = prefix ? LogQuery::Kind::kPrefix : LogQuery::Kind::kEqual,
          .attribute = schema.Find(request.arguments[1]).value(),
          .text = request.arguments[2]};
}

}  // namespace

ShardTurns::Shares::const_iterator ShardTurns::NextTurn() const {
  if (searches_ < kMostSearches) return waiting_.begin();
  return std::ranges::find_if(waiting_, [](const Share* share) {
    const Spread spread = share->RequestOf(share->pieces[share->next]).spread;
    return share->search || spread == Spread::kScan || spread == Spread::kStoutScan;
  });
}

void ShardTurns::Take(const OnLeave& on_leave) {
  if (waiting_.empty()) return;
  TimePoint now = now_();
  const TimePoint end = now + kSlice;
  do {
    const auto next = NextTurn();
    if (next == waiting_.end()) return;
    Share& share = **next;
    waiting_.erase(next);
    // GREP reads all records as fast without layers.
    const bool searches =
        share.RequestOf(share.pieces[share.next]).command->id == CommandId::kSearch;
    walked_ = false;
    if (searches) read_time_.Begin(now);
    const bool leaves = GoOn(share, end);
    // If the share has more pieces, on_leave() begins them, and they may be writes. If not, it
    // answers the search.
    const bool last = !leaves || share.begun();
    if (searches && !walked_) read_time_.Forget();
    if (walked_ && !last) read_time_.End(now_());
    if (leaves) {
      on_leave(share);
    } else {
      Add(share);
    }
    now = now_();
    if (walked_ && last) read_time_.End(now);
  } while (now < end);
}

bool ShardTurns::GoOn(Share& share, TimePoint end) {
  Piece& piece = share.pieces[share.next];
  try {
    const Spread spread = share.RequestOf(piece).spread;
    if (ending_) {
      piece.error = "ERR the server is ending";
    } else if (spread == Spread::kScan) {
      Scan(share, piece);
    } else if (spread == Spread::kStoutScan) {
      AnswerStoutScan(shard_, share, piece);
    } else if (spread == Spread::kKeys) {
      OpenSearch(share, QueryOf(share.RequestOf(piece), shard_.schema()));
      const std::uint64_t seen = share.search->records_seen();
      const bool done = GoOnFinding(share, piece, end);
      walked_ = share.RequestOf(piece).command->id == CommandId::kSearch &&
                share.search->records_seen() > seen;
      if (!done) return share.search->Keep(), false;
    } else {
      const bool done = GoOnFlushing(share, piece, end);
      if (share.search) share.search->Keep();
      if (!done) return false;
      if (!piece.keys.empty()) return true;  // It is begun again, to delete these.
    }
  } catch (const std::exception&) {
    piece.error = ErrorOfException();
  }
  CloseSearch(share);
  ++share.next;
  return true;
}

void ShardTurns::OpenSearch(Share& share, const LogQuery& query) {
  if (share.search) return;
  share.search = std::make_unique<ShardSearch>(shard_.BeginSearch(query));
  ++searches_;
}

void ShardTurns::CloseSearch(Share& share) {
  if (std::exchange(share.search, nullptr)) --searches_;
}

bool ShardTurns::GoOnFinding(Share& share, Piece& piece, TimePoint end) {
  const Request& request = share.RequestOf(piece);
  if (request.count) {
    auto matches = static_cast<std::uint64_t>(piece.number);
    const bool more = CountOn(*share.search, matches, end);
    piece.number = static_cast<std::int64_t>(matches);
    return !more;
  }
  const auto see = [&](KeyView key) {
    if (!share.Keep(piece, sizeof(std::string) + key.size())) return false;
    piece.keys.emplace_back(key);
    return piece.keys.size() < request.limit;
  };
  while (share.search->Step(see)) {
    if (now_() >= end) return false;
  }
  if (!piece.error.empty()) piece.keys = {};  // Their memory, too.
  return true;
}

bool ShardTurns::CountOn(ShardSearch& search, std::uint64_t& matches, TimePoint end) {
  while (search.StepToCount(matches)) {
    if (now_() >= end) return true;
  }
  return false;
}

// The piece has the key behind which it begins, if it does not begin with the first.
void ShardTurns::Scan(Share& share, Piece& piece) {
  const Request& request = share.RequestOf(piece);
  const resp::ScanOptions options = *resp::ParseScanOptions(request.arguments);
  std::optional<std::string> after;
  if (!piece.keys.empty()) after = std::move(piece.keys.front());
  piece.keys = shard_.KeysAfter(after, request.limit);
  if (piece.keys.size() == request.limit) piece.scanned = piece.keys.back();
  if (options.type && *options.type != "string") piece.keys.clear();  // there is no other type
  if (options.match) {
    std::erase_if(piece.keys,
                  [&](const std::string& key) { return !resp::GlobMatch(*options.match, key); });
  }
  (void)share.Keep(piece, SizeOf(piece.keys));
}

bool ShardTurns::GoOnFlushing(Share& share, Piece& piece, TimePoint end) {
  OpenSearch(share, {.kind = LogQuery::Kind::kContains});
  const auto see = [&](KeyView key) {
    piece.keys.emplace_back(key);
    return true;
  };
  while (piece.keys.size() < kFlushAtOnce && SizeOf(piece.keys) < kMostDeletedBytes) {
    if (!share.search->Step(see)) {
      CloseSearch(share);
      break;
    }
    if (now_() >= end) return false;
  }
  return true;
}

}  // namespace stout::blowfish
