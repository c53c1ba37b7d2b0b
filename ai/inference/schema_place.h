#pragma once
#include <string>
#include <string_view>

namespace millrace::inference {

// One step further into a JSON pointer, as long as this lives: the places of a schema are many and may be
// long, so one text is all of them, one after the other.
class PlaceStep {
 public:
  PlaceStep(std::string& place, std::string_view member) : place_(place), outside_(place.size()) {
    place_ += '/';
    for (const char c : member) {
      if (c == '~') {
        place_ += "~0";
      } else if (c == '/') {
        place_ += "~1";
      } else {
        place_ += c;
      }
    }
  }
  ~PlaceStep() { place_.resize(outside_); }
  PlaceStep(const PlaceStep&) = delete;
  PlaceStep& operator=(const PlaceStep&) = delete;

 private:
  std::string& place_;
  const std::size_t outside_;
};

}  // namespace millrace::inference
