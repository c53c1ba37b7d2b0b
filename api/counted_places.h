#pragma once
#include <memory>
#include <string>

namespace millrace::api {

// How many of something each name may hold at once. Thread-safe; places may outlive it.
class CountedPlaces {
 public:
  // The right to one more; given back when the last copy goes.
  using Place = std::shared_ptr<const void>;

  explicit CountedPlaces(int most);

  int most() const { return most_; }
  // Null: `name` holds as many as it may.
  Place take(const std::string& name);

 private:
  struct State;
  const int most_;
  const std::shared_ptr<State> state_;
};

}  // namespace millrace::api
