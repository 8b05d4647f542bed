#include "tests/integration/command_stream.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <utility>

namespace stout::test {
namespace {

using namespace std::string_view_literals;

// Longer than what a server repeats in its errors.
const std::string kLongKey(300, 'k');

const std::string_view kKeys[] = {"a", "b", "n", "{t}1", "{t}2", "\0\r\n\xff"sv, "", kLongKey};

constexpr std::string_view kOddIntegers[] = {"9223372036854775807",
                                             "-9223372036854775808",
                                             "9223372036854775808",
                                             "9223372036854775800",
                                             "-9223372036854775807",
                                             "00",
                                             "-0",
                                             "+1",
                                             " 1",
                                             "1 ",
                                             "1.0",
                                             "1e3",
                                             "",
                                             "x",
                                             "1\0"sv};

constexpr std::string_view kOddValues[] = {
    "", "text", "\r\n", "\0\r\n\xff\x80"sv, "$-1\r\n", "*1\r\n", "9223372036854775806", "NX"};

bool IsOne(const Words& words, std::string_view name) {
  return words.size() == 1 && std::ranges::equal(words[0], name, [](unsigned char a, char b) {
           return std::tolower(a) == b;
         });
}

// In a line of text, without quotes.
bool IsPlain(const Words& words) {
  return std::ranges::all_of(words,
                             [](const std::string& word) {
                               return !word.empty() && word.size() < 1000 &&
                                      std::ranges::all_of(word, [](char c) {
                                        return c > ' ' && c < '\x7f' && c != '"' && c != '\'';
                                      });
                             }) &&
         words[0][0] != '*';
}

}  // namespace

void WordSource::OneOf(std::span<const std::string_view> choice) {
  Add(std::string(choice[Below(choice.size())]));
}

void WordSource::OneOf(std::initializer_list<std::string_view> choice) {
  OneOf(std::span(choice.begin(), choice.size()));
}

void WordSource::Key() { OneOf(kKeys); }

void WordSource::Value() {
  switch (Below(4)) {
    case 0:
      return Integer();
    case 1:
      return OneOf(kOddValues);
    case 2:
      return Add(std::string(Below(OneIn(20) ? 20'000 : 100), static_cast<char>(Below(256))));
    default:
      return Add("v" + std::to_string(Below(1000)));
  }
}

void WordSource::Integer() {
  if (OneIn(5)) return OneOf(kOddIntegers);
  Add(std::to_string(static_cast<int>(Below(200)) - 100));
}

void WordSource::Deadline(bool absolute, bool milliseconds) {
  if (OneIn(6)) return OneOf({"0", "-1", "x", "", milliseconds ? "-2" : "9223372036854775807"});
  const std::size_t seconds = (absolute ? 4'000'000'000 : 10'000) + Below(100'000'000);
  Add(std::to_string(seconds * (milliseconds ? 1000 : 1)));
}

CommandStream::CommandStream(std::uint64_t seed, const std::set<std::string_view>& known)
    : random_(seed), expires_(known.contains("expire")) {
  for (const CommandRow& row : CommandRows()) {
    if (row.weight == 0 || !(row.name.empty() || known.contains(row.name))) continue;
    rows_.push_back(&row);
    weights_ += static_cast<std::size_t>(row.weight);
  }
}

CommandStream::Chunk CommandStream::Next() {
  if (random_.Below(20) == 0) return Flood();
  Chunk chunk;
  chunk.connection = random_.Below(3) == 0 ? 1 : 0;
  bool& in_transaction = in_transaction_[chunk.connection];
  const std::size_t size = 1 + random_.Below(random_.Below(2) == 0 ? 3 : 40);
  while (chunk.commands.size() < size && !chunk.ends_session) {
    const Command& command = chunk.commands.emplace_back(NextCommand(in_transaction));
    if (IsOne(command.words, "multi")) in_transaction = true;
    if (IsOne(command.words, "exec") || IsOne(command.words, "discard")) in_transaction = false;
    chunk.ends_session = command.row->name == "quit";
    Encode(command.words, chunk.bytes);
  }
  if (chunk.ends_session) in_transaction = false;
  chunk.split = random_.Below(4) == 0 ? random_.Below(chunk.bytes.size()) : 0;
  return chunk;
}

CommandStream::Chunk CommandStream::Flood() {
  Chunk chunk;
  const CommandRow* const row = &CommandRows().front();  // replies are compared byte by byte
  Words remove = {"DEL"};
  for (int i = 0; i < 12; ++i) {
    remove.push_back("flood-" + std::to_string(i));
    chunk.commands.push_back({{"SET", remove.back(), std::string(100'000, 'x')}, row});
  }
  chunk.commands.push_back({std::move(remove), row});
  for (const Command& command : chunk.commands) Encode(command.words, chunk.bytes);
  return chunk;
}

CommandStream::Command CommandStream::NextCommand(bool in_transaction) {
  const CommandRow& row = Choose(in_transaction);
  WordSource source(random_, expires_);
  std::string name(row.name.substr(0, row.name.find('|')));
  if (source.OneIn(4))
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (!row.name.empty()) source.Add(name);
  if (row.name.find('|') != row.name.npos)
    source.Add(std::string(row.name.substr(row.name.find('|') + 1)));
  row.arguments(source);
  if (row.any_arity && source.OneIn(25)) {
    if (source.words.size() > 1 && source.OneIn(2)) {
      source.words.pop_back();
    } else {
      source.Value();
    }
  }
  return {std::move(source.words), &row};
}

const CommandRow& CommandStream::Choose(bool in_transaction) {
  while (true) {
    std::size_t at = random_.Below(weights_);
    const CommandRow* const row = *std::ranges::find_if(rows_, [&at](const CommandRow* candidate) {
      const auto weight = static_cast<std::size_t>(candidate->weight);
      if (at < weight) return true;
      at -= weight;
      return false;
    });
    if (!in_transaction || row->in_transactions) return *row;
  }
}

void CommandStream::Encode(const Words& words, std::string& bytes) {
  if (random_.Below(10) == 0 && IsPlain(words)) {
    for (const std::string& word : words) bytes += word + " ";
    bytes += random_.Below(2) == 0 ? "\r\n" : "\n";
    return;
  }
  bytes += "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words)
    bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
}

}  // namespace stout::test
