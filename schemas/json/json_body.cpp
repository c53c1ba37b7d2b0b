#include "schemas/json/json_body.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "schemas/chat/chat_text.h"
#include "schemas/json/json_number.h"
#include "schemas/json/json_string.h"
#include "schemas/json/json_text.h"
#include "schemas/json/json_tree.h"

namespace millrace::schemas {
namespace {

namespace sj = simdjson::ondemand;
// An upper bound of the tokens of a body with that many values. Each value has at most a key, a colon, two
// brackets and a comma; the body has two braces. simdjson indexes every token before the walk starts.
constexpr std::size_t tokens_of(std::size_t values) { return 5 * values + 2; }

std::string too_many(std::size_t values) { return "it has more than " + std::to_string(values) + " values"; }

base::Error refusal(std::string_view what) {
  return base::error(base::Code::kBadRequest, "The body is not a valid JSON object: " + std::string(what));
}

// Walks the whole document once, which validates all of it, and builds the tree.
class Walk {
 public:
  Walk(std::string& body, std::size_t values_max, Numbers numbers, JsonBody& out)
      : end_(body.data() + body.size()), values_max_(values_max), numbers_(numbers), out_(out) {}

  // False: see error().
  bool object(sj::object object, Json& out, int depth) {
    if (depth > kJsonDepthMax) return refuse("nested deeper than 64 levels");
    out = Json::object();
    for (auto each : object) {
      sj::field field;
      if (!ok(std::move(each).get(field))) return false;
      Json key;
      if (!string(field.key().raw(), key)) return false;
      if (key.is_binary()) return refuse("a key of an object is too long");
      auto& name = key.get_ref<std::string&>();
      auto [at, inserted] = out.emplace(std::move(name), nullptr);
      if (!inserted) return refuse("an object has the same key twice");
      if (!value(field.value(), at.value(), depth)) return fail_at(at.key());
    }
    return true;
  }

  base::Error error() const {
    if (!changed_number_) return refusal(what_);
    return base::error(base::Code::kBadRequest, place_ + ": " + what_, place_);
  }

 private:
  bool value(sj::value value, Json& out, int depth) {
    if (++values_ > values_max_) return refuse(too_many(values_max_));
    sj::json_type type{};
    if (!ok(value.type().get(type))) return false;
    switch (type) {
      case sj::json_type::object: {
        sj::object inner;
        return ok(value.get_object().get(inner)) && object(inner, out, depth + 1);
      }
      case sj::json_type::array: {
        sj::array inner;
        return ok(value.get_array().get(inner)) && array(inner, out, depth + 1);
      }
      case sj::json_type::string: {
        sj::raw_json_string raw;
        return ok(value.get_raw_json_string().get(raw)) && string(raw.raw(), out);
      }
      case sj::json_type::number:
        return number(value, out);
      case sj::json_type::boolean: {
        bool flag = false;
        if (!ok(value.get_bool().get(flag))) return false;
        out = flag;
        return true;
      }
      case sj::json_type::null: {
        bool null = false;
        if (!ok(value.is_null().get(null))) return false;
        out = nullptr;
        return null || refuse("it has an unknown literal; only null, true and false are valid");
      }
    }
    return refuse("it has an unknown token");
  }

  bool array(sj::array array, Json& out, int depth) {
    if (depth > kJsonDepthMax) return refuse("nested deeper than 64 levels");
    out = Json::array();
    for (auto each : array) {
      sj::value item;
      if (!ok(each.get(item))) return false;
      if (!value(item, out.emplace_back(), depth)) return fail_at(std::to_string(out.size() - 1));
    }
    return true;
  }

  bool number(sj::value& value, Json& out) {
    sj::number number;
    const auto code = value.get_number().get(number);
    if (code == simdjson::NUMBER_ERROR) return large_number(value.raw_json_token(), out);
    if (!ok(code)) return false;
    switch (number.get_number_type()) {
      case sj::number_type::signed_integer:
        out = number.get_int64();
        return true;
      case sj::number_type::unsigned_integer:
        out = number.get_uint64();
        return true;
      case sj::number_type::floating_point_number:
        out = number.get_double();
        return true;
    }
    return refuse("it has an unknown token");
  }

  // A number that simdjson rejects has too many digits, too large an exponent, or is invalid.
  bool large_number(std::string_view token, Json& out) {
    token = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
    const auto number = json_number(token);
    if (!number) return refuse("it has an invalid number");
    out = *number;
    if (numbers_ == Numbers::kNearest || keeps_value(token)) return true;
    if (numbers_ == Numbers::kSpelled) {
      out = spelled_number(token);
      return true;
    }
    changed_number_ = true;
    constexpr std::size_t kShown = 40;
    const bool is_cut = token.size() > kShown;
    const bool is_in_range = std::abs(*number) < std::numeric_limits<double>::max();
    return refuse("the number " + std::string(token.substr(0, kShown)) + (is_cut ? "..." : "") +
                  " cannot be passed on unchanged: it " +
                  (is_in_range ? "does not fit into 64 bits" : "is beyond the range of a double") +
                  "; send it as a string");
  }

  // Collects the place of a number, from the inside to the outside.
  bool fail_at(std::string_view step) {
    constexpr std::size_t kStepMax = 64;
    if (!changed_number_) return false;
    std::string place(cut_text(step, kStepMax));
    if (!place_.empty()) place.append(".").append(place_);
    place_ = std::move(place);
    return false;
  }

  // We may modify the body; simdjson returns it as const.
  bool string(const char* begin, Json& out) {
    const auto raw = json_string_at(begin, end_);
    if (!raw) return refuse("a string is not terminated");
    std::optional<std::string_view> text = *raw;
    if (raw->size() <= kLongString && raw->find('\\') != std::string_view::npos) {
      std::string copy(*raw);
      text = unescape_in_place(copy.data(), copy.size());
      if (text) out = *text;
    } else if (raw->size() <= kLongString) {
      out = *text;
    } else {
      if (out_.long_strings.size() == kLongStringsMax) return refuse("it has too many long strings");
      if (raw->find('\\') != std::string_view::npos)
        text = unescape_in_place(const_cast<char*>(begin), raw->size());
      out = Json::binary({}, out_.long_strings.size());
      if (text) out_.long_strings.push_back(*text);
    }
    return text || refuse("a string has an unknown escape or a lone surrogate");
  }

  bool ok(simdjson::error_code code) {
    if (code == simdjson::SUCCESS) return true;
    return refuse(simdjson::error_message(code));
  }
  bool refuse(std::string_view what) {
    if (what_.empty()) what_ = what;
    return false;
  }

  const char* end_;
  const std::size_t values_max_;
  const Numbers numbers_;
  JsonBody& out_;
  std::size_t values_ = 0;
  std::string what_;
  bool changed_number_ = false;
  std::string place_;  // of that number
};

void put_back(Json& node, const std::vector<std::string_view>& long_strings) {
  const auto* binary = node.get_ptr<const Json::binary_t*>();
  if (binary != nullptr && !spelling_of(node)) {
    node = long_strings[binary->subtype()];
  } else if (node.is_structured()) {
    for (Json& each : node) put_back(each, long_strings);
  }
}

constexpr std::string_view kSomethingFollows = "it has content after the object";

// Explains why the body does not begin with an object; empty: it does.
std::string_view no_object(std::string_view body) {
  if (body.starts_with("\xEF\xBB\xBF")) return "it begins with a byte order mark; send JSON without one";
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "it has only white space";
  return body[first] == '{' ? "" : "it must begin with {";
}

// True: the object at the beginning ends before the body does.
bool ends_early(std::string_view body) {
  int depth = 0;
  for (std::size_t at = 0; at < body.size(); ++at) {
    const char c = body[at];
    if (c == '"') {
      for (++at; at < body.size() && body[at] != '"'; ++at) at += body[at] == '\\' ? 1 : 0;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return body.find_first_not_of(" \t\r\n", at + 1) != std::string_view::npos;
    }
  }
  return false;
}

base::Error refusal(simdjson::error_code code, std::string_view body) {
  const bool is_open = code == simdjson::INCOMPLETE_ARRAY_OR_OBJECT;
  if (is_open && ends_early(body)) return refusal(kSomethingFollows);
  return refusal(simdjson::error_message(code));
}

base::Result<JsonBody> read(sj::parser& parser, std::string& body, std::size_t values_max, Numbers numbers) {
  if (const auto why = no_object(body); !why.empty()) return refusal(why);
  sj::document document;
  const auto padded = simdjson::padded_string_view(body.data(), body.size(), body.capacity());
  if (const auto code = parser.iterate(padded).get(document)) return refusal(code, body);
  sj::object object;
  if (const auto code = document.get_object().get(object)) return refusal(code, body);
  JsonBody out;
  Walk walk(body, values_max, numbers, out);
  if (!walk.object(object, out.value, 1)) return walk.error();
  const char* rest = nullptr;
  if (document.current_location().get(rest) == simdjson::SUCCESS) return refusal(kSomethingFollows);
  return out;
}

}  // namespace

sj::parser& shared_parser() {
  thread_local sj::parser shared;
  return shared;
}

std::optional<std::string_view> JsonBody::text(const Json& node) const {
  if (const auto* text = node.get_ptr<const Json::string_t*>()) return *text;
  const auto* binary = node.get_ptr<const Json::binary_t*>();
  if (binary == nullptr || spelling_of(node)) return std::nullopt;
  return long_strings[binary->subtype()];
}

base::Result<JsonBody> read_json(std::string& body, std::size_t values_max, Numbers numbers) {
  if (body.empty()) return JsonBody{.value = Json::object(), .long_strings = {}};
  const std::size_t tokens_max = tokens_of(values_max);
  if (body.size() > tokens_max && more_json_tokens_than(tokens_max, body))
    return refusal(too_many(values_max));
  if (body.capacity() < body.size() + kJsonPadding) body.reserve(body.size() + kJsonPadding);
  if (body.size() <= kSharedParserMax) return read(shared_parser(), body, values_max, numbers);
  const auto own = std::make_unique<sj::parser>();
  return read(*own, body, values_max, numbers);
}

Json whole(JsonBody body) {
  put_back(body.value, body.long_strings);
  return std::move(body.value);
}

// Writes the JSON of schemas::dump. nlohmann's writer is slower, because it checks each byte of each string.

namespace {

void append_value(std::string& out, const Json& value);

template <class Number>
void append_integer(std::string& out, Number number) {
  std::array<char, 24> digits{};
  const auto [end, failed] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed == std::errc()) out.append(digits.data(), end);
}

void append_object(std::string& out, const Json::object_t& members) {
  out += '{';
  bool first = true;
  for (const auto& [name, value] : members) {
    if (!std::exchange(first, false)) out += ',';
    append_clean(out, name);
    out += ':';
    append_value(out, value);
  }
  out += '}';
}

void append_array(std::string& out, const Json::array_t& items) {
  out += '[';
  bool first = true;
  for (const Json& item : items) {
    if (!std::exchange(first, false)) out += ',';
    append_value(out, item);
  }
  out += ']';
}

void append_value(std::string& out, const Json& value) {
  switch (value.type()) {
    case Json::value_t::object:
      return append_object(out, *value.get_ptr<const Json::object_t*>());
    case Json::value_t::array:
      return append_array(out, *value.get_ptr<const Json::array_t*>());
    case Json::value_t::string:
      return append_clean(out, *value.get_ptr<const Json::string_t*>());
    case Json::value_t::boolean:
      out += *value.get_ptr<const Json::boolean_t*>() ? "true" : "false";
      return;
    case Json::value_t::number_integer:
      return append_integer(out, *value.get_ptr<const Json::number_integer_t*>());
    case Json::value_t::number_unsigned:
      return append_integer(out, *value.get_ptr<const Json::number_unsigned_t*>());
    case Json::value_t::null:
      out += "null";
      return;
    case Json::value_t::binary:
      if (const auto spelling = spelling_of(value)) {
        out += *spelling;
        return;
      }
      break;
    case Json::value_t::number_float:
    case Json::value_t::discarded:
      break;
  }
  out += value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string dump(const Json& value) {
  std::string out;
  append_value(out, value);
  return out;
}

}  // namespace millrace::schemas
