#include "tests/support/history_file.h"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <istream>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace stout::test {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 4> kKindNames = {"get", "set", "del", "incr"};
constexpr std::array<std::string_view, 3> kOutcomeNames = {"ok", "fail", "unknown"};

[[noreturn]] void Fault(std::string_view name, std::string_view what) {
  throw std::runtime_error(fmt::format("\"{}\" {}", name, what));
}

// Null where it is null or missing.
const json::value* Find(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

std::int64_t Integer(const json::object& object, std::string_view name) {
  const json::value* const value = Find(object, name);
  if (value == nullptr || !value->is_int64()) Fault(name, "is no integer");
  return value->get_int64();
}

std::string_view Text(const json::object& object, std::string_view name) {
  const json::value* const value = Find(object, name);
  if (value == nullptr || !value->is_string()) Fault(name, "is no string");
  return value->get_string();
}

template <typename Enum, std::size_t size>
Enum Named(const json::object& object, std::string_view name,
           const std::array<std::string_view, size>& names) {
  const std::string_view text = Text(object, name);
  for (std::size_t i = 0; i < size; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  Fault(name, fmt::format("is \"{}\"; it must be one of {}", text, fmt::join(names, ", ")));
}

Operation FromJson(const json::value& line) {
  using Kind = Operation::Kind;
  if (!line.is_object()) throw std::runtime_error("no JSON object");
  const json::object& object = line.get_object();
  Operation op;
  op.client = Integer(object, "client");
  op.op = Named<Kind>(object, "op", kKindNames);
  op.key = Text(object, "key");
  op.outcome = Named<Operation::Outcome>(object, "outcome", kOutcomeNames);
  op.call_ns = Integer(object, "call_ns");
  const bool ok = op.outcome == Operation::Outcome::kOk;
  if (ok || Find(object, "return_ns") != nullptr) op.return_ns = Integer(object, "return_ns");
  if (ok && op.return_ns < op.call_ns) Fault("return_ns", "is before \"call_ns\"");
  if (const json::value* const value = Find(object, "value")) {
    const bool number = op.op == Kind::kIncr && value->is_int64();
    op.value = number ? std::to_string(value->get_int64()) : std::string(Text(object, "value"));
  }
  const bool wanted = op.op == Kind::kSet || (op.op == Kind::kIncr && ok);
  if (wanted && !op.value) Fault("value", "is missing");
  if (op.op == Kind::kDel && op.value) Fault("value", "must be null for a del");
  return op;
}

}  // namespace

std::vector<Operation> ReadHistory(std::istream& lines) {
  std::vector<Operation> history;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      history.push_back(FromJson(json::parse(line)));
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("line {}: {}", number, error.what()));
    }
  }
  return history;
}

void WriteHistory(std::ostream& lines, const std::vector<Operation>& history) {
  for (const Operation& op : history) {
    json::object object;
    object["client"] = op.client;
    object["op"] = kKindNames[static_cast<std::size_t>(op.op)];
    object["key"] = op.key;
    object["value"] = op.value ? json::value(*op.value) : json::value();
    object["call_ns"] = op.call_ns;
    object["return_ns"] =
        op.outcome == Operation::Outcome::kOk ? json::value(op.return_ns) : json::value();
    object["outcome"] = kOutcomeNames[static_cast<std::size_t>(op.outcome)];
    lines << json::serialize(object) << '\n';
  }
}

}  // namespace stout::test
