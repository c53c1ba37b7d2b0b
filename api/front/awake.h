#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "api/front/rest_judge.h"

namespace millrace::front {

// The rests of one front thread. Where RestJudge allows it, those that it heard last are looked at without
// falling asleep; what else comes meanwhile is taken after that. On that thread only.
class Awake {
 public:
  explicit Awake(std::chrono::microseconds most);
  ~Awake();
  Awake(const Awake&) = delete;
  Awake& operator=(const Awake&) = delete;

  void watch(int fd);  // for good
  void turn_begins(std::size_t events);
  // A client, by its socket and by a number that nobody else has ever had. Until it closes.
  void heard(int fd, std::uint64_t id);
  // Returns when one of them can be read, or when it is time to sleep.
  void turn_ends(std::size_t requests_under_way);

 private:
  void wait(RestJudge::Clock::time_point began);

  RestJudge judge_;
  const int set_;  // the kernel's, of the sockets that are looked at; -1: it gave none, so this never waits
  std::uint64_t last_heard_ = ~std::uint64_t{0};
  RestJudge::Clock::time_point turn_ended_{};
};

}  // namespace millrace::front
