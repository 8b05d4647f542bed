#include "blowfish/log/log_reader.h"

#include <algorithm>

namespace stout::blowfish {

std::optional<std::string_view> LogReader::Next() {
  const std::optional<Frame> frame = DecodeFrame(header_, file_, offset_);
  if (!frame || frame->synced > offset_) {
    end_ = JudgeRest();
    return std::nullopt;
  }
  offset_ += kFrameHeadBytes + frame->payload.size();
  proven_ = std::max(proven_, frame->synced);
  return frame->payload;
}

LogReader::End LogReader::JudgeRest() {
  if (offset_ >= file_.size()) return End::kClean;
  for (std::uint64_t at = offset_ + 1; at + kFrameHeadBytes <= file_.size(); ++at) {
    // A frame speaks of what stands before it. That leaves hardly any offset to take a checksum of.
    const std::uint64_t synced = PeekSynced(file_, at);
    if (synced <= offset_ || synced > at || !DecodeFrame(header_, file_, at)) continue;
    witness_ = at;
    return End::kDamaged;
  }
  return End::kTorn;
}

}  // namespace stout::blowfish
