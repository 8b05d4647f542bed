#pragma once

#include <map>
#include <string>
#include <utility>

#include "scripted_resp_server.h"

namespace stout::test {

// Answers the commands of the tests as a Redis would.
struct RedisAnswers {
  std::string write = "*0\r\n";
  std::string note_epoch = "+OK\r\n";
  std::string fence = ":1\r\n";
  std::string epoch = ":7\r\n";
  std::string read = "*1\r\n$-1\r\n";
  std::string get = "$-1\r\n";
  std::string mset = "+OK\r\n";
  std::string wait = ":1\r\n";
  std::string slots = "-ERR This instance has cluster support disabled\r\n";
  std::string nodes = slots;
  std::map<std::string, std::string> settings{};
};

inline bool IsFence(const ScriptedRespServer::Command& command) {
  if (command[0] != "EVALSHA") return false;
  const bool notes = command.size() == 7 && command[4].ends_with(":slots");
  return notes || (command.size() == 5 && !command[3].ends_with("stout:epoch"));
}

inline ScriptedRespServer::Script RedisScript(RedisAnswers answers) {
  using Answer = ScriptedRespServer::Answer;
  return [answers = std::move(answers)](const ScriptedRespServer::Command& command) {
    const std::string& name = command[0];
    if (name == "EVALSHA") {
      if (command[3].ends_with("stout:epoch")) return Answer{answers.note_epoch};
      return Answer{IsFence(command) ? answers.fence : answers.write};
    }
    if (name == "INCR") return Answer{answers.epoch};
    if (name == "GET") return Answer{answers.get};
    if (name == "MGET") return Answer{answers.read};
    if (name == "MSET") return Answer{answers.mset};
    if (name == "WAIT") return Answer{answers.wait};
    if (name == "DEL") return Answer{":0\r\n"};
    if (name == "INFO") return Answer{"$16\r\n#\r\nrole:master\r\n\r\n"};
    if (name == "CONFIG") {
      const auto setting = answers.settings.find(command[2]);
      if (setting == answers.settings.end()) return Answer{"*0\r\n"};
      return Answer{"*2\r\n" + Bulk(setting->first) + Bulk(setting->second)};
    }
    if (name == "CLUSTER") return Answer{command[1] == "NODES" ? answers.nodes : answers.slots};
    return Answer{"+OK\r\n"};
  };
}

}  // namespace stout::test
