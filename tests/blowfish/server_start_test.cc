// Starts that a server refuses.

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

using Catch::Contains;
using test::BlowfishServer;
using test::RunToEnd;
using test::TempDirectory;

TEST_CASE("a start that cannot be says why") {
  const TempDirectory directory;
  const auto fails = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"timeout", "20", STOUT_BLOWFISH_SERVER});
    try {
      RunToEnd(options);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("it ended well");
  };
  const std::string path = directory.path() + "/shards";
  {
    const BlowfishServer other(2);
    const std::string taken = "127.0.0.1:" + std::to_string(other.port());
    CHECK_THAT(fails({"--dir", path, "--shards", "3", "--listen", taken}),
               Contains("cannot listen on") && Contains("--listen"));
    CHECK_THAT(fails({"--dir", path, "--listen", "127.0.0.1:0", "--metrics", taken}),
               Contains("--metrics: cannot listen on " + taken));
    // A first start that ended among its shards is none that lost the others.
    const std::string half = directory.path() + "/half";
    std::filesystem::create_directories(half);
    std::filesystem::copy(path + "/shard-0000", half + "/shard-0000",
                          std::filesystem::copy_options::recursive);
    std::ofstream(half + "/shards") << "3 new\n";
    const std::string other_half = directory.path() + "/other half";
    std::filesystem::copy(half, other_half, std::filesystem::copy_options::recursive);
    CHECK_THAT(fails({"--dir", other_half, "--listen", taken, "--text-index"}),
               Contains("an earlier start with another --text-index made it") &&
                   Contains("remove " + other_half));
    CHECK_THAT(fails({"--dir", half, "--listen", taken}), Contains("cannot listen on"));
    CHECK(std::filesystem::exists(half + "/shard-0002/manifest"));
  }
  CHECK_THAT(fails({"--dir", path, "--shards", "4"}),
             Contains("has 3 shards, not 4: leave --shards out, or change the number with "
                      "blowfish-server reshard"));
  // Otherwise it would begin again without what it had, or look for keys in other shards.
  const auto move_all = [&](const std::string& from, const std::string& to) {
    for (const std::string shard : {"0", "1", "2"})
      std::filesystem::rename(path + from + shard, path + to + shard);
  };
  move_all("/shard-000", "/lost");
  CHECK_THAT(fails({"--dir", path}), Contains("shard-0000: missing"));
  std::filesystem::create_directories(path + "/shard-0000/lost+found");
  CHECK_THAT(fails({"--dir", path}), Contains("shard-0000: missing"));
  std::filesystem::remove_all(path + "/shard-0000");
  move_all("/lost", "/shard-000");
  std::filesystem::rename(path + "/shards", path + "/lost");
  CHECK_THAT(fails({"--dir", path, "--shards", "1"}), Contains("but not " + path + "/shards"));
  std::filesystem::rename(path + "/lost", path + "/shards");
  CHECK_THAT(fails({"--dir", path, "--metrics", "nowhere", "--listen", ":0"}),
             Contains("--metrics: 'nowhere' is not HOST:PORT"));
  CHECK_THAT(fails({"--dir", path, "--memory-budget", "-1"}),
             Contains("--memory-budget: '-1' is not a size"));
  CHECK_THAT(fails({"--dir", path, "--max-value", "1"}), Contains("--max-value: must be between"));
  CHECK_THAT(fails({"--dir", path, "--max-value", "257MiB"}),
             Contains("--max-value: must be between 64 and 268435456 bytes"));
  CHECK_THAT(fails({"--dir", path, "--max-value", "1MiB", "--max-request", "1MiB"}),
             Contains("--max-request: must be between 1052672 bytes"));
  CHECK_THAT(fails({"--dir", path, "--max-value", "1MiB", "--max-replies", "1000KiB"}),
             Contains("--max-replies: must be at least --max-value, 1048576 bytes"));
  CHECK_THAT(fails({"--dir", path, "--delimiter", ","}),
             Contains("--delimiter requires --attributes"));
  CHECK_THAT(fails({"--dir", "/proc/no"}), Contains("/proc/no: cannot be created"));
  const std::string file = directory.path() + "/file";
  std::ofstream(file) << "x";
  CHECK_THAT(fails({"--dir", file}),
             Contains("--dir: " + file + " is not a directory: name a directory"));
  CHECK_THAT(fails({"--dir", ""}), Contains("--dir: the value is empty: give one"));
  CHECK_THAT(fails({"reshard", "--dir", "", "--shards", "2"}),
             Contains("--dir: the value is empty: give one"));
  CHECK_THAT(fails({}), Contains("--dir is required"));
  CHECK_THAT(fails({"--dir", path, "--listen", "nowhere"}), Contains("is not HOST:PORT"));
  CHECK_THAT(fails({"--dir", path, "--attributes", "a,a"}), Contains("--attributes"));
  for (const std::string names : {"a,,b", ",a", "a,"}) {
    CHECK_THAT(fails({"--dir", path, "--attributes", names}),
               Contains("--attributes: attribute") && Contains("has no name"));
  }
  CHECK_THAT(fails({"--dir", path, "--password-file", "/nowhere"}), Contains("/nowhere"));
}

}  // namespace
}  // namespace stout::blowfish
