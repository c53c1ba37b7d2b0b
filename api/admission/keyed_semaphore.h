#pragma once
#include <memory>
#include <string>

namespace millrace::api {

// A semaphore per name: limits how many permits each name holds at once. Thread-safe; permits may outlive it.
class KeyedSemaphore {
 public:
  // One unit of the semaphore; released when the last copy is destroyed.
  using Permit = std::shared_ptr<const void>;

  explicit KeyedSemaphore(int most);

  int most() const { return most_; }
  // Null: `name` has reached its limit.
  Permit take(const std::string& name);

 private:
  struct State;
  const int most_;
  const std::shared_ptr<State> state_;
};

}  // namespace millrace::api
