#include "ai/providers/vector_reader.h"

#include <cmath>
#include <utility>

namespace millrace::providers {
namespace {

// Hears the parser; what it refuses is not kept in the tree.
class Listener {
 public:
  Listener(std::string_view name, std::vector<schemas::Vector>& vectors) : name_(name), vectors_(vectors) {}

  bool hear(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    good_ = good_ && depth <= kWireDepthMax;
    switch (event) {
      case Event::key:
        named_ = parsed.get_ref<const std::string&>() == name_;
        return true;
      case Event::value:
        return !inside_ ? keep() : take(parsed);
      case Event::array_start:
        good_ = good_ && !inside_;
        inside_ = std::exchange(named_, false);
        if (inside_) vectors_.emplace_back();
        return good_;
      case Event::object_start:
        good_ = good_ && !inside_;
        named_ = false;
        return good_;
      case Event::array_end:
        inside_ = false;
        return true;
      case Event::object_end:
        return true;
    }
    return true;
  }
  bool good() const { return good_; }

 private:
  bool keep() {
    named_ = false;
    return true;
  }
  bool take(const Json& number) {
    const float value = number.is_number() ? number.get<float>() : NAN;
    good_ = good_ && std::isfinite(value);
    vectors_.back().push_back(value);
    return false;
  }

  std::string_view name_;
  std::vector<schemas::Vector>& vectors_;
  bool named_ = false;  // the member that comes is `name_`
  bool inside_ = false;
  bool good_ = true;
};

}  // namespace

std::optional<ReadVectors> read_vectors(std::string_view body, std::string_view name) {
  ReadVectors out;
  Listener listener(name, out.vectors);
  const auto hear = [&](int depth, Json::parse_event_t event, Json& parsed) {
    return listener.hear(depth, event, parsed);
  };
  out.rest = Json::parse(body, hear, false);
  if (!listener.good() || !out.rest.is_object()) return std::nullopt;
  return out;
}

}  // namespace millrace::providers
