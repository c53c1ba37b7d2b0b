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
#include "schemas/json/json_body.h"

// Tables of fields: one row gives the parsing, the 422 detail and the JSON Schema of a field.
namespace millrace::schemas {

enum class FieldType : std::uint8_t {
  kString,  // min/max: bytes
  kBool,
  kInteger,  // min/max: the value
  kNumber,   // min/max: the value
  kTime,     // RFC 3339
  kObject,   // `members`
  kAnyObject,
  kCustom,  // `custom` reads it, `schema` describes it
};

class FieldReader;

inline constexpr std::size_t kProblemsMax = 64;  // that a reply names

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
  bool deprecated = false;  // for the schema
  // Puts a checked value into the struct that the table fills (nested tables fill the same struct). Null: the
  // value is checked only.
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
  // While it lives, `loc` goes on with a member's or an item's name.
  class Inside {
   public:
    Inside(FieldReader& reader, std::string_view name) : reader_(reader) { reader.loc_.emplace_back(name); }
    Inside(FieldReader& reader, std::size_t item) : reader_(reader) {
      reader.loc_.push_back(std::to_string(item));
    }
    ~Inside() { reader_.loc_.pop_back(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    FieldReader& reader_;
  };
  // Where it reads: "messages.0.content".
  std::string place() const { return dotted(loc_, 1); }
  // False, and a problem, for what is no list, or one of more or fewer items.
  bool is_list(const nlohmann::json& value, std::size_t min = 0,
               std::size_t max = std::numeric_limits<std::size_t>::max());
  // The same for an object and its members.
  bool is_object(const nlohmann::json& value, std::size_t max = std::numeric_limits<std::size_t>::max());
  // By a row of its own: true if `value` is as the row says.
  bool check(const Field& field, const nlohmann::json& value);

  std::optional<std::string_view> text(const nlohmann::json& value) const { return body_.text(value); }

  // The first kProblemsMax of them.
  Problems& problems() { return problems_; }
  std::size_t failures() const { return failures_; }  // how many there were in all
  // Dotted names of fields that no row knows, in their order: "document.bar".
  std::vector<std::string>& unknown() { return unknown_; }
  // Each of them becomes a problem: a misspelt option must not be taken for an absent one.
  void refuse_unknown();

 private:
  void one(const Field& field, const nlohmann::json& value, void* object);
  bool check_string(const Field& field, std::string_view text, const nlohmann::json& value);
  bool check_integer(const Field& field, const nlohmann::json& value);
  bool check_number(const Field& field, const nlohmann::json& value);
  void note_unknown(std::span<const Field> table, const nlohmann::json& value);

  const JsonBody& body_;
  std::vector<std::string> loc_;
  Problems problems_;
  std::size_t failures_ = 0;
  std::vector<std::string> unknown_;
};

// `object.*Member = value` for the types that rows have.
void assign(FieldReader& reader, const nlohmann::json& value, std::string& to);
void assign(FieldReader& reader, const nlohmann::json& value, std::string_view& to);  // a view into the body
void assign(FieldReader& reader, const nlohmann::json& value, std::optional<std::string>& to);
void assign(FieldReader& reader, const nlohmann::json& value, bool& to);
void assign(FieldReader& reader, const nlohmann::json& value, int& to);
void assign(FieldReader& reader, const nlohmann::json& value, std::int64_t& to);
void assign(FieldReader& reader, const nlohmann::json& value, std::optional<double>& to);
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

// The fields of a form in the same way. A name may end with []: then, and where a row is kCustom, its values
// are a list, which `custom` reads. `unknown` gets the names that no row knows.
Problems read_form(std::span<const Field> table, const QueryPairs& pairs, void* object,
                   std::vector<std::string>& unknown);

}  // namespace millrace::schemas
