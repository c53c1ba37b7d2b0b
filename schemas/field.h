#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "platform/base/clock.h"
#include "schemas/error_body.h"
#include "schemas/json_body.h"

// Tables of fields: one row gives the parsing, the 422 detail and the JSON Schema of a field.
namespace millrace::schemas {

enum class FieldType : std::uint8_t {
  kString,  // min/max: bytes
  kBool,
  kInteger,  // min/max: the value
  kTime,     // RFC 3339
  kObject,   // `members`
  kCustom,   // `custom` reads it, `schema` describes it
};

class FieldReader;

struct Field {
  std::string_view name;
  FieldType type = FieldType::kString;
  bool required = false;
  std::string_view text = {};  // for people
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::span<const std::string_view> choices = {};  // kString
  std::string_view format = {};                    // kString, for the schema
  std::string_view default_json = {};              // for the schema
  std::span<const Field> members = {};
  std::string_view schema = {};
  // Puts a checked value into the struct that the table fills (nested tables fill the same struct).
  void (*store)(void* object, FieldReader& reader, const nlohmann::json& value) = nullptr;
  // Checks and stores; reports through the reader.
  void (*custom)(void* object, FieldReader& reader, const nlohmann::json& value) = nullptr;
};

// One pass over a JSON object by a table. null counts as absent. Not thread-safe.
class FieldReader {
 public:
  // `root`: "body" or "query", the first of every `loc`.
  FieldReader(std::string root, const JsonBody& body) : body_(body) { loc_.push_back(std::move(root)); }

  void read(std::span<const Field> table, const nlohmann::json& value, void* object);

  void problem(std::string msg, std::string type, const nlohmann::json* input = nullptr,
               std::string ctx = {});
  std::optional<std::string_view> text(const nlohmann::json& value) const { return body_.text(value); }

  Problems& problems() { return problems_; }
  // Dotted names of fields that no row knows, in their order: "document.bar".
  std::vector<std::string>& unknown() { return unknown_; }

 private:
  void one(const Field& field, const nlohmann::json& value, void* object);
  bool check(const Field& field, const nlohmann::json& value);
  bool check_string(const Field& field, std::string_view text, const nlohmann::json& value);
  bool check_integer(const Field& field, const nlohmann::json& value);
  void note_unknown(std::span<const Field> table, const nlohmann::json& value);

  const JsonBody& body_;
  std::vector<std::string> loc_;
  Problems problems_;
  std::vector<std::string> unknown_;
};

// `object.*Member = value` for the types that rows have.
void assign(FieldReader& reader, const nlohmann::json& value, std::string& to);
void assign(FieldReader& reader, const nlohmann::json& value, std::string_view& to);  // a view into the body
void assign(FieldReader& reader, const nlohmann::json& value, std::optional<std::string>& to);
void assign(FieldReader& reader, const nlohmann::json& value, bool& to);
void assign(FieldReader& reader, const nlohmann::json& value, int& to);
void assign(FieldReader& reader, const nlohmann::json& value, std::int64_t& to);
void assign(FieldReader& reader, const nlohmann::json& value, std::optional<base::WallTime>& to);

template <class Object, auto Member>
void store_in(void* object, FieldReader& reader, const nlohmann::json& value) {
  assign(reader, value, static_cast<Object*>(object)->*Member);
}

// The table as a JSON Schema object; unknown fields are allowed.
nlohmann::json json_schema(std::span<const Field> table);
nlohmann::json json_schema(const Field& field);

// A query string's pairs by a table: text becomes the row's type first. Empty values count as absent, unknown
// names are ignored; of several equal names the last counts.
using QueryPairs = std::vector<std::pair<std::string, std::string>>;
Problems read_query(std::span<const Field> table, const QueryPairs& pairs, void* object);

}  // namespace millrace::schemas
