#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "blowfish/log/log_appender.h"
#include "blowfish/log/log_directory.h"
#include "blowfish/log/log_recovery.h"
#include "stout/error.h"

namespace stout::blowfish::test {

inline constexpr std::uint64_t kShard = 7;

// The keys that a group puts.
using Group = std::vector<std::string>;

inline std::string EncodeGroup(const Group& group) {
  std::string frame(kFrameHeadBytes, '\0');
  for (const std::string& key : group) {
    AppendOperation({.key = key, .stamp = {1, 1}, .value = "value"}, &frame);
  }
  return frame;
}

inline Errc CommitGroup(LogAppender& appender, const Group& group) {
  std::string frame = EncodeGroup(group);
  return appender.Commit(&frame);
}

// Content of a file that was not closed, without the room behind its groups.
inline std::string WithoutRoom(std::string file) {
  file.resize(file.find_last_not_of('\0') + 1);
  return file;
}

struct Recovered {
  ErrorCode error;
  std::string message;
  Group keys;  // of all groups
  RecoveredLog log;
};

inline Recovered Recover(LogDirectory& directory, std::uint64_t first_sequence = 0) {
  Recovered recovered;
  Diagnostics diagnostics;
  const auto replay = [&](const Operation& operation) {
    recovered.keys.emplace_back(operation.key);
  };
  const Result<RecoveredLog> log =
      RecoverLog(directory, kShard, first_sequence, replay, &diagnostics);
  if (log) {
    recovered.log = *log;
  } else {
    recovered.error = log.error();
  }
  recovered.message = diagnostics.message;
  return recovered;
}

// The keys of the first `count` groups.
inline Group Join(const std::vector<Group>& groups, std::size_t count) {
  Group keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.insert(keys.end(), groups[i].begin(), groups[i].end());
  }
  return keys;
}

}  // namespace stout::blowfish::test
