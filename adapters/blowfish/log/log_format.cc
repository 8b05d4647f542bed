#include "blowfish/log/log_format.h"

#include <fmt/format.h>

#include <bit>
#include <cassert>
#include <cstring>

#include "blowfish/index/bytes_hash.h"
#include "stout/core/parse_number.h"

namespace stout::blowfish {
namespace {

static_assert(std::endian::native == std::endian::little, "integers are copied as they are");

constexpr std::string_view kMagic = "stoutlg1";
constexpr std::string_view kExtension = ".log";
constexpr std::string_view kMarkExtension = ".begun";
constexpr std::size_t kSequenceDigits = 20;

template <typename Number>
void Append(Number number, std::string* out) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out->append(bytes, sizeof number);
}

template <typename Number>
Number Load(std::string_view bytes, std::size_t offset) {
  assert(offset + sizeof(Number) <= bytes.size());
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

template <typename Number>
void Store(Number number, std::size_t offset, std::string* bytes) {
  std::memcpy(bytes->data() + offset, &number, sizeof number);
}

// Any odd factor makes neighbouring offsets differ in all bits; this one is that of SplitMix64.
std::uint64_t FrameSeed(const LogHeader& header, std::uint64_t offset) {
  return header.nonce + offset * 0x9e3779b97f4a7c15;
}

std::string NameOf(std::uint64_t sequence, std::string_view extension) {
  return fmt::format("{:0{}}{}", sequence, kSequenceDigits, extension);
}

std::optional<std::uint64_t> SequenceIn(std::string_view file_name, std::string_view extension) {
  if (file_name.size() != kSequenceDigits + extension.size()) return std::nullopt;
  if (!file_name.ends_with(extension)) return std::nullopt;
  return internal::ParseNumber<std::uint64_t>(file_name.substr(0, kSequenceDigits));
}

}  // namespace

std::string EncodeHeader(const LogHeader& header) {
  std::string bytes(kMagic);
  Append(header.shard, &bytes);
  Append(header.sequence, &bytes);
  Append(header.previous.sequence, &bytes);
  Append(header.previous.offset, &bytes);
  Append(header.nonce, &bytes);
  Append(Xxh3(bytes), &bytes);
  return bytes;
}

std::optional<LogHeader> DecodeHeader(std::string_view file) {
  constexpr std::size_t kChecked = kLogHeaderBytes - 8;
  if (file.size() < kLogHeaderBytes || !file.starts_with(kMagic)) return std::nullopt;
  if (Load<std::uint64_t>(file, kChecked) != Xxh3(file.substr(0, kChecked))) return std::nullopt;
  LogHeader header;
  header.shard = Load<std::uint64_t>(file, 8);
  header.sequence = Load<std::uint64_t>(file, 16);
  header.previous.sequence = Load<std::uint64_t>(file, 24);
  header.previous.offset = Load<std::uint64_t>(file, 32);
  header.nonce = Load<std::uint64_t>(file, 40);
  return header;
}

std::string LogFileName(std::uint64_t sequence) { return NameOf(sequence, kExtension); }
std::optional<std::uint64_t> SequenceOf(std::string_view file_name) {
  return SequenceIn(file_name, kExtension);
}

std::string LogMarkName(std::uint64_t sequence) { return NameOf(sequence, kMarkExtension); }
std::optional<std::uint64_t> MarkedSequenceOf(std::string_view file_name) {
  return SequenceIn(file_name, kMarkExtension);
}

std::string_view AppendOperation(const Operation& operation, std::string* payload) {
  char deleted_at[sizeof operation.deleted_at_ms];
  std::memcpy(deleted_at, &operation.deleted_at_ms, sizeof deleted_at);
  const std::string_view value = operation.kind == Operation::Kind::kDelete
                                     ? std::string_view(deleted_at, sizeof deleted_at)
                                     : operation.value;
  assert(operation.key.size() <= kMaxPayloadBytes);
  assert(value.size() <= kMaxPayloadBytes);
  Append(operation.kind, payload);
  Append(static_cast<std::uint32_t>(operation.key.size()), payload);
  Append(static_cast<std::uint32_t>(value.size()), payload);
  Append(operation.stamp.epoch, payload);
  Append(operation.stamp.version, payload);
  payload->append(operation.key);
  payload->append(value);
  return std::string_view(*payload).substr(payload->size() - value.size() - operation.key.size(),
                                           operation.key.size());
}

std::optional<Operation> TakeOperation(std::string_view* payload) {
  if (payload->size() < kOperationHeadBytes) return std::nullopt;
  const std::uint64_t key_bytes = Load<std::uint32_t>(*payload, 1);
  const std::uint64_t value_bytes = Load<std::uint32_t>(*payload, 5);
  if (payload->size() - kOperationHeadBytes < key_bytes + value_bytes) return std::nullopt;
  Operation operation;
  operation.kind = static_cast<Operation::Kind>((*payload)[0]);
  operation.stamp.epoch = Load<std::uint64_t>(*payload, 9);
  operation.stamp.version = Load<std::uint64_t>(*payload, 17);
  operation.key = payload->substr(kOperationHeadBytes, key_bytes);
  const std::string_view value = payload->substr(kOperationHeadBytes + key_bytes, value_bytes);
  switch (operation.kind) {
    case Operation::Kind::kPut:
      operation.value = value;
      break;
    case Operation::Kind::kDelete:
      if (value.size() != 8) return std::nullopt;
      operation.deleted_at_ms = Load<std::uint64_t>(value, 0);
      break;
    case Operation::Kind::kFence:
      if (operation.stamp.version != 0 || !value.empty()) return std::nullopt;
      break;
    case Operation::Kind::kEpoch:
      if (operation.stamp.version != 0 || key_bytes + value_bytes != 0) return std::nullopt;
      break;
    default:
      return std::nullopt;
  }
  payload->remove_prefix(kOperationHeadBytes + key_bytes + value_bytes);
  return operation;
}

void SealFrame(const LogHeader& header, std::uint64_t offset, std::uint64_t synced,
               std::string* frame) {
  assert(frame->size() >= kFrameHeadBytes);
  assert(frame->size() - kFrameHeadBytes <= kMaxPayloadBytes);
  Store(synced, 8, frame);
  Store(static_cast<std::uint32_t>(frame->size() - kFrameHeadBytes), 16, frame);
  Store(Xxh3(std::string_view(*frame).substr(8), FrameSeed(header, offset)), 0, frame);
}

std::optional<Frame> DecodeFrame(const LogHeader& header, std::string_view file,
                                 std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < kFrameHeadBytes) return std::nullopt;
  file.remove_prefix(offset);
  const std::uint32_t length = Load<std::uint32_t>(file, 16);
  if (file.size() - kFrameHeadBytes < length) return std::nullopt;
  const std::string_view checked = file.substr(8, kFrameHeadBytes - 8 + length);
  if (Load<std::uint64_t>(file, 0) != Xxh3(checked, FrameSeed(header, offset))) {
    return std::nullopt;
  }
  return Frame{Load<std::uint64_t>(file, 8), file.substr(kFrameHeadBytes, length)};
}

std::uint64_t PeekSynced(std::string_view file, std::uint64_t offset) {
  return Load<std::uint64_t>(file, offset + 8);
}

}  // namespace stout::blowfish
