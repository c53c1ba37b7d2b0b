#pragma once
#include <functional>
#include <string>

#include <sys/types.h>

namespace millrace::storage {

// Another process that runs `body` and exits with its return value. The two processes exchange single bytes.
// Created by fork: no store may be open in this process at that moment (docs/design/delivery.md §4).
class OtherProcess {
 public:
  class Line {
   public:
    Line(int read, int write) : read_(read), write_(write) {}
    void send(char c);
    char receive();  // '\0': the other process has ended

   private:
    int read_, write_;
  };

  explicit OtherProcess(const std::function<int(Line&)>& body);
  ~OtherProcess();  // kills it if it is still running
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  Line& line() { return line_; }
  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Stops it and waits until it is stopped.
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
