#include "stout/core/options.h"

#include <chrono>
#include <functional>
#include <string>

#include "tests/support/catch.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

TEST_CASE("the defaults are valid", "[options]") { CHECK_FALSE(Validate({}).has_value()); }

TEST_CASE("writes are batched naturally by default", "[options]") {
  CHECK(LaneOptions{}.write_policy.Name() == "natural");
}

TEST_CASE("an option out of range is named", "[options]") {
  struct Case {
    std::string name;
    std::function<void(EngineOptions&)> spoil;
  };
  const Case c = GENERATE(values<Case>({
      {"max_dirty_keys", [](EngineOptions& o) { o.lane.max_dirty_keys = 0; }},
      {"max_dirty_keys", [](EngineOptions& o) { o.lane.max_dirty_keys = std::size_t{1} << 31; }},
      {"max_dirty_bytes", [](EngineOptions& o) { o.lane.max_dirty_bytes = 0; }},
      {"max_delay", [](EngineOptions& o) { o.lane.max_delay = 0ms; }},
      {"max_batch_items", [](EngineOptions& o) { o.lane.max_batch_items = 0; }},
      {"max_batch_bytes", [](EngineOptions& o) { o.lane.max_batch_bytes = 0; }},
      {"max_batches_in_flight", [](EngineOptions& o) { o.lane.max_batches_in_flight = 0; }},
      {"max_pending_reads", [](EngineOptions& o) { o.lane.max_pending_reads = 0; }},
      {"yield_pause", [](EngineOptions& o) { o.lane.yield_pause = -1; }},
      {"yield_pause", [](EngineOptions& o) { o.lane.yield_pause = 1001; }},
      {"max_reads_in_flight", [](EngineOptions& o) { o.lane.max_reads_in_flight = 0; }},
      {"attempt_timeout", [](EngineOptions& o) { o.lane.attempt_timeout = -1ms; }},
      {"retry_first", [](EngineOptions& o) { o.lane.retry_first = 0ms; }},
      {"retry_cap", [](EngineOptions& o) { o.lane.retry_cap = 1ms; }},
      {"max_replies", [](EngineOptions& o) { o.max_replies = 0; }},
      {"reply_deadline", [](EngineOptions& o) { o.reply_deadline = 0ms; }},
  }));
  CAPTURE(c.name);
  EngineOptions options;
  c.spoil(options);
  const auto trouble = Validate(options);
  REQUIRE(trouble.has_value());
  CHECK(trouble->starts_with(c.name + " must be "));
}

TEST_CASE("prefix ordering needs batches that carry all that may be dirty", "[options]") {
  EngineOptions options;
  options.lane.prefix_ordering = true;
  CHECK(Validate(options)->starts_with("max_dirty_keys"));
  options.lane.max_dirty_keys = options.lane.max_batch_items;
  CHECK(Validate(options)->starts_with("max_dirty_bytes"));
  options.lane.max_dirty_bytes = options.lane.max_batch_bytes;
  CHECK_FALSE(Validate(options).has_value());
}

}  // namespace
}  // namespace stout
