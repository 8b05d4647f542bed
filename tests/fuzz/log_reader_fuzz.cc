// Any bytes may be read as a log, and damage never shows as other groups than were written.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/log/log_format.h"
#include "blowfish/log/log_reader.h"

namespace stout::blowfish {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// Reads what is there of operations, and writes it again.
void ReadOperations(std::string_view payload) {
  std::string_view rest = payload;
  std::string again;
  while (!rest.empty()) {
    const std::optional<Operation> operation = TakeOperation(&rest);
    if (!operation) break;
    AppendOperation(*operation, &again);
  }
  Require(again == payload.substr(0, again.size()));
  Require(again.size() + rest.size() == payload.size());
}

// The bytes as a file.
void ReadFile(std::string_view file) {
  LogReader reader(DecodeHeader(file).value_or(LogHeader()), file);
  while (const auto payload = reader.Next()) ReadOperations(*payload);
  Require(reader.proven() <= reader.offset());
}

// The first two bytes say where a log is damaged, and how; the rest are its groups, each after its
// length.
void ReadDamaged(std::string_view input) {
  if (input.size() < 3) return;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(input[at]); };
  const std::size_t damage_at = byte(0) * std::size_t{17};
  const char damage = input[1];
  input.remove_prefix(2);
  const LogHeader header{.shard = 1, .sequence = 1, .nonce = 42};
  std::string file = EncodeHeader(header);
  std::vector<std::string> groups;
  while (!input.empty()) {
    const std::size_t length = byte(0);
    groups.emplace_back(input.substr(1, length));
    input.remove_prefix(1 + groups.back().size());
    std::string frame = std::string(kFrameHeadBytes, '\0') + groups.back();
    SealFrame(header, file.size(), file.size(), &frame);
    file += frame;
  }
  const bool damaged = damage != 0 && damage_at < file.size() && damage_at >= kLogHeaderBytes;
  if (damaged) file[damage_at] ^= damage;
  LogReader reader(header, file);
  std::size_t count = 0;
  while (const auto payload = reader.Next()) {
    Require(count < groups.size() && *payload == groups[count]);
    ++count;
  }
  if (!damaged) {
    Require(count == groups.size() && reader.end() == LogReader::End::kClean);
  } else {
    const bool last = count + 1 == groups.size();
    Require(count < groups.size());
    Require(reader.end() == (last ? LogReader::End::kTorn : LogReader::End::kDamaged));
  }
}

}  // namespace
}  // namespace stout::blowfish

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  stout::blowfish::ReadOperations(input);
  stout::blowfish::ReadFile(input);
  stout::blowfish::ReadDamaged(input);
  return 0;
}
