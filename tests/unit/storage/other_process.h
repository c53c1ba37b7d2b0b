#pragma once
#include <functional>
#include <string>

#include <sys/types.h>

namespace millrace::storage {

// Another process that runs `body` and exits with what it returns. Both sides talk by single bytes. Made by
// fork: no store may be open in this process at that moment (delivery.md).
class OtherProcess {
 public:
  class Line {
   public:
    Line(int read, int write) : read_(read), write_(write) {}
    void say(char c);
    char hear();  // '\0': the other side is gone

   private:
    int read_, write_;
  };

  explicit OtherProcess(const std::function<int(Line&)>& body);
  ~OtherProcess();  // kill -9 if it still runs
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  Line& line() { return line_; }
  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Waits until it is really stopped.
  void stop() const;
  // Its exit code, or minus the signal that ended it.
  int wait();

 private:
  static Line start(const std::function<int(Line&)>& body, pid_t& pid, int (&fds)[2]);
  pid_t pid_ = -1;
  int fds_[2] = {-1, -1};
  Line line_;
};

}  // namespace millrace::storage
