// tenant-bench: a popular tenant beside another one, over a cache that both share.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <future>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "program/command_line.h"
#include "program/options.h"
#include "stout/adapters/bytes.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/rocksdb_store.h"
#include "stout/core/options.h"
#include "stout/tenants.h"
#include "tenants/trial.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;
using Kind = sim::Reads::Kind;

// Each record has a block of its own.
constexpr std::size_t kBlock = 4096;
constexpr std::size_t kValue = 3900;
// A record in memory, with its key.
constexpr std::size_t kRecord = 4300;

struct Settings {
  std::string directory;
  std::string store;
  std::string scenario = "uniform";
  std::string side = "adaptive";
  double share = 1;
  double yield_pause = LaneOptions().yield_pause;
  std::size_t records = 500'000;
  std::size_t cache = std::size_t{96} << 20;
  std::size_t clients = 16;
  std::size_t threads = 16;
  std::size_t warm = 400'000;
  std::size_t together = 400'000;
  Duration measured_for = std::chrono::seconds(3);
  std::string samples;
  bool fill = false;
};

RocksDbOptions StoreOptions(const Settings& settings, std::size_t cache) {
  return {.path = settings.directory,
          .sync = false,
          .read_threads = settings.threads,
          .cache_bytes = cache,
          // The order of a cache with few blocks should not depend on where keys fall.
          .cache_shard_bits = 0,
          .block_bytes = kBlock,
          .direct_reads = true};
}

std::unique_ptr<RocksDbStore> OpenRocksDb(const Settings& settings, std::size_t cache) {
  Diagnostics why;
  auto store = RocksDbStore::Open(StoreOptions(settings, cache), &why);
  if (!store) throw std::runtime_error(why.message);
  return *std::move(store);
}

std::unique_ptr<Store> Open(const Settings& settings, std::size_t cache,
                            asio::thread_pool& threads) {
  if (settings.store.empty()) return OpenRocksDb(settings, cache);
  Diagnostics why;
  auto store = OpenStore(settings.store, threads.get_executor(), &why);
  if (!store) throw std::runtime_error(why.message);
  return *std::move(store);
}

void Write(const Settings& settings, Store& store) {
  SplitMix64 random(1);
  for (std::size_t next = 0; next < settings.records;) {
    WriteBatch batch{.epoch = 1, .items = {}};
    for (; next < settings.records && batch.items.size() < 1000; ++next) {
      std::string value(kValue, ' ');  // must not be compressed: a block is a record
      for (char& c : value) c = static_cast<char>(random.Next());
      batch.items.push_back({.key = KeyOf(next), .value = std::move(value), .version = next + 1});
    }
    std::promise<WriteResult> done;
    for (const WriteItem& item : batch.items) batch.bytes += item.key.size() + item.value.size();
    store.Write(batch, [&](WriteResult result) { done.set_value(std::move(result)); });
    if (done.get_future().get().batch != Errc::kOk) throw std::runtime_error("a write has failed");
  }
}

void Fill(const Settings& settings) {
  if (settings.store.empty()) {
    const auto store = OpenRocksDb(settings, settings.cache);
    Write(settings, *store);
    if (store->Compact()) throw std::runtime_error("cannot compact");
  } else {
    asio::thread_pool threads(1);
    Write(settings, *Open(settings, 0, threads));
  }
}

// The paper's regime: the hot set is 1.2 times as large as the cache.
std::size_t HotRecords(const Settings& settings) { return settings.cache / kRecord * 12 / 10; }

// Returns the problem, or "". A hot set moves by its size, and a loop reads twice as much behind
// it.
std::string Check(const Settings& settings) {
  if (settings.directory.empty() == settings.store.empty()) return "give --rocksdb or --store";
  const std::size_t least = 4 * HotRecords(settings);
  if (settings.fill || settings.records >= least) return {};
  return fmt::format("--records must be at least {}, four hot sets of --cache-bytes {}", least,
                     FormatBytes(settings.cache));
}

Trial MakeTrial(const Settings& settings) {
  const std::size_t hot = HotRecords(settings);
  const std::size_t data = settings.records - 2 * hot;
  const auto tenant = [&](std::string name, const sim::Reads& reads) {
    return TenantLoad{
        .name = std::move(name), .reads = reads, .first_key = 2 * hot, .clients = settings.clients};
  };
  const sim::Reads popular{.kind = Kind::kZipf, .keys = hot, .skew = .99};
  Trial trial{.tenants = {{.name = "popular", .reads = popular}},
              .warm = settings.warm,
              .together = settings.together,
              .measured = settings.together / 2,
              .measured_for = settings.measured_for};
  const std::string& scenario = settings.scenario;
  if (scenario == "uniform" || scenario == "move") {
    trial.tenants.push_back(tenant("uniform", {.kind = Kind::kUniform, .keys = data}));
  } else if (scenario == "skewed") {
    trial.tenants.push_back(tenant("skewed", {.kind = Kind::kZipf, .keys = data, .skew = .6}));
  } else if (scenario == "scans") {
    trial.tenants.push_back(tenant("scans", {.kind = Kind::kScans, .keys = data}));
  } else if (scenario == "loop") {
    trial.tenants.push_back(tenant("loop", {.kind = Kind::kLoop, .keys = hot * 2}));
  } else if (scenario == "popular") {
    trial.tenants.push_back(tenant("popular too", popular));
  } else if (scenario == "other-alone") {
    trial.tenants = {tenant("uniform", {.kind = Kind::kUniform, .keys = data})};
  } else if (scenario == "scans-alone") {
    trial.tenants = {tenant("scans", {.kind = Kind::kScans, .keys = data})};
  }
  if (scenario == "move" || scenario == "move-alone") {
    // From 50,000 requests after the move on. All sides have the same number of requests to follow.
    trial.move = true;
    trial.together = 150'000;
    trial.measured = 100'000;
    trial.measured_for = {};
  }
  return trial;
}

void Print(const Settings& settings, const std::vector<TenantResult>& results) {
  std::string tenants;
  for (const TenantResult& result : results) {
    fmt::format_to(std::back_inserter(tenants),
                   "{}{{\"name\":\"{}\",\"requests\":{},\"hit_rate\":{:.4f},\"rate_per_s\":{:.0f},"
                   "\"p50_us\":{:.1f},\"p99_us\":{:.1f},\"share\":{:.4f},\"reason\":\"{}\"}}",
                   tenants.empty() ? "" : ",", result.name, result.requests, result.hit_rate,
                   result.rate_per_s, result.p50_us, result.p99_us, result.stats.share,
                   NameOf(result.stats.reason));
  }
  const std::string store = settings.store.substr(0, settings.store.find(':'));
  fmt::print(
      "{{\"store\":\"{}\",\"scenario\":\"{}\",\"side\":\"{}\",\"share\":{},"
      "\"yield_pause\":{},\"tenants\":[{}]}}\n",
      store.empty() ? "rocksdb" : store, settings.scenario, settings.side, settings.share,
      settings.yield_pause, tenants);
}

void Measure(const Settings& settings) {
  // The hot set has the same size in half of the cache.
  const std::size_t cache_bytes = settings.cache / (settings.scenario == "half-alone" ? 2 : 1);
  const bool s3_fifo = settings.side == "s3-fifo";
  const bool map = s3_fifo || settings.side == "records" || settings.side == "map";
  // The index of RocksDB takes about an eighth of the cache.
  std::size_t blocks = map ? cache_bytes / 6 : cache_bytes;
  if (!settings.store.empty()) blocks = 0;
  asio::thread_pool threads(1);
  const auto store = Open(settings, blocks, threads);
  const auto tenants = std::make_shared<Tenants>();
  store->Obey(tenants);
  Trial trial = MakeTrial(settings);
  std::ofstream samples;
  if (!settings.samples.empty()) {
    samples.open(settings.samples);
    if (!samples) throw std::runtime_error("cannot write " + settings.samples);
    trial.sample = [&](std::uint64_t requests, const std::vector<TenantStats>& of) {
      samples << requests;
      for (TenantId t = 0; t < trial.tenants.size(); ++t)
        samples << ' ' << (t < of.size() ? of[t].bytes : 0) / double{1 << 20};
      samples << '\n';
    };
  }
  if (settings.side != "adaptive" && settings.side != "records") {
    for (TenantId t = 0; t < trial.tenants.size(); ++t)
      tenants->Admit(t, t > 0 && settings.side == "static" ? settings.share : 1);
  }
  const std::size_t rest = cache_bytes - blocks;
  const auto cache = s3_fifo ? MakeS3FifoCache(*store, rest)
                     : map   ? MakeMapCache(*store, rest, settings.yield_pause, tenants)
                             : MakeStoreCache(*store);
  Print(settings, Run(trial, *cache));
}

int Main(int argc, const char* const* argv) {
  CLI::App app("Reads for two tenants through one cache, and prints what each got as JSON.",
               "tenant-bench");
  program::Options options(app);
  Settings settings;
  options.Group("Store");
  options.Text("--rocksdb", settings.directory, "The directory of a RocksDB", "DIR");
  options.Text("--store", settings.store, "Another store, for the sides map, records and s3-fifo",
               "URL");
  options.Count("--records", settings.records, 1000, 1'000'000'000,
                "Records of 4 KiB, each in a block of its own");
  options.Bytes("--cache-bytes", settings.cache, 1 << 20, "The cache that the tenants share");
  options.Flag("--fill", settings.fill, "Write the records, and end");
  options.Group("Trial");
  const auto words = [](std::initializer_list<const char*> all) {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const char* const word : all) pairs.emplace_back(word, word);
    return pairs;
  };
  options.Choice(
      "--scenario", settings.scenario,
      words({"alone", "uniform", "skewed", "scans", "loop", "popular", "move", "move-alone",
             "other-alone", "scans-alone", "half-alone"}),
      "What reads beside the popular tenant. move: uniform, and the hot set changes; "
      "other-alone, scans-alone: these without it; half-alone: the popular one in half of the "
      "cache");
  options.Choice("--side", settings.side,
                 words({"default", "static", "adaptive", "map", "records", "s3-fifo"}),
                 "Who may fill the cache. default: all; static: the other tenant by --share; map: "
                 "all, in a map before the store; records: adaptive, in a map; s3-fifo: as S3-FIFO "
                 "decides, in a cache like the map");
  options.Number("--share", settings.share, 0, 1, "The share of --side static");
  options.Number("--yield-pause", settings.yield_pause, 0, 1000,
                 "LaneOptions::yield_pause of --side records");
  options.Count("--clients", settings.clients, 1, 1000,
                "Clients of the other tenant; the popular one has 4");
  options.Count("--threads", settings.threads, 1, 1000, "Threads that read the store");
  options.Count("--warm", settings.warm, 1, 1'000'000'000,
                "Requests of the popular tenant before the other begins");
  options.Count("--together", settings.together, 2, 1'000'000'000,
                "Requests of the popular tenant beside the other. The second half is measured");
  options.Time("--measure-for", settings.measured_for,
               "Measure for this time at least, except in move and move-alone");
  options.Text("--samples", settings.samples,
               "Write what each tenant has of the map's memory, in MiB, a hundred times", "FILE");
  if (const auto code = program::ReadArguments(app, argc, argv, [&] { return Check(settings); }))
    return *code;
  settings.fill ? Fill(settings) : Measure(settings);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace stout::bench

int main(int argc, char** argv) {
  try {
    return stout::bench::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tenant-bench: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
