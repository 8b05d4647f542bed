// A directory that gets another number of shards has the same content, however often that is
// stopped.

#include "blowfish/server/reshard.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blowfish/index/shard_of.h"
#include "blowfish/server/data_id.h"
#include "blowfish/server/open_shards.h"
#include "blowfish/store/layer_file.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

namespace fs = std::filesystem;

struct KeptState {
  Stamp stamp;
  std::optional<std::string> value;

  friend bool operator==(const KeptState&, const KeptState&) = default;
};
using ReshardedStates = std::map<std::string, KeptState>;

// The shards of a directory, at work.
class Served {
 public:
  explicit Served(const std::string& directory, std::size_t shards = 0,
                  const ShardOptions& options = {}) {
    auto opened = OpenShards(directory, shards, options, {}, &why_);
    CAPTURE(why_.message);
    REQUIRE(opened.has_value());
    workers_ = std::move(*opened);
    for (const auto& worker : workers_) worker->Start([](SubBatch&) {});
  }

  [[nodiscard]] std::size_t size() const { return workers_.size(); }
  [[nodiscard]] const Schema& schema() const { return workers_[0]->schema(); }
  [[nodiscard]] bool text_index() const {
    return std::ranges::all_of(workers_, [](const auto& worker) { return worker->text_index(); });
  }

  template <typename Question>
  auto Ask(std::size_t worker, Question question) {
    std::packaged_task<decltype(question(std::declval<Shard&>()))(Shard&)> task(question);
    auto answer = task.get_future();
    workers_[worker]->queue().Push(std::move(task));
    return answer.get();
  }

  void Write(const std::string& key, const KeptState& state) {
    WriteBatch batch{.epoch = state.stamp.epoch};
    WriteItem& item = batch.items.emplace_back();
    item.key = key;
    item.version = state.stamp.version;
    item.kind = state.value ? WriteKind::kPut : WriteKind::kDelete;
    if (state.value) item.value = *state.value;
    std::promise<WriteResult> done;
    Ask(ShardOf(key, size()), [&](Shard& shard) {
      shard.Write(batch, [&](WriteResult result) { done.set_value(std::move(result)); });
      return true;
    });
    REQUIRE(done.get_future().get() == WriteResult());
  }

  ErrorCode Fence(std::size_t worker, const Scope& scope, Epoch epoch) {
    std::promise<ErrorCode> done;
    Ask(worker, [&](Shard& shard) {
      shard.Fence(scope, epoch, [&](ErrorCode failed) { done.set_value(failed); });
      return true;
    });
    return done.get_future().get();
  }

  [[nodiscard]] ReshardedStates Read() {
    ReshardedStates content;
    for (std::size_t i = 0; i < size(); ++i) {
      Ask(i, [&](Shard& shard) {
        const auto keys = shard.KeysAfter(std::nullopt, 100'000, Shard::Keys::kAll);
        const std::vector<std::string_view> views(keys.begin(), keys.end());
        shard.Read(views, [&](std::size_t k, Stamp stamp, std::optional<std::string_view> value) {
          CHECK(ShardOf(keys[k], size()) == i);
          content[keys[k]] = {stamp, value ? std::optional(std::string(*value)) : std::nullopt};
        });
        return true;
      });
    }
    return content;
  }

 private:
  Diagnostics why_;
  std::vector<std::unique_ptr<ShardWorker>> workers_;
};

class Sharded {
 public:
  Sharded(std::uint64_t seed, std::size_t shards, std::size_t keys)
      : random_(seed), text_index_(seed % 2 == 1) {
    Served served(path(), shards,
                  {.schema = Schema::Make({"a", "b"}, '|').value(), .text_index = text_index_});
    for (std::size_t i = 0; i < keys; ++i) {
      const std::string key = "key" + std::to_string(random_.Below(10 * keys));
      KeptState state{{1 + random_.Below(3), i + 1}, std::nullopt};
      if (random_.Below(4) != 0) state.value = std::string(random_.Below(300), 'a') + "|b";
      KeptState& kept = content_[key];
      if (state.stamp < kept.stamp) continue;
      kept = state;
      served.Write(key, state);
    }
    REQUIRE_FALSE(served.Fence(0, "one", 2));
    REQUIRE_FALSE(served.Fence(shards - 1, "two", 7));
    data_id_ = OpenDataId(path(), nullptr).value();
  }

  [[nodiscard]] std::string path() const { return directory_.path() + "/data"; }
  [[nodiscard]] const ReshardedStates& content() const { return content_; }

  ErrorCode Reshard(
      std::size_t shards,
      const std::function<bool(const ReshardProgress&)>& go_on = [](auto&) { return true; },
      std::chrono::milliseconds patience = std::chrono::hours(1)) {
    why = {};
    return blowfish::Reshard({.directory = path(),
                              .shards = shards,
                              .memory = {},
                              .merge_slots = {},
                              .patience = patience},
                             go_on, &why);
  }

  void Check(std::size_t shards) {
    Served served(path());
    REQUIRE(served.size() == shards);
    CHECK(served.schema().size() == 2);
    CHECK(served.text_index() == text_index_);
    CHECK((served.Read() == content_));  // A failure is not to print it.
    for (std::size_t i = 0; i < shards; ++i) {
      CHECK(served.Fence(i, "one", 1) == Errc::kFenced);
      CHECK(served.Fence(i, "two", 6) == Errc::kFenced);
      CHECK(served.Ask(i, [](Shard& shard) { return shard.max_epoch(); }) >= 7);
    }
    CHECK(OpenDataId(path(), nullptr).value() == data_id_);
  }

  Diagnostics why;

 private:
  SplitMix64 random_;
  const bool text_index_;
  const test::TempDirectory directory_;
  ReshardedStates content_;
  std::string data_id_;
};

TEST_CASE("a directory with another number of shards has the same content", "[reshard]") {
  const auto [before, after] = GENERATE(table<std::size_t, std::size_t>({{1, 2}, {3, 5}, {4, 1}}));
  Sharded sharded(before, before, 300);
  CHECK(sharded.Reshard(after) == ErrorCode());
  CAPTURE(sharded.why.message);
  sharded.Check(after);
  CHECK(fs::exists(sharded.path() + ".before-reshard"));
  CHECK_FALSE(fs::exists(sharded.path() + ".resharding"));
}

TEST_CASE("a reshard keeps the most layers of a shard, and changes no number of the old ones",
          "[reshard]") {
  Sharded sharded(1, 2, 2000);
  REQUIRE_FALSE(WriteLayers(ShardPath(sharded.path(), 0), 1));
  REQUIRE_FALSE(WriteLayers(ShardPath(sharded.path(), 1), 3));
  const auto layers = [](const std::string& directory, std::size_t shards) {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < shards; ++i) numbers.push_back(ReadLayers(ShardPath(directory, i)));
    return numbers;
  };
  REQUIRE(sharded.Reshard(3, [](auto&) { return false; }) == Errc::kTransient);
  CHECK(layers(sharded.path(), 2) == std::vector<std::size_t>{1, 3});
  REQUIRE_FALSE(sharded.Reshard(3));
  CHECK(layers(sharded.path() + ".before-reshard", 2) == std::vector<std::size_t>{1, 3});
  CHECK(layers(sharded.path(), 3) == std::vector<std::size_t>{3, 3, 3});
}

TEST_CASE("a reshard that was stopped goes on, and the directory is not served meanwhile",
          "[reshard][not_tsan]") {
  Sharded sharded(1, 2, 2200);
  int pages = 0;
  std::uint64_t copied = 0;
  const auto one_page = [&](const ReshardProgress& progress) {
    ++pages;
    copied = progress.keys;
    return false;
  };
  CHECK(CheckNotResharding(sharded.path(), nullptr) == ErrorCode());
  CHECK(sharded.Reshard(3, one_page) == Errc::kTransient);
  CHECK(copied > 0);
  CHECK(copied < sharded.content().size());
  Diagnostics why;
  CHECK(CheckNotResharding(sharded.path(), &why) == Errc::kBadOptions);
  CHECK(why.message.find("reshard") != std::string::npos);
  SECTION("after one page each") {
    while (sharded.Reshard(3, one_page) == Errc::kTransient) continue;
    CHECK(pages > 4);
  }
  SECTION("with the rest at once") { CHECK(sharded.Reshard(3) == ErrorCode()); }
  SECTION("when its place is damaged") {
    std::ofstream(sharded.path() + ".resharding/reshard-place") << "x";
    CHECK(sharded.Reshard(3) == ErrorCode());
  }
  SECTION("but not with another number") {
    CHECK(sharded.Reshard(4) == Errc::kBadOptions);
    const std::string copy = sharded.path() + ".resharding";
    CHECK(sharded.why.message == copy +
                                     ": an unfinished copy with 3 shards, not 4: repeat with "
                                     "--shards 3, or remove it to begin again");
    fs::remove_all(sharded.path() + ".resharding");
    CHECK(sharded.Reshard(4) == ErrorCode());
    return sharded.Check(4);
  }
  sharded.Check(3);
}

TEST_CASE("a directory that cannot be read is not taken for one that is resharded", "[reshard]") {
  const test::TempDirectory home;
  const std::string loop = home.path() + "/loop";
  fs::create_symlink(loop, loop);
  Diagnostics why;
  CHECK(CheckNotResharding(loop, &why) == Errc::kBadUrl);
  CHECK(why.message.starts_with(loop + ": cannot read: Too many levels"));
  const ReshardOptions options{.directory = loop, .shards = 2, .memory = {}, .merge_slots = {}};
  CHECK(Reshard(
            options, [](auto&) { return true; }, &why) == Errc::kBadUrl);
  CHECK(why.message.starts_with(loop + ": cannot read: Too many levels"));
}

TEST_CASE("no server starts between the two renames of a reshard, and a reshard completes them",
          "[reshard]") {
  Sharded sharded(1, 2, 100);
  REQUIRE(sharded.Reshard(3) == ErrorCode());
  fs::rename(sharded.path(), sharded.path() + ".resharding");
  if (GENERATE(false, true)) fs::create_directory(sharded.path());  // As systemd does.
  Diagnostics why;
  CHECK(CheckNotResharding(sharded.path(), &why) == Errc::kBadOptions);
  CHECK(why.message.find("blowfish-server reshard") != std::string::npos);
  CHECK(CheckNotResharding(sharded.path() + "/", nullptr) == Errc::kBadOptions);
  CHECK(sharded.Reshard(4) == Errc::kBadOptions);
  CHECK(sharded.why.message.find("--shards 3") != std::string::npos);
  CHECK(sharded.Reshard(3) == ErrorCode());
  CHECK(CheckNotResharding(sharded.path(), nullptr) == ErrorCode());
  sharded.Check(3);
}

TEST_CASE("a reshard with new shards between its two renames does not say to remove the old ones",
          "[reshard]") {
  Sharded sharded(1, 2, 100);
  REQUIRE(sharded.Reshard(3) == ErrorCode());
  fs::rename(sharded.path(), sharded.path() + ".resharding");
  { const Served made(sharded.path(), 2); }
  CHECK(sharded.Reshard(3) == Errc::kBadOptions);
  CHECK(sharded.why.message.find("remove") == std::string::npos);
  CHECK(sharded.why.message.find("move " + sharded.path() + " away") != std::string::npos);
  fs::remove_all(sharded.path());
  CHECK(sharded.Reshard(3) == ErrorCode());
  sharded.Check(3);
}

TEST_CASE("a reshard whose copy is damaged is refused until the copy is removed", "[reshard]") {
  Sharded sharded(1, 2, 2000);
  REQUIRE(sharded.Reshard(3, [](auto&) { return false; }) == Errc::kTransient);
  const std::string copy = sharded.path() + ".resharding";
  fs::remove(ShardPath(copy, 1) + "/manifest");
  CHECK(sharded.Reshard(3) == Errc::kBadOptions);
  CHECK(sharded.why.message.find(ShardPath(copy, 1)) != std::string::npos);
  CHECK(sharded.why.message.find("remove " + copy + " to begin again") != std::string::npos);
  fs::remove_all(copy);
  CHECK(sharded.Reshard(3) == ErrorCode());
  sharded.Check(3);
}

TEST_CASE("a reshard does not go on with a copy that may be older than the shards", "[reshard]") {
  Sharded sharded(1, 2, 2000);
  REQUIRE(sharded.Reshard(3, [](auto&) { return false; }) == Errc::kTransient);
  fs::remove(sharded.path() + "/resharding");
  CHECK(sharded.Reshard(3) == Errc::kBadOptions);
  CHECK(sharded.why.message.find("remove it") != std::string::npos);
  fs::remove_all(sharded.path() + ".resharding");
  CHECK(sharded.Reshard(3) == ErrorCode());
  sharded.Check(3);
}

TEST_CASE("a reshard onto a full disk ends with the reason, and goes on once there is room",
          "[reshard][not_tsan]") {
  Sharded sharded(1, 2, 4000);
  std::optional<stout::test::FileSizeLimit> full;
  const auto fill = [&](auto&) {
    if (!full) full.emplace(0);
    return true;
  };
  CHECK(sharded.Reshard(3, fill, std::chrono::milliseconds(0)) == Errc::kTransient);
  full.reset();
  CHECK(sharded.why.message.find("cannot write: File too large") != std::string::npos);
  CHECK(sharded.why.message.find("goes on from here") != std::string::npos);
  CHECK(sharded.Reshard(3) == ErrorCode());
  sharded.Check(3);
}

TEST_CASE("a reshard that ended before its renames goes on, although the empty scope is fenced",
          "[reshard]") {
  Sharded sharded(1, 2, 2000);
  REQUIRE_FALSE(Served(sharded.path()).Fence(0, "", 9));
  const std::string in_the_way = sharded.path() + ".before-reshard";
  const auto make_it = [&](auto&) {
    fs::create_directories(in_the_way + "/x");
    return true;
  };
  REQUIRE(sharded.Reshard(3, make_it) == Errc::kTransient);
  CHECK(sharded.why.message.find("rename") != std::string::npos);
  fs::remove_all(in_the_way);
  CHECK(sharded.Reshard(3) == ErrorCode());
  CAPTURE(sharded.why.message);
  CHECK_FALSE(fs::exists(sharded.path() + "/reshard-place"));
  CHECK(Served(sharded.path()).Fence(2, "", 8) == Errc::kFenced);
  sharded.Check(3);
}

TEST_CASE("a reshard is refused if there is nothing to do, or something in its way", "[reshard]") {
  Sharded sharded(1, 2, 100);
  CHECK(sharded.Reshard(2) == Errc::kBadOptions);
  CHECK(sharded.why.message.find("has 2 shards already") != std::string::npos);
  REQUIRE(sharded.Reshard(3) == ErrorCode());
  CHECK(sharded.Reshard(2) == Errc::kBadOptions);
  CHECK(sharded.why.message.find("remove it") != std::string::npos);
  fs::remove_all(sharded.path() + ".before-reshard");
  SECTION("and then possible") {
    CHECK(sharded.Reshard(2) == ErrorCode());
    sharded.Check(2);
  }
  SECTION("a shard is damaged") {
    fs::remove(ShardPath(sharded.path(), 1) + "/manifest");
    CHECK(sharded.Reshard(2) == Errc::kBadOptions);
    CHECK(sharded.why.message.find("down") != std::string::npos);
    CHECK_FALSE(fs::exists(sharded.path() + ".resharding"));
  }
  SECTION("there are no shards in the directory") {
    fs::remove_all(sharded.path());
    fs::create_directory(sharded.path());
    CHECK(sharded.Reshard(2) == Errc::kBadUrl);
    CHECK(fs::is_empty(sharded.path()));
  }
  SECTION("there is no directory") {
    fs::remove_all(sharded.path());
    CHECK(sharded.Reshard(2) == Errc::kBadUrl);
    CHECK_FALSE(fs::exists(sharded.path()));
  }
}

TEST_CASE("a directory that cannot be renamed is refused before it is copied", "[reshard]") {
  Diagnostics why;
  const auto reshard = [&](const std::string& directory) {
    return Reshard(
        {.directory = directory, .shards = 2, .memory = {}, .merge_slots = {}},
        [](auto&) { return true; }, &why);
  };
  CHECK(reshard("/proc") == Errc::kBadUrl);
  CHECK(why.message.find("/proc: is a mount point") == 0);
  const Sharded sharded(1, 1, 10);
  CHECK(reshard(sharded.path() + "/.") == Errc::kBadUrl);
  CHECK(why.message.find("give its path with its name") != std::string::npos);
  const std::string link = sharded.path() + "-link";
  fs::create_directory_symlink(sharded.path(), link);
  CHECK(reshard(link) == Errc::kBadUrl);
  CHECK(why.message == link + ": is a symbolic link; give the path of the directory itself");
  fs::remove(link);
}

}  // namespace
}  // namespace stout::blowfish
