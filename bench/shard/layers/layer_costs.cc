#include "shard/layers/layer_costs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "record_reader.h"
#include "shard/queries.h"
#include "shard/timing.h"
#include "stout/core/random.h"

namespace stout::bench::shard {
namespace {

using Clock = std::chrono::steady_clock;
using blowfish::LayeredSampledArray;
using blowfish::RecordIndex;
using blowfish::RecordReader;

constexpr std::size_t kAtOnce = 16;
constexpr std::size_t kGetsPerSearch = 10;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Both arrays of an index.
std::array<LayeredSampledArray*, 2> ArraysOf(RecordIndex& index) {
  return {&index.records_at(), &index.places_of()};
}

void AddAll(RecordIndex& index) {
  for (LayeredSampledArray* const array : ArraysOf(index)) {
    while (array->Add()) {
    }
  }
}

void RemoveAll(RecordIndex& index) {
  for (LayeredSampledArray* const array : ArraysOf(index)) {
    while (array->Remove()) {
    }
  }
}

void FillBy(RecordIndex& index, std::size_t threads) {
  std::vector<std::jthread> fillers;
  const std::uint64_t records = index.records();
  for (std::size_t t = 0; t < threads; ++t) {
    fillers.emplace_back(
        [&index, first = records * t / threads, last = records * (t + 1) / threads] {
          index.FillLayers(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last));
        });
  }
}

/// Reads without pause, and holds what it reads against the oracle.
class Reader {
 public:
  Reader(RecordIndex& index, const Oracle& oracle, std::uint64_t seed)
      : thread_([&index, &oracle, seed, this](const std::stop_token& stop) {
          RecordReader reader(index);
          SplitMix64 random(seed);
          while (!stop.stop_requested()) Read(reader, oracle, random);
        }) {}

  [[nodiscard]] std::uint64_t reads() const { return reads_; }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }

 private:
  void Read(RecordReader& reader, const Oracle& oracle, SplitMix64& random) {
    std::array<std::uint32_t, kAtOnce> records;
    for (std::uint32_t& record : records) {
      record = static_cast<std::uint32_t>(random.Below(oracle.size()));
    }
    std::uint64_t right = 0;
    reader.GetAll(records, [&](std::size_t i, std::string_view value) {
      right += value == oracle.value(records[i]);
    });
    reads_ += records.size();
    wrong_ += records.size() - right;
  }

  std::atomic<std::uint64_t> reads_ = 0;
  std::atomic<std::uint64_t> wrong_ = 0;
  std::jthread thread_;  // The last: it ends before what it uses goes.
};

/// Operations that are called by number, and what to call one.
struct Work {
  std::string name;
  std::size_t calls = 0;
  std::size_t operations_per_call = 1;
  std::function<void(std::size_t)> call;
};

class Measurement {
 public:
  Measurement(RecordIndex& index, blowfish::ReclaimDomain& domain, const Oracle& oracle,
              const LayerCostOptions& options)
      : index_(index), domain_(domain), oracle_(oracle), options_(options), reader_(index) {}

  LayerCosts Run() {
    LayerCosts costs;
    for (const std::size_t threads : options_.threads) costs.filling.push_back(Fill(threads));
    costs.bytes = bytes_;
    costs.removal = Remove();
    for (const Work& work : Works()) {
      costs.opportunism.push_back(Learn(work, "records", index_.records_at()));
      costs.opportunism.push_back(Learn(work, "places", index_.places_of()));
    }
    return costs;
  }

 private:
  LayerCosts::Filling Fill(std::size_t threads) {
    const Clock::time_point start = Clock::now();
    AddAll(index_);
    FillBy(index_, threads);
    const double seconds = MillisecondsSince(start) / 1000;
    bytes_ = index_.records_at().bytes() + index_.places_of().bytes();
    RemoveAll(index_);
    return {.threads = threads, .seconds = seconds};
  }

  LayerCosts::Removal Remove() {
    LayerCosts::Removal removal;
    for (std::size_t round = 0; round < options_.rounds; ++round) {
      AddAll(index_);
      FillBy(index_, 1);
      WaitUntilFreed();
      std::vector<std::unique_ptr<Reader>> readers;
      for (std::size_t r = 0; r < options_.readers; ++r) {
        readers.push_back(std::make_unique<Reader>(index_, oracle_, options_.seed + r));
      }
      for (LayeredSampledArray* const array : ArraysOf(index_)) {
        for (Clock::time_point start = Clock::now(); array->Remove(); start = Clock::now()) {
          WaitUntilFreed();
          const double took = MillisecondsSince(start);
          ++removal.layers;
          removal.mean_ms += took;
          removal.most_ms = std::max(removal.most_ms, took);
        }
      }
      for (const auto& reader : readers) {
        removal.reads += reader->reads();
        removal.wrong += reader->wrong();
      }
    }
    removal.mean_ms /= static_cast<double>(std::max<std::size_t>(removal.layers, 1));
    return removal;
  }
  void WaitUntilFreed() const {
    while (domain_.pending() > 0) std::this_thread::yield();
  }

  std::vector<Work> Works() {
    const std::vector<Get> gets = DrawGets(oracle_, {}, options_.operations, options_.seed);
    for (const Get get : gets) records_.push_back(get.record);
    const std::vector<SearchClass> classes = SearchClasses(oracle_.schema());
    const auto mix = std::ranges::find(classes, "mix8", &SearchClass::name);
    searches_ = DrawSearches(oracle_, *mix, {}, {.searches = options_.operations / kGetsPerSearch},
                             options_.seed);
    return {{.name = "get",
             .calls = records_.size(),
             .call = [this](std::size_t i) { (void)reader_.Get(records_[i]); }},
            {.name = "get x16",
             .calls = records_.size() / kAtOnce,
             .operations_per_call = kAtOnce,
             .call =
                 [this](std::size_t i) {
                   reader_.GetAll(std::span(records_).subspan(i * kAtOnce, kAtOnce),
                                  [](std::size_t, std::string_view) {});
                 }},
            {.name = "search mix8", .calls = searches_.size(), .call = [this](std::size_t i) {
               const Search& search = searches_[i];
               index_.Locate(index_.Search(search.attribute, search.value),
                             [](std::uint32_t) { return true; });
             }}};
  }

  /// Batches without a layer and with an empty one of an array, in turns.
  LayerCosts::Opportunism Learn(const Work& work, const char* of, LayeredSampledArray& array) {
    std::vector<double> without;
    std::vector<double> filling;
    for (std::size_t repeat = 0; repeat < options_.repeats; ++repeat) {
      without.push_back(NanosecondsEach(work));
      array.Add();
      filling.push_back(NanosecondsEach(work));
      array.Remove();
    }
    return {.name = work.name,
            .layer_of = of,
            .without_ns = Median(without),
            .filling_ns = Median(filling)};
  }

  static double NanosecondsEach(const Work& work) {
    const double start = ThreadCpuSeconds();
    for (std::size_t i = 0; i < work.calls; ++i) work.call(i);
    const auto operations = static_cast<double>(work.calls * work.operations_per_call);
    return (ThreadCpuSeconds() - start) * 1e9 / operations;
  }

  RecordIndex& index_;
  blowfish::ReclaimDomain& domain_;
  const Oracle& oracle_;
  const LayerCostOptions& options_;
  RecordReader reader_;
  std::uint64_t bytes_ = 0;
  std::vector<std::uint32_t> records_;
  std::vector<Search> searches_;
};

}  // namespace

LayerCosts MeasureLayers(RecordIndex& index, blowfish::ReclaimDomain& domain, const Oracle& oracle,
                         const LayerCostOptions& options) {
  return Measurement(index, domain, oracle, options).Run();
}

}  // namespace stout::bench::shard
