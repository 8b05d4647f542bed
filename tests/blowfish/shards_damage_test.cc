// Goal: whatever becomes of a file of a server that was ended, the next start has all that was
// acknowledged, or names the file: then it has the shard of that file down, its files untouched,
// and all of the others, or it refuses. Method: a directory with known content is copied, one file
// is damaged or removed, and what the start makes of it is compared.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/index/shard_of.h"
#include "blowfish/server/data_id.h"
#include "blowfish/server/open_shards.h"
#include "blowfish/store/shard.h"
#include "stout/core/random.h"
#include "tests/blowfish/files_below.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"
#include "tests/support/temp_directory.h"
#include "wakeup.h"

namespace stout::blowfish {
namespace {

namespace fs = std::filesystem;
using stout::test::TempDirectory;

constexpr std::size_t kShards = 3;
constexpr int kKeysOfEach = 60;
constexpr Epoch kFenced = 9;

void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string ShardName(std::size_t shard) { return "shard-000" + std::to_string(shard); }

ShardOptions Options(std::size_t shard) {
  ShardOptions options;
  options.shard = shard;
  options.schema = Schema::Make({"name", "city"}, '|').value();
  return options;
}

// A shard that answers each call before the next.
class Opened {
 public:
  Opened(const std::string& directory, std::size_t number, Schema schema) {
    ShardOptions options = Options(number);
    options.schema = std::move(schema);
    options.wake = [this] { wakeup_.Wake(); };
    auto opened = Shard::Open(directory + "/" + ShardName(number), std::move(options));
    REQUIRE(opened.has_value());
    shard_ = std::move(*opened);
  }

  Shard& shard() { return *shard_; }

  template <typename Condition>
  void PollUntil(Condition condition) {
    for (shard_->Poll(); !condition(); shard_->Poll()) wakeup_.Wait();
  }

  Errc Write(const Scope& scope, Epoch epoch, Version version,
             const std::map<std::string, std::optional<std::string>>& states) {
    WriteBatch batch{.epoch = epoch, .scope = scope};
    for (const auto& [key, value] : states) {
      batch.items.push_back({.key = key,
                             .value = value.value_or(""),
                             .kind = value ? WriteKind::kPut : WriteKind::kDelete,
                             .version = version});
      batch.bytes += key.size() + batch.items.back().value.size();
    }
    std::optional<WriteResult> result;
    shard_->Write(batch, [&](WriteResult r) { result = std::move(r); });
    PollUntil([&] { return result.has_value(); });
    return result->items.empty() ? result->batch : result->items.front().errc;
  }

 private:
  test::Wakeup wakeup_;
  std::unique_ptr<Shard> shard_;
};

enum class Start { kRefused, kDown, kWhole };

// Records in a merged file, in a log that is continued, and in one that was closed.
class Content {
 public:
  Content() {
    REQUIRE(OpenShards(path(), kShards, Options(0), {}, nullptr).has_value());
    for (std::size_t shard = 0; shard < kShards; ++shard) {
      std::vector<std::string> keys;
      for (int i = 0; keys.size() < kKeysOfEach; ++i) {
        const std::string key = "key" + std::to_string(i);
        if (ShardOf(key, kShards) == shard) keys.push_back(key);
      }
      Version version = 0;
      for (const bool merge : {true, false, false}) {
        Opened opened(path(), shard, Options(shard).schema);
        for (int part = 0; part < 4; ++part) Put(opened, keys, ++version);
        std::optional<ErrorCode> fenced;
        opened.shard().Fence("scope", kFenced, [&](ErrorCode error) { fenced = error; });
        opened.PollUntil([&] { return fenced.has_value(); });
        REQUIRE_FALSE(*fenced);
        if (!merge) continue;
        opened.shard().Compact();
        opened.PollUntil([&] { return opened.shard().Idle(); });
        REQUIRE(opened.shard().stats().merges == 1);
      }
    }
  }

  [[nodiscard]] std::string path() const { return directory_.path() + "/content"; }

  // Relative to path(), in order.
  [[nodiscard]] std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(path())) {
      if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), path()));
    }
    std::ranges::sort(files);
    return files;
  }

  // Copies the directory, changes the copy, and requires a start that refuses it, naming `file`, or
  // has all, or all but the shard of `file`, which is down and is left as it is.
  template <typename Damage>
  Start Try(const fs::path& file, Damage damage) const {
    const TempDirectory directory;
    const std::string copy = directory.path() + "/copy";
    fs::copy(path(), copy, fs::copy_options::recursive);
    damage(copy);
    const fs::path changed = copy / file;
    const auto names_it = [&](const std::string& reason) {
      CHECK_THAT(reason, Catch::Contains(changed.string()) ||
                             Catch::Contains(changed.parent_path().string()));
      CHECK_THAT(reason, Catch::Contains("restore"));
    };
    const std::string its_shard = copy / *file.begin();
    const auto before = FilesBelow(its_shard);
    std::vector<bool> down;
    {
      Diagnostics why;
      const auto workers = OpenShards(copy, 0, ShardOptions(), {}, &why);
      if (!workers) {
        names_it(why.message);
        return Start::kRefused;
      }
      for (const auto& worker : *workers) {
        CHECK(worker->schema() == Options(0).schema);
        down.push_back(worker->down().has_value());
        if (!down.back()) continue;
        CHECK(worker->directory() == its_shard);
        names_it(*worker->down());
      }
    }
    REQUIRE(down.size() == kShards);
    for (std::size_t shard = 0; shard < kShards; ++shard) {
      if (!down[shard]) CheckAll(copy, shard);
    }
    if (std::ranges::count(down, true) == 0) return Start::kWhole;
    CHECK(FilesBelow(its_shard) == before);
    return Start::kDown;
  }

 private:
  void Put(Opened& opened, const std::vector<std::string>& keys, Version version) {
    std::map<std::string, std::optional<std::string>> states;
    for (int i = 0; i < 25; ++i) {
      const std::string& key = keys[random_.Below(keys.size())];
      const std::string value = "name" + std::to_string(random_.Below(20)) + "|rome";
      states[key] = random_.Below(5) == 0 ? std::nullopt : std::optional(value);
    }
    REQUIRE(opened.Write("", 1, version, states) == Errc::kOk);
    for (const auto& [key, value] : states) model_[key] = value;
  }

  void CheckAll(const std::string& copy, std::size_t number) const {
    Opened opened(copy, number, Schema());
    Shard& shard = opened.shard();
    CHECK(shard.schema() == Options(number).schema);
    std::uint64_t there = 0;
    for (const auto& [key, value] : model_) {
      if (ShardOf(key, kShards) != number) continue;
      there += value.has_value();
      std::optional<std::string> read;
      const std::string_view its = key;
      shard.Read(std::span(&its, 1),
                 [&](std::size_t, Stamp, std::optional<std::string_view> found) {
                   if (found) read = *found;
                 });
      CAPTURE(key);
      CHECK(read == value);
    }
    CHECK(shard.size() == there);
    CHECK(opened.Write("scope", kFenced - 1, 1, {{"late", "late"}}) == Errc::kFenced);
  }

  const TempDirectory directory_;
  SplitMix64 random_{11};
  std::map<std::string, std::optional<std::string>> model_;
};

TEST_CASE("a start without one of its files has its shard down, or has all keys") {
  const Content content;
  std::vector<fs::path> missing = content.Files();
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    missing.emplace_back(ShardName(shard));
    missing.emplace_back(ShardName(shard) + "/log");
  }
  for (const fs::path& path : missing) {
    CAPTURE(path.string());
    const Start start =
        content.Try(path, [&](const fs::path& copy) { fs::remove_all(copy / path); });
    const bool no_loss = path.extension() == ".begun";  // Without its mark a log is whole.
    CHECK(start == (path == "shards" ? Start::kRefused : no_loss ? Start::kWhole : Start::kDown));
  }
}

TEST_CASE("a start with a file that is damaged or cut off has its shard down, or has all keys",
          "[long][not_tsan]") {
  const Content content;
  const std::vector<fs::path> files = content.Files();
  const std::uint64_t seed = stout::test::Rounds("STOUT_DAMAGE_SEED", 5);
  CAPTURE(seed);
  SplitMix64 random(seed);
  std::map<std::string, int> noticed;  // By kind of file.
  for (std::uint64_t left = stout::test::Rounds("STOUT_DAMAGE_ROUNDS", 150); left > 0; --left) {
    const fs::path& path = files[random.Below(files.size())];
    std::string bytes = ReadFile(content.path() / path);
    if (bytes.empty()) continue;
    const std::uint64_t at = random.Below(bytes.size());
    const bool cut = random.Below(3) == 0;
    if (cut) {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.Below(8)));
    }
    CAPTURE(path.string(), at, cut);
    const std::string kind = path.has_extension() ? path.extension() : path.filename();
    const Start start =
        content.Try(path, [&](const fs::path& copy) { WriteFile(copy / path, bytes); });
    CHECK((start == Start::kRefused) == (path == "shards"));
    noticed[kind] += start != Start::kWhole;
  }
  CHECK(noticed["manifest"] > 0);
  CHECK(noticed[".records"] > 0);
  CHECK(noticed[".log"] > 0);
}

TEST_CASE("each flipped bit and each cut of the number of shards is noticed", "[not_tsan]") {
  const Content content;
  const std::string text = ReadFile(content.path() + "/shards");
  for (std::size_t at = 0; at < text.size(); ++at) {
    CAPTURE(at);
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = text;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      CHECK(content.Try("shards", [&](const fs::path& copy) {
        WriteFile(copy / "shards", bytes);
      }) == Start::kRefused);
    }
    CHECK(content.Try("shards", [&](const fs::path& copy) {
      WriteFile(copy / "shards", text.substr(0, at));
    }) == Start::kRefused);
  }
}

TEST_CASE("a number of shards without a checksum is checked against the shards, and written anew") {
  const Content content;
  const std::string checked = ReadFile(content.path() + "/shards");
  for (const std::string number : {"1\n", "2\n", "4\n", "0\n", "-3\n", "2 new\n", "3", "\n"}) {
    CAPTURE(number);
    CHECK(content.Try("shards", [&](const fs::path& copy) {
      WriteFile(copy / "shards", number);
    }) == Start::kRefused);
  }
  const TempDirectory directory;
  const std::string copy = directory.path() + "/copy";
  fs::copy(content.path(), copy, fs::copy_options::recursive);
  const std::string old = GENERATE("3\n", "3 new\n");
  WriteFile(copy + "/shards", old);
  REQUIRE(OpenShards(copy, 0, ShardOptions(), {}, nullptr).has_value());
  CHECK(ReadFile(copy + "/shards") == checked);
}

TEST_CASE("a start refuses a damaged shard if all are, or the number of shards is not certain") {
  const Content content;
  const auto remove = [](const fs::path& copy, std::size_t shard) {
    fs::remove(copy / ShardName(shard) / "manifest");
  };
  const std::string first = ShardName(0) + "/manifest";
  CHECK(content.Try(first, [&](const fs::path& copy) {
    for (std::size_t shard = 0; shard < kShards; ++shard) remove(copy, shard);
  }) == Start::kRefused);
  const std::string uncertain = GENERATE("3\n", "3 new\n");
  CAPTURE(uncertain);
  CHECK(content.Try(first, [&](const fs::path& copy) {
    WriteFile(copy / "shards", uncertain);
    remove(copy, 0);
  }) == Start::kRefused);
}

TEST_CASE("the identity of data stays with them, and goes with them") {
  const TempDirectory directory;
  const std::string path = directory.path() + "/data";
  REQUIRE(OpenShards(path, kShards, Options(0), {}, nullptr).has_value());
  const std::string id = OpenDataId(path, nullptr).value();
  CHECK(id.size() == 32);
  REQUIRE(OpenShards(path, kShards, Options(0), {}, nullptr).has_value());
  CHECK(OpenDataId(path, nullptr).value() == id);
  SECTION("its file is damaged") { WriteFile(path + "/data-id", id.substr(1)); }
  SECTION("its file cannot be read") {
    fs::remove(path + "/data-id");
    fs::create_symlink("/proc/self/mem", path + "/data-id");
  }
  SECTION("its file is gone") { fs::remove(path + "/data-id"); }
  SECTION("the shards are gone") {
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().filename() != "data-id") fs::remove_all(entry.path());
    }
    REQUIRE(OpenShards(path, kShards, Options(0), {}, nullptr).has_value());
  }
  const std::string other = OpenDataId(path, nullptr).value();
  CHECK(other != id);
  CHECK(OpenDataId(path, nullptr).value() == other);
}

TEST_CASE("a start that cannot read the number of shards names its file") {
  const TempDirectory directory;
  const std::string path = directory.path() + "/shards";
  REQUIRE(fs::create_directory(path));
  Diagnostics why;
  const auto opened = OpenShards(directory.path(), kShards, Options(0), {}, &why);
  REQUIRE_FALSE(opened.has_value());
  CHECK(why.message.find(path) != std::string::npos);
}

}  // namespace
}  // namespace stout::blowfish
