// Goal: what takes long and is told to stop does little more, wherever it is. Method: it is told so
// just when it allocates, and what it allocates from then on is counted.

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>

#include "blowfish/store/succinct_store_writer.h"
#include "shard_fixture.h"
#include "stout/core/random.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

// State of a thread that one of its allocations tells to stop.
thread_local std::stop_source* to_stop = nullptr;
thread_local std::size_t until_stop = 0;
thread_local std::size_t after_stop = 0;

void StopInTime(std::size_t) {
  if (to_stop == nullptr) return;
  if (until_stop == 0) {
    ++after_stop;
  } else if (--until_stop == 0) {
    to_stop->request_stop();
  }
}

// Calls `call(token)`, whose n-th allocation tells it to stop, and counts the allocations after
// that. Returns nullopt if it has fewer.
template <typename Call>
std::optional<std::size_t> AllocationsAfterStop(std::size_t n, Call call) {
  std::stop_source source;
  until_stop = n;
  after_stop = 0;
  to_stop = &source;
  stout::test::OnAllocation(StopInTime);
  call(source.get_token());
  stout::test::OnAllocation(nullptr);
  to_stop = nullptr;
  return source.stop_requested() ? std::optional(after_stop) : std::nullopt;
}

TEST_CASE("a file with a text index is given up wherever it is told to stop", "[stop]") {
  SplitMix64 random(1);
  std::string text(5000, '\0');
  for (char& byte : text) byte = static_cast<char>('a' + random.Below(26));
  const stout::test::TempDirectory directory;
  std::size_t given_up = 0;
  bool written = false;
  for (std::size_t n = 1;; ++n) {
    CAPTURE(n);
    SuccinctStoreWriter writer({}, kMaxValueBytes, Encoding::kText);
    for (int i = 0; i < 3; ++i) writer.Append({"key" + std::to_string(i), {}, text});
    ErrorCode ended;
    const auto after = AllocationsAfterStop(n, [&](const std::stop_token& stop) {
      ended = writer.Finish(directory.path() + "/texts", nullptr, stop);
    });
    if (!after) break;
    REQUIRE(*after < 40);
    REQUIRE((ended == Errc::kTransient) == std::filesystem::is_empty(directory.path()));
    REQUIRE((ended == Errc::kTransient || ended == ErrorCode()));
    // From where it cannot be stopped any more on, it is written each time.
    written = written || ended == ErrorCode();
    REQUIRE(written == (ended == ErrorCode()));
    given_up += !written;
    std::filesystem::remove(directory.path() + "/texts");
  }
  CHECK(given_up > 400);  // Most of the work is not behind the last time that it looks.
}

// State of the thread that allocates this number of bytes at once: it waits there, and then its
// allocations are counted.
std::size_t begins_with = 0;
std::atomic<bool> has_begun = false;
std::atomic<bool> may_go_on = false;
std::atomic<std::size_t> since_then = 0;
thread_local bool is_counted = false;

void WaitAtBeginning(std::size_t size) {
  if (is_counted) ++since_then;
  if (size != begins_with || has_begun.exchange(true)) return;
  has_begun.notify_one();
  may_go_on.wait(false);
  is_counted = true;
}

TEST_CASE("a shard that is closed while it sorts a table does not sort it to the end", "[stop]") {
  test::OpenedShard opened(Schema::Make({"a", "b", "c"}, '|').value());
  opened.options.compaction.freeze_bytes = 1 << 26;
  opened.options.compaction.merge_bytes = 1 << 26;
  opened.Open();
  constexpr std::size_t kKeys = 1237;
  WriteBatch batch{.epoch = 1};
  for (std::size_t i = 0; i < kKeys; ++i) {
    const std::string number = std::to_string(i);
    batch.items.push_back({.key = "key" + number, .value = number + "|b|c", .version = 1});
    batch.bytes += batch.items.back().key.size() + batch.items.back().value.size();
  }
  REQUIRE(opened.Write(batch) == WriteResult());

  begins_with = kKeys * sizeof(const LogEntry*);  // The keys in their order.
  stout::test::OnAllocation(WaitAtBeginning);
  opened.shard().Compact();
  opened.PollUntil([&] { return opened.shard().stats().freezes > 0; });
  has_begun.wait(false);
  // When a shard is closed, calls under way are answered once its sort has been told to stop.
  WriteBatch last{.epoch = 1, .bytes = 4};
  last.items.push_back({.key = "last", .value = "", .version = 1});
  opened.shard().Write(last, [](const WriteResult&) {
    may_go_on = true;
    may_go_on.notify_one();
  });
  opened.Close();
  stout::test::OnAllocation(nullptr);
  CHECK(may_go_on);
  CHECK(since_then < 10);  // To the end: 23.

  opened.Open();
  CHECK(opened.shard().size() == kKeys + 1);
}

}  // namespace
}  // namespace stout::blowfish
