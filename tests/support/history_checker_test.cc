#include "tests/support/history_checker.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/history_file.h"

namespace stout::test {
namespace {

using Catch::Contains;
using Kind = Operation::Kind;
using Outcome = Operation::Outcome;
using Verdict = Judgement::Verdict;

std::vector<std::filesystem::path> Kept(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(STOUT_HISTORIES "/" + folder)) {
    files.push_back(entry.path());
  }
  return files;
}

std::vector<Operation> ReadKept(const std::filesystem::path& file) {
  std::ifstream lines(file);
  return ReadHistory(lines);
}

std::string ReasonOf(const std::string& name) {
  return JudgeHistory(ReadKept(STOUT_HISTORIES "/bad/" + name + ".jsonl")).reason;
}

// The parameters of a random history. `permille` of the operations have an outcome that is not ok.
struct Shape {
  int clients = 3;
  int operations = 7;
  int keys = 1;
  int values = 3;  // 0: each write has its own.
  std::uint64_t permille = 300;
  std::uint64_t longest = 10;  // From a call to its return.
  bool increments = true;
};

// Linearizable by construction: each operation takes effect at a moment between its call and its
// return, in the order of these moments.
std::vector<Operation> Generate(SplitMix64& random, const Shape& shape) {
  struct Planned {
    Operation op;
    std::int64_t moment;
    bool happens = true;
  };
  std::vector<Planned> plan;
  std::vector<std::int64_t> now(static_cast<std::size_t>(shape.clients));
  for (int i = 0; i < shape.operations; ++i) {
    const std::size_t client = random.Below(now.size());
    Planned next;
    Operation& op = next.op;
    op.client = static_cast<std::int64_t>(client);
    op.key = "k" + std::to_string(random.Below(static_cast<std::uint64_t>(shape.keys)));
    op.op = static_cast<Kind>(random.Below(shape.increments ? 4 : 3));
    if (op.op == Kind::kSet) {
      const auto value = shape.values == 0 ? static_cast<std::uint64_t>(i)
                                           : random.Below(static_cast<std::uint64_t>(shape.values));
      op.value = std::to_string(value);
    }
    op.call_ns = now[client] + static_cast<std::int64_t>(random.Below(4));
    next.moment = op.call_ns + static_cast<std::int64_t>(random.Below(shape.longest));
    op.return_ns = next.moment + static_cast<std::int64_t>(random.Below(shape.longest));
    now[client] = op.return_ns + 1;
    if (random.Below(1000) < shape.permille) {
      const std::uint64_t fate = random.Below(3);
      op.outcome = fate == 0 ? Outcome::kFail : Outcome::kUnknown;
      next.happens = fate == 1;
      if (fate == 1) next.moment += static_cast<std::int64_t>(random.Below(50));
    }
    plan.push_back(next);
  }
  std::stable_sort(plan.begin(), plan.end(),
                   [](const Planned& a, const Planned& b) { return a.moment < b.moment; });
  std::vector<std::optional<std::string>> state(static_cast<std::size_t>(shape.keys));
  std::vector<Operation> history;
  for (Planned& planned : plan) {
    Operation& op = planned.op;
    auto& value = state[static_cast<std::size_t>(std::stoi(op.key.substr(1)))];
    if (op.op == Kind::kGet) {
      op.value = value;
    } else if (planned.happens && op.op == Kind::kIncr) {
      value = std::to_string(value ? std::stoll(*value) + 1 : 1);
      if (op.outcome == Outcome::kOk) op.value = value;
    } else if (planned.happens) {
      value = op.value;
    }
    history.push_back(op);
  }
  return history;
}

// Tries every order of the operations of one key. `left`: those that are not placed, a bit each.
bool BruteForce(const std::vector<Operation>& history, std::uint32_t left,
                const std::optional<std::string>& state) {
  bool more = false;
  for (std::size_t i = 0; i < history.size(); ++i) {
    if ((left >> i & 1) == 0) continue;
    const Operation& op = history[i];
    if (op.outcome == Outcome::kOk) more = true;
    bool too_early = op.outcome == Outcome::kFail;
    for (std::size_t j = 0; j < history.size(); ++j) {
      const bool before =
          history[j].outcome == Outcome::kOk && history[j].return_ns < op.call_ns && j != i;
      if ((left >> j & 1) != 0 && before) too_early = true;
    }
    if (too_early) continue;
    std::optional<std::string> next = op.value;
    const bool ok = op.outcome == Outcome::kOk;
    if (op.op == Kind::kGet) {
      if (!ok || op.value != state) continue;
    } else if (op.op == Kind::kIncr) {
      next = std::to_string(state ? std::stoll(*state) + 1 : 1);
      if (ok && op.value != next) continue;
    }
    if (BruteForce(history, left & ~(1U << i), next)) return true;
  }
  return !more;
}

}  // namespace

TEST_CASE("each kept good history is linearizable", "[history]") {
  const auto files = Kept("good");
  REQUIRE(files.size() >= 10);
  for (const auto& file : files) {
    const Judgement judgement = JudgeHistory(ReadKept(file));
    CAPTURE(file.filename(), judgement.key, judgement.reason);
    CHECK(judgement.verdict == Verdict::kLinearizable);
  }
}

TEST_CASE("each kept bad history is rejected", "[history]") {
  const auto files = Kept("bad");
  REQUIRE(files.size() >= 10);
  for (const auto& file : files) {
    const Judgement judgement = JudgeHistory(ReadKept(file));
    CAPTURE(file.filename());
    CHECK(judgement.verdict == Verdict::kViolated);
    CHECK(judgement.key == (file.stem() == "one-key-of-three" ? "b" : "k"));
  }
}

TEST_CASE("a violation names the operation and the reason", "[history]") {
  CHECK(
      ReasonOf("stale-read") ==
      "no order explains the get by client 2 (4 to 5 ns), which returned \"a\": that was replaced "
      "by the set by client 1 (2 to 3 ns)");
  CHECK_THAT(ReasonOf("lost-acknowledged-write"),
             Contains("returned absent: the key could only be \"a\""));
  CHECK_THAT(ReasonOf("resurrected-delete"), Contains("replaced by the del by client 1"));
  CHECK_THAT(ReasonOf("failed-write-seen"), Contains("its only write failed"));
  CHECK_THAT(ReasonOf("read-from-nowhere"), Contains("nobody wrote that"));
  CHECK_THAT(ReasonOf("read-from-the-future"), Contains("that was written later"));
  CHECK_THAT(ReasonOf("two-increments-with-equal-result"), Contains("the incr by client"));
}

TEST_CASE("the verdict on small random histories is that of all orders tried", "[history]") {
  int rejected = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    CAPTURE(seed);
    SplitMix64 random(seed);
    const Shape shape{.clients = 1 + static_cast<int>(random.Below(4)),
                      .operations = 1 + static_cast<int>(random.Below(7)),
                      .values = static_cast<int>(random.Below(4)),
                      .increments = random.Below(2) == 0};
    std::vector<Operation> history = Generate(random, shape);
    REQUIRE(BruteForce(history, (1U << history.size()) - 1, std::nullopt));
    REQUIRE(JudgeHistory(history).verdict == Verdict::kLinearizable);
    Operation& changed = history[random.Below(history.size())];
    switch (random.Below(4)) {
      case 0:
        changed.value = history[random.Below(history.size())].value;
        break;
      case 1:
        changed.outcome = changed.value ? Outcome::kOk : Outcome::kFail;
        break;
      case 2:
        changed.return_ns = changed.call_ns;
        break;
      default:
        std::swap(changed.value, history[random.Below(history.size())].value);
    }
    for (Operation& op : history) {  // what a mutation must not leave behind
      if (op.op == Kind::kSet && !op.value) op.value = "0";
      if (op.op == Kind::kDel) op.value.reset();
      if (op.op == Kind::kIncr && op.outcome == Outcome::kOk && !op.value) op.value = "1";
    }
    const bool good = BruteForce(history, (1U << history.size()) - 1, std::nullopt);
    if (!good) ++rejected;
    REQUIRE((JudgeHistory(history).verdict == Verdict::kLinearizable) == good);
  }
  CHECK(rejected > 500);
}

TEST_CASE("a history of 100,000 operations is judged, and one wrong answer in it found",
          "[history]") {
  const auto [keys, values] = GENERATE(table<int, int>({{1, 0}, {50, 5}, {5'000, 0}}));
  CAPTURE(keys, values);
  SplitMix64 random(7);
  std::vector<Operation> history = Generate(random, {.clients = 8,
                                                     .operations = 100'000,
                                                     .keys = keys,
                                                     .values = values,
                                                     .permille = 50,
                                                     .increments = false});
  CHECK(JudgeHistory(history).verdict == Verdict::kLinearizable);
  const auto read = std::find_if(history.begin() + 50'000, history.end(), [](const Operation& op) {
    return op.op == Kind::kGet && op.outcome == Outcome::kOk;
  });
  const auto write = std::find_if(history.begin(), history.end(), [&](const Operation& op) {
    return op.op == Kind::kSet && op.outcome == Outcome::kOk && op.key == read->key;
  });
  REQUIRE(write - history.begin() < 45'000);
  read->value = values == 0 ? write->value : "of nobody";
  const Judgement judgement = JudgeHistory(history);
  CHECK(judgement.verdict == Verdict::kViolated);
  CHECK(judgement.key == read->key);
}

TEST_CASE("a search beyond its limit is reported as undecided", "[history]") {
  // Each order of twelve writes is tried before an increment that none of them explains.
  std::vector<Operation> history;
  for (int i = 0; i < 12; ++i) {
    history.push_back({.client = i,
                       .op = Kind::kSet,
                       .key = "k",
                       .value = std::to_string(i),
                       .call_ns = 0,
                       .return_ns = 10});
  }
  history.push_back(
      {.client = 1, .op = Kind::kIncr, .key = "k", .value = "77", .call_ns = 11, .return_ns = 12});
  CHECK(JudgeHistory(history, 100).verdict == Verdict::kUndecided);
  CHECK(JudgeHistory(history).verdict == Verdict::kViolated);
}

TEST_CASE("a history that is written and read again is the same", "[history]") {
  SplitMix64 random(3);
  std::vector<Operation> history = Generate(random, {.operations = 200, .keys = 5});
  history[0].key = "\"\\\n\x01 \xc3\xa4";
  for (Operation& op : history) {
    if (op.outcome != Outcome::kOk) op.return_ns = 0;
  }
  std::stringstream lines;
  WriteHistory(lines, history);
  CHECK(ReadHistory(lines) == history);
}

TEST_CASE("a malformed line of a history is refused with its number", "[history]") {
  const std::string good =
      R"({"client":1,"op":"incr","key":"k","value":7,"call_ns":1,"return_ns":2,"outcome":"ok"})";
  std::istringstream number(good + "\n\n");
  CHECK(ReadHistory(number).at(0).value == "7");
  struct Case {
    std::string line, fault;
  };
  const std::vector<Case> cases = {
      {"{", "line 2: "},
      {"[]", "line 2: no JSON object"},
      {R"({"client":"x"})", "line 2: \"client\" is no integer"},
      {R"({"client":1,"op":"put"})", "\"op\" is \"put\"; it must be one of get, set, del, incr"},
      {R"({"client":1,"op":"get","key":3})", "\"key\" is no string"},
      {R"({"client":1,"op":"get","key":"k","outcome":"maybe"})", "ok, fail, unknown"},
      {R"({"client":1,"op":"get","key":"k","outcome":"ok"})", "\"call_ns\" is no integer"},
      {R"({"client":1,"op":"get","key":"k","outcome":"ok","call_ns":1})", "\"return_ns\" is no"},
      {R"({"client":1,"op":"get","key":"k","outcome":"ok","call_ns":2,"return_ns":1})", "before"},
      {R"({"client":1,"op":"set","key":"k","outcome":"fail","call_ns":2})", "\"value\" is missing"},
  };
  for (const auto& [line, fault] : cases) {
    std::istringstream lines(good + "\n" + line + "\n");
    CHECK_THROWS_WITH(ReadHistory(lines), Contains(fault));
  }
}

}  // namespace stout::test
