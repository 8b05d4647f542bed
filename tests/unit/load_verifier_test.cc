#include <sstream>
#include <string>

#include "load/value_body.h"
#include "load/verifier.h"
#include "tests/support/catch.h"

namespace stout::load {
namespace {

constexpr std::uint64_t kRun = 77;
constexpr SectionId kSection = 3;

/// A server seen through a verifier: says what it was sent and what it answered.
struct Conversation {
  Verifier verifier{Corpus{.documents = 10}, kRun};

  std::uint64_t Send() { return verifier.BeginWrite(kSection); }
  void Ack(std::uint64_t sequence, Stamp stamp, Stamp known = {}) {
    verifier.OnAcknowledged(kSection, sequence, stamp, known);
  }
  void Read(Stamp stamp, std::uint64_t sequence, Stamp known = {}, std::uint64_t run = kRun) {
    const std::string body = Body(sequence, run);
    verifier.OnRead(kSection, {true, stamp, body}, known);
  }
  void ReadBack(Stamp stamp, std::uint64_t sequence) {
    const std::string body = Body(sequence, kRun);
    verifier.OnReadBack(kSection, {true, stamp, body});
  }
  void ReadBackAbsent() { verifier.OnReadBack(kSection, {}); }

  static std::string Body(std::uint64_t sequence, std::uint64_t run) {
    std::string body;
    AppendBody({run, kSection, sequence}, 100, body);
    return body;
  }
  const Findings& findings() const { return verifier.findings(); }
};

TEST_CASE("an entity tag is a pair of numbers in quotes", "[load]") {
  CHECK(ParseETag("\"3.14\"") == Stamp{3, 14});
  CHECK(ParseETag("\"18446744073709551615.0\"") == Stamp{UINT64_MAX, 0});
  for (const char* bad : {"", "\"", "3.14", "\"3\"", "\"3.\"", "\".14\"", "\"3.14.1\"",
                          "W/\"3.14\"", "\"3.-1\"", "\"18446744073709551616.0\""}) {
    CAPTURE(bad);
    CHECK_FALSE(ParseETag(bad));
  }
}

TEST_CASE("a value says who wrote it, and a mixed one says nothing", "[load]") {
  const BodyTag tag{.run = 1, .section = 42, .sequence = 1234};
  const auto size = kBodyHeaderBytes + GENERATE(0, 1, 195, 4035);
  std::string body;
  AppendBody(tag, size, body);
  CHECK(body.size() == size);
  CHECK(ParseBody(body) == tag);

  std::string other;
  AppendBody({1, 42, 1235}, size, other);
  for (std::size_t cut = 1; cut < size; cut += 7) {
    const std::string mixed = body.substr(0, cut) + other.substr(cut);
    CAPTURE(cut);
    CHECK((mixed == body || mixed == other || !ParseBody(mixed)));
  }
  CHECK_FALSE(ParseBody(body.substr(0, kBodyHeaderBytes - 1)));
}

TEST_CASE("a correct server is found correct", "[load]") {
  Conversation c;
  const auto first = c.Send();
  const auto second = c.Send();
  c.Ack(second, {1, 6});
  c.Ack(first, {1, 5});  // Acknowledged late, by another connection.
  c.Read({1, 6}, second, {1, 6});
  c.Read({1, 5}, first);  // Sent before any acknowledgement.
  c.ReadBack({1, 6}, second);
  CHECK(c.findings().clean());
  CHECK(c.verifier.acknowledged() == 2);
  CHECK(c.verifier.open_writes() == 0);
}

TEST_CASE("an acknowledged write that is gone or older is lost", "[load]") {
  Conversation c;
  const auto old = c.Send();
  c.Ack(old, {1, 5});
  c.Ack(c.Send(), {1, 6}, {1, 5});
  SECTION("gone") { c.ReadBackAbsent(); }
  SECTION("older") { c.ReadBack({1, 5}, old); }
  CHECK(c.findings().lost == 1);
  CHECK(c.findings().examples.size() == 1);
}

TEST_CASE("an older value under the newest or a newer version is stale", "[load]") {
  Conversation c;
  const auto old = c.Send();
  c.Ack(old, {1, 5});
  c.Ack(c.Send(), {1, 6}, {1, 5});
  c.ReadBack(GENERATE(Stamp{1, 6}, Stamp{1, 7}, Stamp{2, 1}), old);
  CHECK(c.findings().stale == 1);
}

TEST_CASE("a write without an answer may have happened or not", "[load]") {
  Conversation c;
  const auto acknowledged = c.Send();
  c.Ack(acknowledged, {1, 5});
  const auto open = c.Send();
  SECTION("it happened") { c.ReadBack({1, 6}, open); }
  SECTION("it did not") { c.ReadBack({1, 5}, acknowledged); }
  SECTION("it happened after all, with nothing acknowledged since") {
    c.ReadBack({1, 5}, acknowledged);
    c.ReadBack({2, 1}, open);
  }
  CHECK(c.findings().clean());
  CHECK(c.verifier.open_writes() == 1);
}

TEST_CASE("what a read showed must not be undone, even if no write was acknowledged", "[load]") {
  Conversation c;
  c.Read({1, 5}, c.Send());
  CHECK(c.findings().clean());
  c.ReadBackAbsent();
  CHECK(c.findings().lost == 1);
}

TEST_CASE("a new owner may write an unchanged value again under its own epoch", "[load]") {
  Conversation c;
  SECTION("one that was acknowledged") {
    const auto sequence = c.Send();
    c.Ack(sequence, {1, 5});
    c.Read({2, 1}, sequence, {1, 5});
    c.ReadBack({3, 1}, sequence);
  }
  SECTION("one from before the run") {
    c.Read({1, 5}, 1, {}, kRun + 1);
    c.Read({2, 1}, 1, {1, 5}, kRun + 1);
  }
  CHECK(c.findings().clean());
}

TEST_CASE("a finding names the newest version that was known before", "[load]") {
  Conversation c;
  const auto old = c.Send();
  c.Ack(old, {1, 5});
  c.Ack(c.Send(), {1, 6}, {1, 5});
  c.ReadBack({2, 1}, old);
  REQUIRE(c.findings().examples.size() == 1);
  CHECK_THAT(c.findings().examples[0], Catch::Contains("(answer: 2.1, newest known: 1.6)"));
}

TEST_CASE("a read that shows less than was known when it was sent is stale", "[load]") {
  Conversation c;
  const auto old = c.Send();
  c.Ack(old, {1, 5});
  c.Ack(c.Send(), {1, 6}, {1, 5});
  SECTION("older version") { c.Read({1, 5}, old, {1, 6}); }
  SECTION("older value") { c.Read({1, 6}, old, {1, 6}); }
  SECTION("nothing") { c.verifier.OnRead(kSection, {}, {1, 6}); }
  CHECK(c.findings().stale_reads == 1);
}

TEST_CASE("answers that no correct server gives are invalid", "[load]") {
  Conversation c;
  c.Ack(c.Send(), {1, 5});
  SECTION("two values with one version") { c.Ack(c.Send(), {1, 5}); }
  SECTION("a version that goes back") { c.Ack(c.Send(), {1, 4}, {1, 5}); }
  SECTION("no version for a write") {
    c.verifier.OnAcknowledged(kSection, c.Send(), std::nullopt, {});
  }
  SECTION("no version for a read") {
    const std::string body = Conversation::Body(c.Send(), kRun);
    c.verifier.OnRead(kSection, {true, std::nullopt, body}, {});
  }
  SECTION("bytes that nobody wrote") { c.verifier.OnRead(kSection, {true, Stamp{1, 6}, "?"}, {}); }
  SECTION("another section's value") {
    std::string body;
    AppendBody({kRun, kSection + 1, c.verifier.BeginWrite(kSection + 1)}, 100, body);
    c.verifier.OnRead(kSection, {true, Stamp{1, 6}, body}, {});
  }
  CHECK(c.findings().invalid == 1);
}

TEST_CASE("a value from before the run is accepted until it is overwritten", "[load]") {
  Conversation c;
  c.Read({1, 3}, 1, {}, kRun + 1);
  c.Read({1, 3}, 1, {1, 3}, kRun + 1);
  CHECK(c.findings().clean());
  c.Ack(c.Send(), {2, 1}, {1, 3});
  c.Read({3, 1}, 1, {2, 1}, kRun + 1);
  CHECK(c.findings().stale_reads == 1);
}

TEST_CASE("a saved verifier goes on where it ended", "[load]") {
  Conversation c;
  const auto acknowledged = c.Send();
  c.Ack(acknowledged, {1, 5});
  const auto open = c.Send();
  std::stringstream file;
  c.verifier.Save(file);
  const std::string text = file.str();

  Conversation later;
  auto loaded = Verifier::Load(file);
  REQUIRE(loaded);
  later.verifier = *loaded;
  CHECK(later.verifier.run() == kRun);
  CHECK(later.verifier.corpus() == Corpus{.documents = 10});
  CHECK(later.verifier.SectionsToReadBack() == std::vector<SectionId>{kSection});
  CHECK(later.Send() > open);
  later.ReadBack({1, 6}, open);
  CHECK(later.findings().clean());
  later.ReadBack({1, 7}, acknowledged);
  CHECK(later.findings().stale == 1);

  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    std::istringstream cut(text.substr(0, length));
    CAPTURE(length);
    CHECK_FALSE(Verifier::Load(cut));
  }
}

}  // namespace
}  // namespace stout::load
