// member-bench: clients that SET and GET, over RocksDB members in this process, or against a
// server.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "members/load.h"
#include "program/options.h"

namespace stout::bench {
namespace {

std::string SeenOver(const Timeline& timeline) {
  std::vector<std::int64_t> silences_ms;
  for (const Duration silence : timeline.silences())
    silences_ms.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(silence).count());
  return fmt::format(",\"refused\":{},\"silence_ms\":[{}]", timeline.refused(),
                     fmt::join(silences_ms, ","));
}

std::string MeansOf(const LoadResult& result) {
  return fmt::format(
      ",\"set_us\":{:.1f},\"get_us\":{:.1f},\"relaxed_get_us\":{:.1f},\"scan_us\":{:.1f},"
      "\"missing\":{}",
      result.mean_us(LoadResult::kSet), result.mean_us(LoadResult::kGet),
      result.mean_us(LoadResult::kRelaxedGet), result.mean_us(LoadResult::kScan), result.missing);
}

int Run(int argc, const char* const* argv) {
  CLI::App app("Offers SETs and GETs, and prints their rate and latency as JSON.", "member-bench");
  program::Options options(app);
  Load load;
  std::string directory;
  std::string server;
  std::string timeline_file;
  std::size_t members = 1;
  std::size_t wait = 0;
  options.Group("What is measured: one of --rocksdb and --server");
  options.Text("--rocksdb", directory, "Directories below this one, which this process opens",
               "DIR");
  options.Count("--members", members, 1, 64, "With --rocksdb: how many, all kept equal");
  options.Text("--server", server,
               "Servers that speak RESP, of which each client uses one: the first client the first",
               "HOST:PORT[,HOST:PORT...]");
  options.Flag("--slots", load.slots,
               "With --server: a client sends each request to the owner of its key's slot, which "
               "CLUSTER SLOTS of the first server names. Needs --pipeline 1");
  options.Count("--wait", wait, 0, 64, "With --server: replicas to WAIT for; 0: no WAIT");
  options.Text(
      "--timeline", timeline_file,
      "With --server: a file that gets a line each 100 ms: Unix time, refused requests, p50 "
      "and p99 in us, and SETs of each range. Clients try again after a refusal",
      "FILE");
  options.Group("Load");
  options.Count("--clients", load.clients, 1, 10'000, "Clients, each of which waits for answers");
  options.Count("--ranges", load.ranges, 1, 16'384,
                "With --server: each client has keys of one range alone, of this number of ranges");
  options.Count(
      "--rate", load.rate, 0, 1'000'000,
      "With --server: requests per second of all clients. Each is due at its own time, from "
      "which its latency counts. 0: the next one is sent after the answer");
  options.Count("--pipeline", load.pipeline, 1, 1000, "Requests that a client sends at once");
  options.Count("--keys", load.keys, 1, 1'000'000'000,
                "Keys, chosen uniformly unless --zipf is given");
  options.Number("--zipf", load.zipf, 0, 10,
                 "With --server: exponent of Zipf's law, by which keys are chosen; 0: uniformly");
  options.Count("--gets", load.gets, 0, 100,
                "With --server: percent of the requests that are GETs");
  options.Count("--scans", load.scans, 0, 100,
                "With --server: percent of the requests that list keys in order, with their "
                "values, by STOUT.RANGE. --gets and --scans: at most 100 together");
  options.Count("--scan-keys", load.scan_keys, 1, 1000,
                "A scan lists 1 to this number of keys, chosen uniformly");
  options.Count("--relaxed", load.relaxed, 0, 100,
                "Percent of the GETs that a client sends over a second connection to its server, "
                "which is READONLY. Needs --pipeline 1");
  options.Flag("--fill", load.fill,
               "With --server: SETs each key once, and measures nothing. Needs --pipeline 1");
  options.Bytes("--value-bytes", load.value_bytes, 0, 1 << 20, "Bytes of a value");
  options.Flag(
      "--samples", load.samples,
      "With --server: a value is \"SECONDS NUMBER\", the Unix time of the SET and a number "
      "from 0 to 999, instead of bytes that are all the same");
  options.Time("--warm-up", load.warm_up, "Time before the measurement");
  options.Time("--measure", load.measure, "Measured time");
  try {
    app.parse(argc, argv);
    if (directory.empty() == server.empty())
      throw CLI::ValidationError("give one of --rocksdb and --server");
    const bool routed = load.slots || load.relaxed > 0 || load.fill;
    if (server.empty() &&
        (!timeline_file.empty() || load.ranges > 1 || load.rate > 0 || load.gets > 0 ||
         load.scans > 0 || load.zipf > 0 || load.samples || routed))
      throw CLI::ValidationError(
          "--timeline, --ranges, --rate, --gets, --scans, --zipf, --samples, --slots, --relaxed "
          "and "
          "--fill need --server");
    if (load.gets + load.scans > 100)
      throw CLI::ValidationError("--gets and --scans: at most 100 together");
    if (routed && load.pipeline > 1)
      throw CLI::ValidationError("--slots, --relaxed and --fill need --pipeline 1");
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  std::optional<Timeline> timeline;
  if (!timeline_file.empty()) timeline.emplace(timeline_file, load.ranges);
  LoadResult result = directory.empty()
                          ? RunOnServer(load, server, wait, timeline ? &*timeline : nullptr)
                          : RunOnRocksDb(load, directory, members);
  if (load.fill) return EXIT_SUCCESS;
  if (result.missing > 0) {
    fmt::print(stderr, "member-bench: {} GETs found no key; --fill writes all keys before\n",
               result.missing);
  }
  fmt::print("{{\"rate_per_s\":{:.0f},\"p50_us\":{:.1f},\"p99_us\":{:.1f},\"answered\":{}{}{}}}\n",
             result.rate_per_s(load), result.quantile_us(.5), result.quantile_us(.99),
             result.answered(), load.pipeline == 1 ? MeansOf(result) : "",
             timeline ? SeenOver(*timeline) : "");
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace stout::bench

int main(int argc, char** argv) {
  try {
    return stout::bench::Run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "member-bench: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
