#include "schemas/json_body.h"

#include <memory>

#include <simdjson.h>

#include "schemas/json_string.h"
#include "schemas/json_tokens.h"

namespace millrace::schemas {
namespace {

namespace sj = simdjson::ondemand;
using nlohmann::json;

// Small bodies share a parser per thread; a large one takes its own and gives its memory back.
constexpr std::size_t kSharedParserMax = 32 * 1024;

// What a body within kJsonValuesMax has at most: of each value its key, colon, two brackets and a comma; and
// two braces of its own. simdjson indexes every token before the walk sees the first value.
constexpr std::size_t kTokensMax = 5 * kJsonValuesMax + 2;

std::string too_many_values() { return "it has more than " + std::to_string(kJsonValuesMax) + " values"; }

// Walks the whole document once, so that everything in it has been checked, and builds the tree.
class Walk {
 public:
  Walk(std::string& body, JsonBody& out) : end_(body.data() + body.size()), out_(out) {}

  // False: `what()` says why.
  bool object(sj::object object, json& out, int depth) {
    if (depth > kJsonDepthMax) return refuse("nested deeper than 64 levels");
    out = json::object();
    for (auto each : object) {
      sj::field field;
      if (!ok(std::move(each).get(field))) return false;
      json key;
      if (!string(field.key().raw(), key)) return false;
      if (key.is_binary()) return refuse("a key of an object is too long");
      auto& name = key.get_ref<std::string&>();
      auto [at, fresh] = out.emplace(std::move(name), nullptr);
      if (!fresh) return refuse("an object has the same key twice");
      if (!value(field.value(), at.value(), depth)) return false;
    }
    return true;
  }

  const std::string& what() const { return what_; }

 private:
  bool value(sj::value value, json& out, int depth) {
    if (++values_ > kJsonValuesMax) return refuse(too_many_values());
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
        return null || refuse("a literal is not null, true or false");
      }
    }
    return refuse("it has an unknown token");
  }

  bool array(sj::array array, json& out, int depth) {
    if (depth > kJsonDepthMax) return refuse("nested deeper than 64 levels");
    out = json::array();
    for (auto each : array) {
      sj::value item;
      if (!ok(each.get(item)) || !value(item, out.emplace_back(), depth)) return false;
    }
    return true;
  }

  bool number(sj::value& value, json& out) {
    sj::number number;
    if (!ok(value.get_number().get(number))) return false;
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
    return refuse("a number is out of range");
  }

  // The body is ours to write; simdjson hands it out as const.
  bool string(const char* begin, json& out) {
    const auto raw = json_string_at(begin, end_);
    if (!raw) return refuse("a string does not end");
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
      out = json::binary({}, out_.long_strings.size());
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
  JsonBody& out_;
  std::size_t values_ = 0;
  std::string what_;
};

base::Error refusal(std::string_view what) {
  return base::error(base::Code::kBadRequest,
                     "The body cannot be read as a JSON object: " + std::string(what));
}

base::Result<JsonBody> read(sj::parser& parser, std::string& body) {
  sj::document document;
  const auto padded = simdjson::padded_string_view(body.data(), body.size(), body.capacity());
  if (const auto code = parser.iterate(padded).get(document)) return refusal(simdjson::error_message(code));
  sj::object object;
  if (const auto code = document.get_object().get(object)) return refusal(simdjson::error_message(code));
  JsonBody out;
  Walk walk(body, out);
  if (!walk.object(object, out.value, 1)) return refusal(walk.what());
  const char* rest = nullptr;
  if (document.current_location().get(rest) == simdjson::SUCCESS) return refusal("something follows it");
  return out;
}

}  // namespace

std::optional<std::string_view> JsonBody::text(const json& node) const {
  if (const auto* text = node.get_ptr<const json::string_t*>()) return *text;
  if (const auto* binary = node.get_ptr<const json::binary_t*>()) return long_strings[binary->subtype()];
  return std::nullopt;
}

base::Result<JsonBody> read_json(std::string& body) {
  if (body.empty()) return JsonBody{.value = json::object(), .long_strings = {}};
  if (body.size() > kTokensMax && more_json_tokens_than(kTokensMax, body)) return refusal(too_many_values());
  if (body.capacity() < body.size() + kJsonPadding) body.reserve(body.size() + kJsonPadding);
  if (body.size() <= kSharedParserMax) {
    thread_local sj::parser shared;
    return read(shared, body);
  }
  const auto own = std::make_unique<sj::parser>();
  return read(*own, body);
}

std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace millrace::schemas
