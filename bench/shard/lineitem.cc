#include "shard/lineitem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <string_view>

#include "shard/text_pool.h"

namespace stout::bench::shard {
namespace {

using blowfish::Record;

// Constants of TPC-H at scale factor 1.
constexpr std::uint64_t kLines = 6'000'000;
constexpr std::uint64_t kParts = 200'000;
constexpr std::uint64_t kSuppliers = 10'000;

constexpr std::uint64_t kMeanValueBytes = 136;  // measured, at 64 MiB
constexpr std::uint64_t kShortestComment = 19;
constexpr std::uint64_t kLongestComment = 68;

// Days from 1992-01-01 to 1998-12-31. The last order can still be received within them.
constexpr std::uint64_t kDays = 2557;
constexpr std::uint64_t kLastOrderDay = kDays - 1 - 151;
constexpr std::uint64_t kCurrentDay = 1263;  // 1995-06-17

constexpr std::array<std::string_view, 4> kInstructions = {"DELIVER IN PERSON", "COLLECT COD",
                                                           "NONE", "TAKE BACK RETURN"};
constexpr std::array<std::string_view, 7> kModes = {"REG AIR", "AIR",  "RAIL", "SHIP",
                                                    "TRUCK",   "MAIL", "FOB"};

std::vector<std::string> MakeDates() {
  using std::chrono::sys_days;
  constexpr sys_days kFirst = std::chrono::year(1992) / std::chrono::January / 1;
  std::vector<std::string> dates;
  dates.reserve(kDays);
  for (std::uint64_t day = 0; day < kDays; ++day) {
    const std::chrono::year_month_day date(kFirst + std::chrono::days(day));
    dates.push_back(fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                                static_cast<unsigned>(date.month()),
                                static_cast<unsigned>(date.day())));
  }
  return dates;
}

std::uint64_t RetailPriceCents(std::uint64_t part) {
  return 90'000 + part / 10 % 20'001 + 100 * (part % 1'000);
}

}  // namespace

const Schema& Lineitem::GetSchema() {
  static const Schema schema =
      Schema::Make({"orderkey", "partkey", "suppkey", "quantity", "extendedprice", "discount",
                    "tax", "returnflag", "linestatus", "shipdate", "commitdate", "receiptdate",
                    "shipinstruct", "shipmode", "comment"},
                   '|')
          .value();
  return schema;
}

Lineitem::Lineitem(const LineitemOptions& options) : options_(options), dates_(MakeDates()) {
  const std::uint64_t lines = options.bytes / kMeanValueBytes + 1;
  parts_ = std::max<std::uint64_t>(200, lines * kParts / kLines);
  suppliers_ = std::max<std::uint64_t>(10, lines * kSuppliers / kLines);
  SplitMix64 seeds(options.seed);
  pool_ =
      MakeTextPool(seeds.Next(), std::clamp<std::uint64_t>(options.bytes / 4, 1 << 20, 16 << 20));
  records_seed_ = seeds.Next();
  Rewind();
}

void Lineitem::Rewind() {
  random_ = SplitMix64(records_seed_);
  bytes_ = orders_ = lines_ = line_ = 0;
}

std::optional<Record> Lineitem::Next() {
  if (bytes_ >= options_.bytes) return std::nullopt;
  if (line_ == lines_) BeginOrder();
  ++line_;
  key_ = ToKey(order_key_ * 8 + line_);
  WriteValue();
  bytes_ += value_.size();
  return Record{.key = View(key_), .stamp = {}, .value = value_};
}

std::uint64_t Lineitem::Between(std::uint64_t low, std::uint64_t high) {
  return low + random_.Below(high - low + 1);
}

void Lineitem::BeginOrder() {
  order_key_ = orders_ / 8 * 32 + orders_ % 8 + 1;
  ++orders_;
  order_day_ = Between(0, kLastOrderDay);
  lines_ = Between(1, 7);
  line_ = 0;
}

// A draw is a statement: what is drawn first must not be left to the compiler.
void Lineitem::WriteValue() {
  const std::uint64_t part = Between(1, parts_);
  const std::uint64_t offer = Between(0, 3);  // of the four suppliers that a part has
  const std::uint64_t supplier =
      (part + offer * (suppliers_ / 4 + (part - 1) / suppliers_)) % suppliers_ + 1;
  const std::uint64_t quantity = Between(1, 50);
  const std::uint64_t price = quantity * RetailPriceCents(part);
  const std::uint64_t discount = Between(0, 10);
  const std::uint64_t tax = Between(0, 8);
  const std::uint64_t shipped = order_day_ + Between(1, 121);
  const std::uint64_t committed = order_day_ + Between(30, 90);
  const std::uint64_t received = shipped + Between(1, 30);
  const char settled = Between(0, 1) == 0 ? 'R' : 'A';
  const std::string_view instruction = kInstructions[random_.Below(kInstructions.size())];
  const std::string_view mode = kModes[random_.Below(kModes.size())];
  const std::uint64_t comment_bytes = Between(kShortestComment, kLongestComment);
  const std::uint64_t comment_at = random_.Below(pool_.size() - comment_bytes);

  value_.clear();
  fmt::format_to(std::back_inserter(value_),
                 "{}|{}|{}|{}|{}.{:02}|0.{:02}|0.{:02}|{}|{}|{}|{}|{}|{}|{}|", order_key_, part,
                 supplier, quantity, price / 100, price % 100, discount, tax,
                 received <= kCurrentDay ? settled : 'N', shipped > kCurrentDay ? 'O' : 'F',
                 dates_[shipped], dates_[committed], dates_[received], instruction, mode);
  value_.append(pool_, comment_at, comment_bytes);
}

}  // namespace stout::bench::shard
