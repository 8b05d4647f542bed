#include "tests/support/process.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

// The child's work before it becomes the program. Between fork and exec it must not allocate:
// another thread may have held the allocator's lock, which the child would never get. Therefore all
// allocations are made before.
class Launch {
 public:
  Launch(const std::vector<std::string>& command, const std::string& log, const std::string& user)
      : log_(log) {
    for (const std::string& argument : command)
      arguments_.push_back(const_cast<char*>(argument.c_str()));
    arguments_.push_back(nullptr);
    if (user.empty() || ::geteuid() != 0) return;
    const passwd* entry = ::getpwnam(user.c_str());
    if (entry == nullptr) throw std::runtime_error("no user " + user);
    user_ = entry->pw_uid;
    group_ = entry->pw_gid;
    int count = 64;
    groups_.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(user.c_str(), group_, groups_.data(), &count) < 0)
      throw std::runtime_error(user + " is in more groups than are looked at");
    groups_.resize(static_cast<std::size_t>(count));
  }

  [[noreturn]] void Become() const {
    // Its own group: Ctrl-C is for the test, which stops its servers itself.
    ::setpgid(0, 0);
    const int out = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    if (user_ != 0 && (::setgroups(groups_.size(), groups_.data()) != 0 || ::setgid(group_) != 0 ||
                       ::setuid(user_) != 0)) {
      ::_exit(126);
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execvp(arguments_[0], arguments_.data());
    ::_exit(127);
  }

 private:
  const std::string& log_;
  std::vector<char*> arguments_;
  uid_t user_ = 0;  // 0: stays who it is
  gid_t group_ = 0;
  std::vector<gid_t> groups_;
};

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
  const Launch launch(command, log_path, user);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) launch.Become();
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

void Process::FillDisk(bool full) const {
  const rlimit limit{.rlim_cur = full ? 0 : RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  if (pid_ > 0 && ::prlimit(pid_, RLIMIT_FSIZE, &limit, nullptr) != 0)
    throw std::runtime_error("cannot limit the files of a process");
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
