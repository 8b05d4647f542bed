#include "policies/sweep.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stout/core/random.h"

namespace stout::bench {
namespace {

/// Limit of the search, as a multiple of the highest rate of the sweep, if that rate was sustained.
/// Beyond it the bench itself is measured, not the store.
constexpr double kBeyond = 4;
/// These trials are longer: a growing latency must show.
constexpr int kLonger = 2;
/// Start of the search, as a divisor of the lowest rate, if that rate was not sustained.
constexpr double kBelow = 64;

std::vector<Setting> MakeSettings(const BenchOptions& options) {
  std::vector<Setting> settings;
  for (const StoreChoice& store : options.stores) {
    for (const std::size_t servers : options.servers) {
      for (const std::size_t documents : options.documents) {
        Setting setting{store, servers, documents, {}};
        for (const Policy& policy : options.policies) {
          PolicyResults results{policy.Name(), {}, {}};
          for (const double rate : options.rates) results.points.push_back({rate, {}});
          setting.policies.push_back(std::move(results));
        }
        settings.push_back(std::move(setting));
      }
    }
  }
  return settings;
}

class Bench {
 public:
  Bench(const BenchOptions& options, const TrialRunner& run_trial, const OnTrial& on_trial,
        const std::atomic<bool>& interrupted)
      : options_(options),
        run_trial_(run_trial),
        on_trial_(on_trial),
        interrupted_(interrupted),
        seeds_(options.seed),
        settings_(MakeSettings(options)) {}

  std::vector<Setting> Run() {
    for (std::size_t i = 0; i < options_.repetitions; ++i) {
      for (Setting& setting : settings_) Sweep(setting, i == 0);
    }
    for (Setting& setting : settings_) {
      const auto& wanted = options_.sustained;
      if (std::find(wanted.begin(), wanted.end(), setting.servers) != wanted.end()) {
        FindCapacities(setting);
      }
    }
    std::erase_if(settings_, [](const Setting& setting) { return !setting.measured(); });
    return std::move(settings_);
  }

 private:
  /// Brackets the capacity of a policy; `high` is 0 until a rate was too much.
  struct Bracket {
    double low = 0, high = 0;

    [[nodiscard]] double Next() const {
      return std::round(high == 0 ? low * 2 : std::sqrt(low * high));
    }
  };

  // Returns nullopt if interrupted.
  std::optional<TrialResult> Try(const Setting& setting, const Policy& policy, double rate,
                                 int length) {
    if (interrupted_) return std::nullopt;
    on_trial_(setting, policy, rate);
    const TrialSpec spec{.store_url = setting.store.url,
                         .servers = setting.servers,
                         .documents = setting.documents,
                         .value_bytes = options_.value_bytes,
                         .rate = rate,
                         .warmup = options_.warmup,
                         .measure = options_.measure * length,
                         .patience = options_.max_p99,
                         .seed = seeds_.Next(),
                         .step = Step(),
                         .slice = options_.slice};
    const TrialResult result = run_trial_(spec, policy, interrupted_);
    if (interrupted_) return std::nullopt;
    return result;
  }

  [[nodiscard]] std::optional<RateStep> Step() const {
    if (options_.step <= 0) return std::nullopt;
    return RateStep{.at = options_.warmup, .factor = options_.step};
  }

  void Sweep(Setting& setting, bool first) {
    for (std::size_t rate = 0; rate < options_.rates.size(); ++rate) {
      for (std::size_t i = 0; i < options_.policies.size(); ++i) {
        std::vector<Point>& points = setting.policies[i].points;
        if (!Wanted(points, rate, first)) continue;
        // A trial may fail once, because the machine may have been busy with other work.
        const int attempts = first ? 2 : 1;
        for (int attempt = 0; attempt < attempts; ++attempt) {
          const auto result = Try(setting, options_.policies[i], points[rate].rate, 1);
          if (!result) return;
          points[rate].trials.push_back(*result);
          if (result->Sustained(options_.max_p99)) break;
        }
      }
    }
  }

  // The first time, up to the rate that is too much; later, that one is not asked for again.
  [[nodiscard]] bool Wanted(const std::vector<Point>& points, std::size_t rate, bool first) const {
    const std::size_t judged = first && rate > 0 ? rate - 1 : rate;
    if (first && rate == 0) return true;
    return std::any_of(points[judged].trials.begin(), points[judged].trials.end(),
                       [&](const TrialResult& t) { return t.Sustained(options_.max_p99); });
  }

  [[nodiscard]] Bracket BracketOf(const std::vector<Point>& points) const {
    Bracket bracket{points.front().rate / kBelow, 0};
    for (const Point& point : points) {
      if (!point.measured() || !point.Sustained(options_.max_p99)) {
        bracket.high = point.rate;
        break;
      }
      bracket.low = point.rate;
    }
    return bracket;
  }

  // By doubling, then by bisection on a logarithmic scale, the policies taking turns.
  void FindCapacities(Setting& setting) {
    std::vector<Bracket> brackets;
    for (PolicyResults& results : setting.policies) {
      brackets.push_back(BracketOf(results.points));
      results.capacity = CapacityOf(results.points);
    }
    const double limit = options_.rates.back() * kBeyond;
    for (int step = 0; step < options_.search_steps; ++step) {
      for (std::size_t i = 0; i < options_.policies.size(); ++i) {
        const double rate = brackets[i].Next();
        if (rate <= limit && !Narrow(setting, i, rate, brackets[i])) return;
      }
    }
    for (std::size_t i = 0; i < brackets.size(); ++i) {
      if (auto& capacity = setting.policies[i].capacity) capacity->at_least = brackets[i].high == 0;
    }
  }

  // False if interrupted.
  bool Narrow(Setting& setting, std::size_t policy, double rate, Bracket& bracket) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto result = Try(setting, options_.policies[policy], rate, kLonger);
      if (!result) return false;
      if (!result->Sustained(options_.max_p99)) continue;
      bracket.low = rate;
      setting.policies[policy].capacity = Capacity{rate, false, *result};
      return true;
    }
    bracket.high = rate;
    return true;
  }

  // The results of the sweep alone.
  [[nodiscard]] std::optional<Capacity> CapacityOf(const std::vector<Point>& points) const {
    std::optional<Capacity> capacity;
    for (const Point& point : points) {
      if (!point.measured() || !point.Sustained(options_.max_p99)) break;
      capacity = Capacity{point.rate, false, point.Median()};
    }
    return capacity;
  }

  const BenchOptions& options_;
  const TrialRunner& run_trial_;
  const OnTrial& on_trial_;
  const std::atomic<bool>& interrupted_;
  SplitMix64 seeds_;
  std::vector<Setting> settings_;
};

}  // namespace

bool Point::Sustained(Duration max_p99) const {
  const auto sustained = std::count_if(trials.begin(), trials.end(), [&](const TrialResult& trial) {
    return trial.Sustained(max_p99);
  });
  return 2 * static_cast<std::size_t>(sustained) >= trials.size();
}

bool Setting::measured() const {
  return std::any_of(policies.begin(), policies.end(), [](const PolicyResults& results) {
    return !results.points.empty() && results.points.front().measured();
  });
}

std::vector<Setting> Measure(const BenchOptions& options, const TrialRunner& run_trial,
                             const OnTrial& on_trial, const std::atomic<bool>& interrupted) {
  return Bench(options, run_trial, on_trial, interrupted).Run();
}

}  // namespace stout::bench
