#include "tests/support/process.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace stout::test {
namespace {

[[noreturn]] void Become(const std::vector<std::string>& command, const std::string& log,
                         const std::string& user) {
  // Its own group: Ctrl-C is for the test, which stops its servers itself.
  ::setpgid(0, 0);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  if (const passwd* entry = user.empty() || ::geteuid() != 0 ? nullptr : ::getpwnam(user.c_str())) {
    if (::initgroups(user.c_str(), entry->pw_gid) != 0 || ::setgid(entry->pw_gid) != 0 ||
        ::setuid(entry->pw_uid) != 0) {
      ::_exit(126);
    }
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

bool IsZombie(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;  // the names of servers have no blanks where it matters
  stat >> number >> name >> state;
  return state == "Z" || state.empty();
}

}  // namespace

Process::Process(std::vector<std::string> command, const std::filesystem::path& log,
                 const std::string& user) {
  const std::string log_path = log.string();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) Become(command, log_path, user);
}

Process::~Process() {
  if (pid_ <= 0) return;
  // Stopped first, it makes no new ones; dead, it would not tell them.
  Signal(SIGSTOP);
  const std::vector<pid_t> children = Children();
  for (const pid_t child : children) ::kill(child, SIGKILL);
  Signal(SIGKILL);
  Wait();
  // Whose files they have open is not to start again beside them.
  for (const pid_t child : children) {
    while (::kill(child, 0) == 0 && !IsZombie(child)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

void Process::Signal(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

std::vector<pid_t> Process::Children() const {
  const std::string pid = std::to_string(pid_);
  std::ifstream file("/proc/" + pid + "/task/" + pid + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

void Process::SignalAll(int signal) const {
  if (pid_ <= 0) return;
  if (signal == SIGSTOP) Signal(signal);  // before it makes new ones
  for (const pid_t child : Children()) ::kill(child, signal);
  if (signal != SIGSTOP) Signal(signal);
}

int Process::Wait() {
  if (pid_ <= 0) return 0;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool Process::Running() {
  if (pid_ <= 0) return false;
  if (::waitpid(pid_, nullptr, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

std::string RunToEnd(const std::vector<std::string>& command, const std::string& user) {
  std::string log = (std::filesystem::temp_directory_path() / "stout-run-XXXXXX").string();
  const int fd = ::mkstemp(log.data());
  if (fd < 0) throw std::runtime_error("no temporary file");
  (void)::fchmod(fd, 0666);
  ::close(fd);
  const int status = Process(command, log, user).Wait();
  std::stringstream output;
  output << std::ifstream(log).rdbuf();
  std::filesystem::remove(log);
  if (status != 0) throw std::runtime_error(command[0] + " failed: " + output.str());
  return output.str();
}

}  // namespace stout::test
