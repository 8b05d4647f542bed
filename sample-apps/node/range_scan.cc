#include "node/range_scan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "node/commands.h"
#include "resp/server/ascii.h"
#include "resp/server/integer.h"
#include "stout/clock.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

using enum CommandId::Number;
using enum resp::CommandFlag::Bits;

constexpr std::size_t kDefaultLimit = 1000;
constexpr std::size_t kMaxLimit = 1'000'000;
/// Maximum keys in one page of an owner.
constexpr std::size_t kLargestPage = 1000;
/// Bytes of keys and values after which the answer ends, as a page of a store.
constexpr std::size_t kMaxBytes = std::size_t{4} << 20;

constexpr std::string_view kRangeSyntax =
    "ERR syntax: STOUT.RANGE start end [LIMIT n] [VALUES], where n is 1 to 1000000";

void ParseRange(Request& request) {
  resp::Arguments words = request.arguments.subspan(1);
  request.scan = {.first = std::string(words[0]), .limit = kDefaultLimit};
  if (!words[1].empty()) request.scan.end = words[1];
  for (words = words.subspan(2); !words.empty();) {
    const bool limit = resp::EqualIgnoringCase(words[0], "LIMIT") && words.size() > 1;
    const auto number = limit ? resp::ParseUnsigned(words[1]) : std::nullopt;
    if (number && *number >= 1 && *number <= kMaxLimit) {
      request.scan.limit = static_cast<std::size_t>(*number);
    } else if (resp::EqualIgnoringCase(words[0], "VALUES")) {
      request.values = true;
    } else {
      return Refuse<void>(request, kRangeSyntax);
    }
    words = words.subspan(limit ? 2 : 1);
  }
}

void ParsePage(Request& request) {
  const auto& words = request.arguments;
  const auto range = resp::ParseUnsigned(words[1]);
  const auto limit = resp::ParseUnsigned(words[4]);
  if (!range || *range >= kMaxRanges || !limit || *limit < 1 || *limit > kLargestPage)
    return Refuse<void>(request, "ERR malformed: STOUT.PAGE is for nodes of a deployment");
  request.range = static_cast<RangeId>(*range);
  request.scan = {.first = std::string(words[2]), .limit = static_cast<std::size_t>(*limit)};
  if (!words[3].empty()) request.scan.end = words[3];
  request.values = words[5] == "1";
}

// clang-format off
constexpr KeyCommand kRangePageRows[] = {
    {{kStoutPage, "stout.page", 6, kReadonly | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Returns a page of the keys of a range, for another node."}, ParsePage},
};

constexpr KeyCommand kRangeScanRows[] = {
    {{kStoutRange, "stout.range", -3, kReadonly | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Returns the keys of an interval in order."}, ParseRange},
};
// clang-format on

void ReplyKeys(const Request& request, std::span<const std::pair<std::string, std::string>> found,
               resp::ReplyWriter& reply) {
  reply.ArrayHeader(found.size() * (request.values ? 2 : 1));
  for (const auto& [key, value] : found) {
    reply.BulkString(key);
    if (request.values) reply.BulkString(value);
  }
}

}  // namespace

std::span<const KeyCommand> RangePageRows() { return kRangePageRows; }
std::span<const KeyCommand> RangeScanRows() { return kRangeScanRows; }

void RangeScan::ReplyPage(const Request& request, resp::ReplyWriter& reply) {
  reply.ArrayHeader(2);
  request.next ? reply.BulkString(*request.next) : reply.Null();
  ReplyKeys(request, request.found, reply);
}

asio::awaitable<void> RangeScan::Run(Request& request) {
  const TimePoint deadline = SteadyNow() + service_.reply_deadline;
  const KeyScan& scan = request.scan;
  Found found;
  std::size_t bytes = 0;
  std::optional<std::string> next = scan.first;
  if (scan.end && *scan.end <= scan.first) next.reset();
  for (std::size_t taken = 0; next && taken < scan.limit && bytes < kMaxBytes;) {
    if (SteadyNow() >= deadline) break;
    next = co_await ReadOn(request, *std::move(next), scan.limit - taken, found);
    if (!request.error.empty()) co_return;
    while (taken < std::min(found.size(), scan.limit) && bytes < kMaxBytes) {
      const auto& [key, value] = found[taken];
      if (!room_.Take(key.size()) || (request.values && !room_.Take(value.size())))
        co_return Refuse<void>(request, kRepliesTooLarge);
      bytes += key.size() + value.size();
      ++taken;
    }
    if (taken < found.size()) {
      found.resize(taken);
      next = found.back().first + '\0';
    }
  }
  request.replies = &replies_;
  request.reply_begin = replies_.size();
  resp::ReplyWriter reply(replies_, session_.version);
  reply.ArrayHeader(2);
  reply.BulkString(next.value_or(""));
  ReplyKeys(request, found, reply);
  request.reply_end = replies_.size();
}

asio::awaitable<std::optional<std::string>> RangeScan::ReadOn(Request& request, std::string first,
                                                              std::size_t limit, Found& found) {
  const Partition& partition = table_->ranges.partition();
  RangeId begin = 0;
  RangeId end = partition.ranges;
  std::string until = request.scan.end.value_or("");
  std::optional<std::string> next;
  if (partition.intervals()) {
    begin = partition.RangeOf(first);
    end = begin + 1;
    if (begin < partition.bounds.size()) {
      const std::string& bound = partition.bounds[begin];
      if (until.empty() || bound < until) next = until = bound;
    }
  }
  const std::string most = std::to_string(std::min(limit, kLargestPage));
  std::vector<std::string> numbers;
  for (RangeId range = begin; range < end; ++range) numbers.push_back(std::to_string(range));
  std::vector<std::array<std::string_view, 6>> words;
  words.reserve(numbers.size());
  for (const std::string& number : numbers)
    words.push_back({"STOUT.PAGE", number, first, until, most, request.values ? "1" : "0"});
  std::vector<Request> pages(words.size());
  for (std::size_t i = 0; i < pages.size(); ++i) {
    pages[i].command = service_.commands.Find("stout.page");
    pages[i].arguments = words[i];
    pages[i].tenant = request.tenant;
    pages[i].levels.strong = request.levels.strong;
    ParsePage(pages[i]);
  }
  page_room_.Reset(service_.limits.max_replies);
  co_await router_.Run(pages);
  router_.Clear();
  // Behind the end of the shortest page, keys of its range may be missing.
  for (Request& page : pages) {
    if (!page.error.empty()) request.error = std::move(page.error);
    if (page.next && (!next || *page.next < *next)) next = std::move(page.next);
  }
  const auto sorted = static_cast<std::ptrdiff_t>(found.size());
  for (Request& page : pages) {
    for (auto& each : page.found) {
      if (!next || each.first < *next) found.push_back(std::move(each));
    }
  }
  std::sort(found.begin() + sorted, found.end());
  co_return next;
}

}  // namespace stout::node
