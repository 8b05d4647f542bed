#include "blowfish/load/set_command.h"

#include <fmt/format.h>

namespace stout::blowfish {
namespace {

constexpr std::size_t kHeads = 32;  // bytes around a key and a value, of usual sizes

void AppendHead(std::string& out, char type, std::size_t number) {
  const fmt::format_int digits(number);
  out += type;
  out.append(digits.data(), digits.size()).append("\r\n");
}

void AppendArgument(std::string& out, std::string_view bytes) {
  AppendHead(out, '$', bytes.size());
  out.append(bytes).append("\r\n");
}

}  // namespace

std::string EncodeCommand(const std::vector<std::string_view>& words) {
  std::string out;
  AppendHead(out, '*', words.size());
  for (const std::string_view word : words) AppendArgument(out, word);
  return out;
}

void SetCommand::Add(std::string_view key, std::string_view value, std::uint64_t line) {
  const std::size_t bytes = key.size() + value.size();
  arguments_.reserve(arguments_.size() + bytes + kHeads);
  AppendArgument(arguments_, key);
  AppendArgument(arguments_, value);
  parts_.push_back({arguments_.size(), bytes, line});
  bytes_ += bytes;
}

void SetCommand::AppendTo(std::string& out) const {
  AppendHead(out, '*', 1 + 2 * parts_.size());
  AppendArgument(out, parts_.size() == 1 ? "SET" : "MSET");
  out += arguments_;
}

std::vector<SetCommand> SetCommand::Split() const {
  std::vector<SetCommand> singles;
  singles.reserve(parts_.size());
  std::size_t begin = 0;
  for (const Part& part : parts_) {
    SetCommand& single = singles.emplace_back();
    single.arguments_ = arguments_.substr(begin, part.end - begin);
    single.parts_ = {{single.arguments_.size(), part.bytes, part.line}};
    single.bytes_ = part.bytes;
    begin = part.end;
  }
  return singles;
}

}  // namespace stout::blowfish
