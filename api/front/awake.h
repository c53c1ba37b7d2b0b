#pragma once
#include <array>
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
  // What ended the wait: there was none, one of them can be read, it was long enough, others need the
  // processor.
  enum class Rest : std::uint8_t { kNone, kHeard, kLongEnough, kLeftToOthers };
  Rest turn_ends(std::size_t requests_under_way);

 private:
  Rest wait(RestJudge::Clock::time_point began);

  RestJudge judge_;
  const int set_;  // the kernel's, of the sockets that are looked at; -1: it gave none, so this never waits
  std::array<std::uint64_t, RestJudge::kFew> heard_;  // of late
  std::size_t oldest_ = 0;                            // of these
  RestJudge::Clock::time_point turn_ended_{};
};

}  // namespace millrace::front
