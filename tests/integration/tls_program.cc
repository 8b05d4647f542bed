#include "tls_program.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tls_client.h"

namespace stout::test {

void MakeCertificate(const std::string& directory, const std::string& name,
                     const std::string& key) {
  RunToEnd({"sh", "-c",
            fmt::format("cd {} && openssl req -x509 -subj /CN={} -days 2 -out cert.pem -keyout "
                        "key.pem -newkey {}",
                        directory, name, key)});
}

TlsProgram::TlsProgram(std::vector<std::string> command,
                       const std::function<void(const std::string& directory)>& prepare)
    : PrivateServer(command.front()), command_(std::move(command)) {
  prepare(directory());
  StartOnFreePort();
}

bool TlsProgram::Logs(const std::string& text) const {
  return Eventually([&] { return Log().find(text) != std::string::npos; });
}

std::vector<std::string> TlsProgram::Command() const {
  // A data race ends it, so that the test sees it.
  std::vector<std::string> command = {"env", "TSAN_OPTIONS=halt_on_error=1"};
  for (const std::string& word : command_) {
    command.push_back(fmt::format(fmt::runtime(word), directory()));
  }
  command.insert(command.end(), {"--listen", "127.0.0.1:" + std::to_string(port()),  //
                                 "--tls-cert", directory() + "/cert.pem",            //
                                 "--tls-key", directory() + "/key.pem",              //
                                 "--log-level", "debug"});
  return command;
}

bool TlsProgram::Answers() const {
  try {
    const std::string answer = TlsClient(port()).Do({"PING"});
    return answer == "+PONG" || answer.starts_with("-NOAUTH");
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace stout::test
