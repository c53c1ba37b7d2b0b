#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "api/admission/auth.h"

namespace millrace::api {

class Call;

// The calls in progress whose key is known: from their authentication to the end of their response. When a
// key ends or loses rights, its calls end. Thread-safe; it outlives its calls.
class LiveCalls {
 public:
  // How often `refresh` runs, so that calls end within a second of a change that another process made.
  static constexpr std::chrono::milliseconds kRefreshEvery{500};

  // `auth` outlives it.
  explicit LiveCalls(Auth& auth) : auth_(auth) {}

  // Reads the keys if they have changed, and ends the calls of the keys that allow less than before. When it
  // returns, these calls send nothing more. Blocks; runs on the pool.
  base::Status refresh();

  // Changes before calls are ended.
  std::uint64_t generation() const { return generation_; }
  // Adds an authenticated call. False: calls have been ended since `generation`, so the key must be checked
  // again.
  bool add(Call& call, std::uint64_t generation);
  void remove(Call& call);  // does nothing if it was not added

  // The links of a call in the list; part of each Call.
  struct Links {
    LiveCalls* list = nullptr;  // null: not added
    Call* next = nullptr;
    Call* previous = nullptr;
  };

 private:
  void end(const std::vector<std::string>& key_ids);

  Auth& auth_;
  std::mutex refresh_mutex_;  // one refresh at a time, so that each returns after the calls have ended
  std::atomic<std::uint64_t> generation_{0};  // changed under the mutex
  std::mutex mutex_;                          // guards the list
  Call* first_ = nullptr;
};

}  // namespace millrace::api
