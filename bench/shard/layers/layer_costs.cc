#include "shard/layers/layer_costs.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "blowfish/index/record_reader.h"
#include "shard/queries.h"
#include "shard/timing.h"
#include "stout/core/random.h"

namespace stout::bench::shard {
namespace {

using blowfish::LayeredSampledArray;
using blowfish::RecordIndex;
using blowfish::RecordReader;

constexpr std::size_t kAtOnce = 16;
constexpr std::size_t kGetsPerSearch = 10;

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

/// The share of the entries of both arrays that are there. The implied do not count.
double Filled(RecordIndex& index) {
  std::uint64_t entries = 0;
  std::uint64_t filled = 0;
  for (const LayeredSampledArray* const array : ArraysOf(index)) {
    for (const blowfish::LayerInfo& layer : array->Layers()) {
      if (layer.state == blowfish::LayerState::kImplied) continue;
      entries += layer.entries;
      filled += layer.filled;
    }
  }
  return static_cast<double>(filled) / static_cast<double>(std::max<std::uint64_t>(entries, 1));
}

/// Operations that are called by number, and what to call one.
struct Work {
  std::string name;
  std::size_t calls = 0;
  std::size_t operations_per_call = 1;
  std::function<void(std::size_t)> call;
};

class Measurement {
 public:
  Measurement(RecordIndex& index, const Oracle& oracle, const LayerCostOptions& options)
      : index_(index), oracle_(oracle), options_(options), reader_(index), random_(options.seed) {}

  LayerCosts Run() {
    LayerCosts costs;
    costs.filling.push_back(Fill("sweep", [this] { index_.FillLayers(0, index_.records()); }));
    costs.bytes = bytes_;
    costs.filling.push_back(Fill("gets", [this] { (void)WrongGets(index_.records()); }));
    costs.removal = Remove();
    for (const Work& work : Works()) {
      costs.opportunism.push_back(Learn(work, "records", index_.records_at()));
      costs.opportunism.push_back(Learn(work, "places", index_.places_of()));
    }
    return costs;
  }

 private:
  template <typename FillAll>
  LayerCosts::Filling Fill(const char* by, FillAll fill) {
    const double start = ThreadCpuSeconds();
    AddAll(index_);
    fill();
    const double seconds = ThreadCpuSeconds() - start;
    const double filled = Filled(index_);
    bytes_ = index_.records_at().bytes() + index_.places_of().bytes();
    RemoveAll(index_);
    return {.by = by, .reads = index_.records(), .seconds = seconds, .filled = filled};
  }

  /// Reads this number of records at random, 16 at once. Returns how many are not the oracle's.
  std::uint64_t WrongGets(std::uint64_t gets) {
    std::uint64_t wrong = 0;
    std::array<std::uint32_t, kAtOnce> records;
    for (std::uint64_t got = 0; got < gets; got += kAtOnce) {
      const auto some = std::span(records).first(std::min<std::uint64_t>(kAtOnce, gets - got));
      for (std::uint32_t& record : some) {
        record = static_cast<std::uint32_t>(random_.Below(oracle_.size()));
      }
      reader_.GetAll(some, [&](std::size_t i, std::string_view value) {
        wrong += value != oracle_.value(some[i]);
      });
    }
    return wrong;
  }

  LayerCosts::Removal Remove() {
    LayerCosts::Removal removal;
    for (std::size_t round = 0; round < options_.rounds; ++round) {
      AddAll(index_);
      index_.FillLayers(0, index_.records());
      for (LayeredSampledArray* const array : ArraysOf(index_)) {
        for (double start = ThreadCpuSeconds(); array->Remove(); start = ThreadCpuSeconds()) {
          const double took = (ThreadCpuSeconds() - start) * 1000;
          ++removal.layers;
          removal.mean_ms += took;
          removal.most_ms = std::max(removal.most_ms, took);
          removal.reads += options_.reads;
          removal.wrong += WrongGets(options_.reads);
        }
      }
    }
    removal.mean_ms /= static_cast<double>(std::max<std::size_t>(removal.layers, 1));
    return removal;
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
  const Oracle& oracle_;
  const LayerCostOptions& options_;
  RecordReader reader_;
  SplitMix64 random_;
  std::uint64_t bytes_ = 0;
  std::vector<std::uint32_t> records_;
  std::vector<Search> searches_;
};

}  // namespace

LayerCosts MeasureLayers(RecordIndex& index, const Oracle& oracle,
                         const LayerCostOptions& options) {
  return Measurement(index, oracle, options).Run();
}

}  // namespace stout::bench::shard
