#include "monitor/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

namespace stout::monitor {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::uint64_t LaneStats::*kCounters[] = {
    &LaneStats::keys_marked, &LaneStats::batches_sent, &LaneStats::writes_sent,
    &LaneStats::writes_done, &LaneStats::retries};

double InSeconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// Returns false if the shard has a new engine, whose counters began at zero. This happens when a
// range returns to this server.
bool IsLaterState(const EngineStats& engine, const EngineStats& before) {
  if (engine.lanes.size() != before.lanes.size()) return false;
  if (engine.reply_latency.count() < before.reply_latency.count()) return false;
  for (std::size_t i = 0; i < engine.lanes.size(); ++i) {
    const LaneStats& lane = before.lanes[i];
    if (engine.lanes[i].store_latency.count() < lane.store_latency.count()) return false;
    for (const auto counter : kCounters) {
      if (engine.lanes[i].*counter < lane.*counter) return false;
    }
  }
  return true;
}

// Two states of the same engine or lane.
template <typename Stats>
struct Step {
  const Stats* before;
  const Stats* now;
};

template <typename Stats, typename Value>
Value Sum(const std::vector<Step<Stats>>& steps, Value Stats::*value) {
  return std::accumulate(
      steps.begin(), steps.end(), Value{},
      [value](Value sum, const Step<Stats>& step) { return sum + step.now->*value; });
}

template <typename Value>
Value Largest(const std::vector<Step<LaneStats>>& steps, Value LaneStats::*value) {
  Value largest{};
  for (const auto& step : steps) largest = std::max(largest, step.now->*value);
  return largest;
}

std::uint64_t Grown(const std::vector<Step<LaneStats>>& steps, std::uint64_t LaneStats::*counter) {
  std::uint64_t sum = 0;
  for (const auto& step : steps) sum += step.now->*counter - step.before->*counter;
  return sum;
}

// Returns the durations that were recorded between the states.
template <typename Stats>
Histogram Recorded(const std::vector<Step<Stats>>& steps, Histogram Stats::*histogram) {
  Histogram recorded;
  for (const auto& [before, now] : steps) {
    recorded.Merge((now->*histogram).Since(before->*histogram));
  }
  return recorded;
}

// Returns the quantile of durations, in seconds, or NaN if there are none.
double Quantile(const Histogram& durations, double q) {
  if (durations.count() == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(durations.Quantile(q)) / http::kNanosPerSecond;
}

// Returns whole numbers unchanged, and other numbers with four digits. NaN becomes null.
json::value ToNumber(double value) {
  if (std::isnan(value)) return nullptr;
  if (value == std::floor(value)) return http::Number(value);
  const double scale = std::pow(10, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

// Returns null if the policy does not say.
template <typename RegimeOrReason>
json::value ToName(RegimeOrReason value) {
  return value == RegimeOrReason::kNone ? json::value(nullptr) : json::value(NameOf(value));
}

// Returns the number after "after=" in the query, or nullopt.
std::optional<double> AfterOf(std::string_view target) {
  constexpr std::string_view kAfter = "after=";
  const auto query = target.find('?');
  const auto begin = query == std::string_view::npos ? query : target.find(kAfter, query);
  if (begin == std::string_view::npos) return std::nullopt;
  target.remove_prefix(begin + kAfter.size());
  double after = 0;
  const auto [end, error] = std::from_chars(target.begin(), target.end(), after);
  return error == std::errc() ? std::optional(after) : std::nullopt;
}

bool IsSeries(const json::value& value) {
  const json::object* series = value.if_object();
  if (series == nullptr || !series->contains("name") || !series->at("name").is_string())
    return false;
  const json::value* columns = series->if_contains("columns");
  return columns != nullptr && columns->is_object() &&
         std::all_of(columns->get_object().begin(), columns->get_object().end(),
                     [](const auto& column) { return column.value().is_array(); });
}

// Returns true if the page can show the value as a run.
bool IsRun(const json::value& value) {
  const json::object* run = value.if_object();
  if (run == nullptr || !run->contains("label") || !run->at("label").is_string()) return false;
  const json::value* series = run->if_contains("series");
  return series != nullptr && series->is_array() &&
         std::all_of(series->get_array().begin(), series->get_array().end(), IsSeries);
}

// Ranges of several tables have the same numbers and members.
std::string StoreIn(const ShardSnapshot& shard) {
  return shard.table.empty() ? shard.member : shard.table + ':' + shard.member;
}

}  // namespace

// --- History ------------------------------------------------------------------------------------

const History::Column History::kColumns[] = {
    {"time", &Second::time},
    {"requests_per_second", &Second::requests, false},
    {"changes_per_second", &Second::changes},
    {"writes_per_second", &Second::writes},
    {"batches_per_second", &Second::batches},
    {"retries_per_second", &Second::retries},
    {"reply_p50_seconds", &Second::reply_p50},
    {"reply_p99_seconds", &Second::reply_p99},
    {"store_p50_seconds", &Second::store_p50},
    {"store_p99_seconds", &Second::store_p99},
    {"batch_items", &Second::batch_items},
    {"interval_seconds", &Second::interval},
    {"gap_seconds", &Second::gap},
    {"tick_seconds", &Second::tick},
    {"window", &Second::window},
    {"batches_in_flight", &Second::batches_in_flight},
    {"dirty_keys", &Second::dirty_keys},
    {"dirty_bytes", &Second::dirty_bytes},
    {"replies_held", &Second::replies_held},
};

struct History::Steps {
  std::vector<Step<EngineStats>> engines;
  std::vector<Step<LaneStats>> lanes;

  [[nodiscard]] Second ToSecond(double time, double length) const {
    const auto rate = [&](std::uint64_t LaneStats::*counter) {
      return static_cast<double>(Grown(lanes, counter)) / length;
    };
    const auto sum = [&](auto LaneStats::*value) { return static_cast<double>(Sum(lanes, value)); };
    const auto longest = [&](Duration LaneStats::*value) {
      return InSeconds(Largest(lanes, value));
    };
    const Histogram replies = Recorded(engines, &EngineStats::reply_latency);
    const Histogram batch_calls = Recorded(lanes, &LaneStats::store_latency);
    const std::uint64_t batches = Grown(lanes, &LaneStats::batches_sent);
    const std::uint64_t items = Grown(lanes, &LaneStats::writes_sent);
    return {
        .time = time,
        .changes = rate(&LaneStats::keys_marked),
        .writes = rate(&LaneStats::writes_done),
        .batches = rate(&LaneStats::batches_sent),
        .retries = rate(&LaneStats::retries),
        .reply_p50 = Quantile(replies, .5),
        .reply_p99 = Quantile(replies, .99),
        .store_p50 = Quantile(batch_calls, .5),
        .store_p99 = Quantile(batch_calls, .99),
        .batch_items =
            batches == 0 ? kNothing : static_cast<double>(items) / static_cast<double>(batches),
        .interval = longest(&LaneStats::interval),
        .gap = longest(&LaneStats::gap),
        .tick = longest(&LaneStats::tick),
        .window = static_cast<double>(Largest(lanes, &LaneStats::window)),
        .batches_in_flight = sum(&LaneStats::batches_in_flight),
        .dirty_keys = sum(&LaneStats::dirty_keys),
        .dirty_bytes = sum(&LaneStats::dirty_bytes),
        .replies_held = static_cast<double>(Sum(engines, &EngineStats::replies_held)),
    };
  }
};

const EngineStats& History::Before(const ShardSnapshot& shard) const {
  const auto before = std::find_if(before_.begin(), before_.end(), [&](const ShardSnapshot& one) {
    return one.shard == shard.shard && one.member == shard.member && one.table == shard.table;
  });
  static const EngineStats fresh;
  return before != before_.end() && IsLaterState(shard.engine, before->engine) ? before->engine
                                                                               : fresh;
}

void History::Add(Duration now, std::vector<ShardSnapshot> shards, std::uint64_t requests) {
  if (LanesOf(shards) > kMaxLanes) return;
  // Times are whole milliseconds, so that a client can repeat one exactly in GET /history?after=.
  const double time = std::round(InSeconds(now) * 1e3) / 1e3;
  const double length = std::max(1e-3, time - (total_.empty() ? 0 : total_.back().time));
  static const LaneStats fresh;
  Steps all;
  for (const ShardSnapshot& shard : shards) {
    const Step<EngineStats> engine = {&Before(shard), &shard.engine};
    all.engines.push_back(engine);
    for (std::size_t i = 0; i < shard.engine.lanes.size(); ++i) {
      const Step<LaneStats> step = {
          engine.before->lanes.empty() ? &fresh : &engine.before->lanes[i], &shard.engine.lanes[i]};
      all.lanes.push_back(step);
      const std::tuple place(shard.shard, StoreIn(shard), i);
      if (lanes_.size() >= kDetailedLanes && !lanes_.contains(place)) continue;
      Lane& lane = lanes_[place];
      lane.policy = step.now->policy;
      lane.seconds.push_back(Steps{{engine}, {step}}.ToSecond(time, length));
      lane.seconds.back().regime = step.now->regime;
      lane.seconds.back().reason = step.now->reason;
    }
  }
  total_.push_back(all.ToSecond(time, length));
  total_.back().requests = static_cast<double>(requests - requests_) / length;
  // A lane that no longer exists is removed when all of its seconds are too old to be shown.
  std::erase_if(lanes_, [&](const auto& lane) {
    return lane.second.seconds.back().time < total_.front().time;
  });
  before_ = std::move(shards);
  requests_ = requests;
}

std::size_t History::lanes() const { return LanesOf(before_); }

std::size_t History::LanesOf(const std::vector<ShardSnapshot>& shards) {
  return std::accumulate(
      shards.begin(), shards.end(), std::size_t{0},
      [](std::size_t sum, const ShardSnapshot& shard) { return sum + shard.engine.lanes.size(); });
}

json::object History::ToColumns(const Seconds& seconds, double after, bool total) {
  const auto first = std::find_if(seconds.begin(), seconds.end(),
                                  [after](const Second& second) { return second.time > after; });
  json::object columns;
  for (const auto& [name, value, of_lanes] : kColumns) {
    if (!total && !of_lanes) continue;
    json::array values;
    values.reserve(static_cast<std::size_t>(std::distance(first, seconds.end())));
    for (auto second = first; second != seconds.end(); ++second) {
      values.push_back(value == &Second::time ? json::value(second->time)
                                              : ToNumber((*second).*value));
    }
    columns[name] = std::move(values);
  }
  if (total) return columns;
  json::array regimes;
  json::array reasons;
  for (auto second = first; second != seconds.end(); ++second) {
    regimes.push_back(ToName(second->regime));
    reasons.push_back(ToName(second->reason));
  }
  columns["regime"] = std::move(regimes);
  columns["reason"] = std::move(reasons);
  return columns;
}

json::array History::Series(double after) const {
  json::array series;
  if (total_.empty()) return series;
  series.push_back({{"name", "total"}, {"columns", ToColumns(total_, after, true)}});
  for (const auto& [place, lane] : lanes_) {
    const auto& [shard, member, number] = place;
    json::object one{{"name", member.empty() ? fmt::format("{}/{}", shard, number)
                                             : fmt::format("{}/{}/{}", shard, member, number)},
                     {"shard", shard},
                     {"lane", number},
                     {"policy", lane.policy},
                     {"columns", ToColumns(lane.seconds, after, false)}};
    if (!member.empty()) one["member"] = member;
    series.push_back(std::move(one));
  }
  return series;
}

// --- Recorded runs ------------------------------------------------------------------------------

std::string ReadRecorded(const std::string& file, json::array& runs) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in.is_open())
    return fmt::format("cannot read {}: give a file with an answer of GET /history", file);
  boost::system::error_code ec;
  json::value run = json::parse(text.str(), ec);
  json::array read;
  if (!ec && run.is_object()) {
    if (const json::value* recorded = run.get_object().if_contains("recorded")) {
      if (recorded->is_array()) read = recorded->get_array();
    }
    read.push_back(std::move(run));
  }
  if (read.empty() || !std::all_of(read.begin(), read.end(), IsRun)) {
    return fmt::format(
        "{} is not an answer of GET /history: get one with curl http://HOST:PORT/history", file);
  }
  for (json::value& one : read) one = {{"label", one.at("label")}, {"series", one.at("series")}};
  runs = std::move(read);
  return {};
}

// --- Recorder -----------------------------------------------------------------------------------

HistoryRecorder::HistoryRecorder(const asio::any_io_executor& executor, Collect collect,
                                 About about)
    : collect_(std::move(collect)),
      about_(std::move(about)),
      timer_(asio::any_io_executor(asio::make_strand(executor))) {}

void HistoryRecorder::Show(json::array recorded) {
  const std::lock_guard lock(mutex_);
  recorded_ = std::move(recorded);
}

void HistoryRecorder::Start() {
  if (about_.max_lanes > History::kMaxLanes) return;
  asio::post(timer_.get_executor(), [this] {
    timer_.expires_at(started_);
    Wait();
  });
}

void HistoryRecorder::Stop() {
  asio::post(timer_.get_executor(), [this] {
    stopped_ = true;
    timer_.cancel();
  });
}

// Records the next second one second after the last. If seconds were missed, because the machine
// was suspended or busy, they become one long second.
void HistoryRecorder::Wait() {
  if (stopped_) return;
  timer_.expires_at(
      std::max(timer_.expiry() + std::chrono::seconds(1), std::chrono::steady_clock::now()));
  timer_.async_wait([this](boost::system::error_code cut) {
    if (cut) return;
    collect_([this](std::vector<ShardSnapshot> shards, std::uint64_t requests) {
      asio::post(timer_.get_executor(), [this, shards = std::move(shards), requests]() mutable {
        {
          const std::lock_guard lock(mutex_);
          history_.Add(Uptime(), std::move(shards), requests);
        }
        Wait();
      });
    });
  });
}

std::string HistoryRecorder::Answer(std::string_view target, const json::array& members) const {
  const std::optional<double> after = AfterOf(target);
  const auto started =
      std::chrono::duration_cast<std::chrono::milliseconds>(started_at_.time_since_epoch());
  const std::lock_guard lock(mutex_);
  json::object answer = {{"label", about_.policy},
                         {"program", about_.program},
                         {"policy", about_.policy},
                         {"store", about_.store},
                         {"lanes", history_.lanes()},
                         {"started_ms", started.count()},
                         {"uptime_seconds", ToNumber(std::round(InSeconds(Uptime()) * 1e3) / 1e3)},
                         {"series", history_.Series(after.value_or(-1))}};
  if (!after) answer["recorded"] = recorded_;
  if (!members.empty()) answer["members"] = members;
  return json::serialize(answer) + '\n';
}

}  // namespace stout::monitor
