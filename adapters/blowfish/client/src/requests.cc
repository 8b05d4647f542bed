#include "requests.h"

#include <fmt/format.h>

#include <string_view>

namespace stout::blowfish::client {
namespace {

// A number as an argument, without an allocation.
class Digits {
 public:
  explicit Digits(std::uint64_t number) : digits_(number) {}
  [[nodiscard]] std::string_view text() const { return {digits_.data(), digits_.size()}; }

 private:
  fmt::format_int digits_;
};

}  // namespace

Commands AskForShards() {
  Commands commands;
  commands.Add({"STOUT.SHARDS"});
  return commands;
}

Commands EncodeWrite(const WriteBatch& batch, std::span<const std::uint32_t> items, LaneId shard) {
  constexpr std::size_t kBefore = 4;  // The name, shard, scope, epoch.
  std::size_t arguments = kBefore;
  for (const std::uint32_t i : items) {
    arguments += batch.items[i].kind == WriteKind::kPut ? 4 : 3;
  }
  Commands commands;
  commands.Begin(arguments);
  commands.Argument("STOUT.WRITE");
  commands.Argument(Digits(shard).text());
  commands.Argument(batch.scope);
  commands.Argument(Digits(batch.epoch).text());
  for (const std::uint32_t i : items) {
    const WriteItem& item = batch.items[i];
    const bool put = item.kind == WriteKind::kPut;
    commands.Argument(put ? "PUT" : "DEL");
    commands.Argument(item.key);
    commands.Argument(Digits(item.version).text());
    if (put) commands.Argument(item.value);
  }
  return commands;
}

Commands EncodeRead(std::span<const std::string> keys, std::span<const std::uint32_t> items,
                    LaneId shard) {
  Commands commands;
  commands.Begin(2 + items.size());
  commands.Argument("STOUT.READ");
  commands.Argument(Digits(shard).text());
  for (const std::uint32_t i : items) commands.Argument(keys[i]);
  return commands;
}

Commands EncodeNewEpoch() {
  Commands commands;
  commands.Add({"STOUT.EPOCH"});
  return commands;
}

Commands EncodeFence(const Scope& scope, Epoch epoch) {
  Commands commands;
  commands.Add({"STOUT.FENCE", scope, Digits(epoch).text()});
  return commands;
}

}  // namespace stout::blowfish::client
