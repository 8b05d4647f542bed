// The directory of a server and its backups, as a client and a start see them.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <future>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "blowfish/index/shard_of.h"
#include "blowfish/server/open_shards.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/resp_client.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using test::BlowfishServer;
using test::RespClient;
using test::TempDirectory;

TEST_CASE("a shard with other attributes than most shards is down") {
  struct Case {
    std::vector<std::string> attributes;
    std::size_t down;
  };
  const auto [attributes, down] =
      GENERATE(Case{{"a", "b"}, 1}, Case{{"a", "b", "b"}, 0}, Case{{"a", "a", "b"}, 2});
  const TempDirectory directory;
  for (std::size_t shard = 0; shard < attributes.size(); ++shard) {
    ShardOptions options{.shard = shard, .schema = Schema::Make({attributes[shard]}, '|').value()};
    REQUIRE(
        ShardWorker::Open(ShardPath(directory.path(), shard), shard, options, nullptr).has_value());
  }
  REQUIRE_FALSE(NoteShards(directory.path(), attributes.size(), nullptr));
  const auto shards = OpenShards(directory.path(), 0, {}, {}, nullptr);
  REQUIRE(shards.has_value());
  REQUIRE(shards->size() == attributes.size());
  for (std::size_t shard = 0; shard < attributes.size(); ++shard) {
    CHECK((*shards)[shard]->schema() == (*shards)[down == 0 ? 1 : 0]->schema());
    CHECK((*shards)[shard]->down().has_value() == (shard == down));
  }
  CHECK_THAT(*(*shards)[down]->down(),
             StartsWith(ShardPath(directory.path(), down) + ": it has other attributes than ") &&
                 Contains("restore it"));
}

TEST_CASE(
    "a backup of a server under load has what was acknowledged, and is a server's directory") {
  BlowfishServer server(3, {"--freeze-bytes", "16KB", "--merge-bytes", "64KB", "--text-index"});
  const TempDirectory directory;
  const std::string copy = directory.path() + "/copy";
  RespClient client(server.port());
  std::map<std::string, std::string> before;
  for (int i = 0; i < 500; ++i) {
    const std::string key = "k" + std::to_string(i);
    before[key] = std::string(100, static_cast<char>('a' + i % 26));
    REQUIRE(client.Do({"SET", key, before[key]}) == "+OK");
  }
  std::atomic<bool> over = false;
  std::jthread load([&] {
    RespClient other(server.port());
    for (int i = 0; !over; ++i)
      CHECK(other.Do({"SET", "more" + std::to_string(i), std::string(200, 'x')}) == "+OK");
  });
  CHECK(client.Do({"STOUT.BACKUP", copy}) == "+OK");
  over = true;
  load.join();
  CHECK_THAT(client.Do({"STOUT.BACKUP", copy}), StartsWith("-ERR " + copy + ": exists"));
  CHECK_THAT(client.Do({"STOUT.BACKUP", "copy"}), Contains("absolute path"));
  CHECK_THAT(client.Do({"STOUT.BACKUP", directory.path() + "/../copy"}), Contains("absolute path"));
  CHECK_THAT(client.Do({"STOUT.BACKUP", "/proc/copy"}), StartsWith("-ERR /proc/copy"));
  CHECK_THAT(client.Do({"STOUT.BACKUP", directory.path() + "/new/copy"}), StartsWith("-ERR "));
  const std::filesystem::directory_iterator made(directory.path());
  CHECK(std::distance(begin(made), end(made)) == 1);  // nothing temporary is left
  // Not among the shards, which a start would refuse.
  const std::string link = directory.path() + "/link";
  std::filesystem::create_directory_symlink(server.DataDirectory(), link);
  CHECK_THAT(client.Do({"STOUT.BACKUP", server.DataDirectory() + "/copy"}),
             Contains("of the server"));
  CHECK_THAT(client.Do({"STOUT.BACKUP", link + "/copy"}), Contains("of the server"));
  REQUIRE(client.Do({"FLUSHALL"}) == "+OK");

  Diagnostics why;
  const auto shards = OpenShards(copy, 0, {}, {}, &why);
  CAPTURE(why.message);
  REQUIRE(shards.has_value());
  REQUIRE(shards->size() == 3);
  std::uint64_t keys = 0;
  for (const auto& shard : *shards) {
    CHECK(shard->text_index());
    keys += shard->status().keys;
    shard->Start([](SubBatch&) {});
  }
  CHECK(keys >= before.size());
  for (const auto& [key, value] : before) {
    std::promise<std::string> found;
    (*shards)[ShardOf(key, 3)]->queue().Push([&found, key = key](Shard& shard) {
      const std::string_view view = key;
      std::string value = "none";
      shard.Read(std::span(&view, 1), [&](std::size_t, Stamp, std::optional<std::string_view> its) {
        if (its) value = *its;
      });
      found.set_value(value);
    });
    REQUIRE(found.get_future().get() == value);
  }
  CHECK_FALSE(std::filesystem::exists(copy + "/data-id"));  // it is other data from now on
}

}  // namespace
}  // namespace stout::blowfish
