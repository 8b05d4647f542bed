#include "blowfish/server/commands/stout_scan.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resp/server/reply_writer.h"
#include "resp/store/store_commands.h"

namespace stout::blowfish {
namespace {

constexpr std::size_t kMaxKeys = 1000;
constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

/// Keys that are read in lock step, and read again in the next page if they do not fit.
constexpr std::size_t kTogether = 16;

struct Found {
  Stamp stamp;
  std::optional<std::string> value;
  bool read = false;
};

}  // namespace

bool ScanStates(Slice& slice) {
  Work& work = slice.work;
  Shard& shard = work.shard();
  const auto& scan = work.As<resp::StoutScan>();
  const std::size_t limit = std::min(scan.limit, kMaxKeys);
  const std::vector<std::string> keys = shard.KeysAfter(scan.after, limit, Shard::Keys::kAll);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const std::size_t max_bytes = std::min(kMaxBytes, work.batch.batch->max_replies);
  std::vector<Found> page(keys.size());
  std::size_t taken = 0;
  std::size_t bytes = 0;
  const auto fits = [&](std::size_t i, std::size_t size) {
    return i == 0 || bytes + keys[i].size() + size <= max_bytes;
  };
  while (taken < keys.size()) {
    const std::size_t first = taken;
    const auto group = std::span(views).subspan(first).first(
        std::min(scan.values ? kTogether : kMaxKeys, views.size() - first));
    const auto visit = [&](std::size_t i, Stamp stamp, std::optional<std::string_view> value) {
      Found& found = page[first + i];
      // A value that certainly does not fit is not copied.
      if (value && !fits(first + i, value->size())) return;
      found = {.stamp = stamp, .value = std::nullopt, .read = true};
      if (value) found.value.emplace(*value);
    };
    if (scan.values) {
      shard.Read(group, visit);
    } else {
      shard.ReadStamps(group, visit);
    }
    for (; taken < first + group.size(); ++taken) {
      const Found& found = page[taken];
      const std::size_t size = found.value ? found.value->size() : 0;
      if (!found.read || !fits(taken, size)) break;
      bytes += keys[taken].size() + size;
    }
    if (taken < first + group.size()) break;
  }
  // A page of one larger state is the largest that there is.
  if (!work.Keep(std::min(bytes, work.batch.batch->max_replies))) return true;
  const bool more = taken < keys.size() || keys.size() == limit;
  work.Reply([&](resp::ReplyWriter& reply) {
    reply.ArrayHeader(1 + 2 * taken);
    reply.Integer(more ? 1 : 0);
    for (std::size_t i = 0; i < taken; ++i) {
      reply.BulkString(keys[i]);
      resp::ReplyState(page[i].stamp, page[i].value, reply);
    }
  });
  return true;
}

}  // namespace stout::blowfish
