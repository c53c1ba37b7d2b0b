#include "api/admission/keyed_semaphore.h"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace millrace::api {

struct KeyedSemaphore::State {
  std::mutex mutex;
  std::unordered_map<std::string, int> taken;  // no entry: 0

  bool take(const std::string& name, int most) {
    const std::lock_guard lock(mutex);
    int& count = taken[name];
    if (count < most) {
      ++count;
      return true;
    }
    if (count == 0) taken.erase(name);
    return false;
  }

  void give_back(const std::string& name) {
    const std::lock_guard lock(mutex);
    const auto count = taken.find(name);
    if (--count->second == 0) taken.erase(count);
  }
};

KeyedSemaphore::KeyedSemaphore(int most) : most_(most), state_(std::make_shared<State>()) {}

KeyedSemaphore::Permit KeyedSemaphore::take(const std::string& name) {
  if (!state_->take(name, most_)) return nullptr;
  return {state_.get(), [state = state_, name](const void*) { state->give_back(name); }};
}

}  // namespace millrace::api
