#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/base/clock.h"
#include "schemas/error_body.h"
#include "schemas/json/json.h"
#include "schemas/json/json_body.h"

// Tables of fields: one row defines the parsing, the 422 detail and the JSON Schema of a field.
namespace millrace::schemas {

enum class FieldType : std::uint8_t {
  kString,  // min/max: bytes
  kBool,
  kInteger,  // min/max: the value
  kNumber,   // min/max: the value
  kTime,     // RFC 3339
  kObject,   // `members`
  kAnyObject,
  kCustom,  // parsed by `custom`, described by `schema`
};

class FieldReader;

inline constexpr std::size_t kProblemsMax = 64;   // listed in one response
inline constexpr std::size_t kUnknownNamed = 32;  // unknown fields, the same

struct Field {
  std::string_view name;
  FieldType type = FieldType::kString;
  bool required = false;
  std::string_view text = {};  // the description, for people
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::span<const std::string_view> choices = {};  // kString
  std::string_view format = {};                    // kString, for the schema
  std::string_view default_json = {};              // for the schema
  std::span<const Field> members = {};
  std::string_view schema = {};
  bool deprecated = false;  // for the schema
  // Stores a checked value in the struct that the table fills (nested tables fill the same struct). Null: the
  // value is only checked.
  void (*store)(void* object, FieldReader& reader, const Json& value) = nullptr;
  // Checks and stores the value; reports problems to the reader.
  void (*custom)(void* object, FieldReader& reader, const Json& value) = nullptr;
};

// Reads a JSON object in one pass by a table. null counts as absent. Not thread-safe.
class FieldReader {
 public:
  // `root`: "body" or "query", the first of every `loc`.
  FieldReader(std::string root, const JsonBody& body) : body_(body) { loc_.push_back(std::move(root)); }

  void read(std::span<const Field> table, const Json& value, void* object);

  void problem(std::string msg, std::string type, const Json* input = nullptr, std::string ctx = {});
  // Extends `loc` by a member's name or an item's index during its lifetime.
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
  // The current position: "messages.0.content".
  std::string place() const { return dotted(loc_, 1); }
  // Reports a problem and returns false if `value` is not a list or has too few or too many items.
  bool is_list(const Json& value, std::size_t min = 0,
               std::size_t max = std::numeric_limits<std::size_t>::max());
  // The same for an object and its members.
  bool is_object(const Json& value, std::size_t max = std::numeric_limits<std::size_t>::max());
  // Checks `value` by a single row; true: it is valid.
  bool check(const Field& field, const Json& value);

  std::optional<std::string_view> text(const Json& value) const { return body_.text(value); }

  // The first kProblemsMax problems.
  Problems& problems() { return problems_; }
  std::size_t failures() const { return failures_; }  // the number of all problems
  // Dotted names of fields that have no row, in order: "document.bar".
  std::vector<std::string>& unknown() { return unknown_; }
  // Turns each unknown field into a problem, so that a misspelt option is not treated as absent.
  void refuse_unknown();

 private:
  void one(const Field& field, const Json& value, void* object);
  bool check_string(const Field& field, std::string_view text, const Json& value);
  bool check_integer(const Field& field, const Json& value);
  bool check_number(const Field& field, const Json& value);
  void note_unknown(std::span<const Field> table, const Json& value);

  const JsonBody& body_;
  std::vector<std::string> loc_;
  Problems problems_;
  std::size_t failures_ = 0;
  std::vector<std::string> unknown_;
};

// `to = value` for the types of rows.
void assign(FieldReader& reader, const Json& value, std::string& to);
void assign(FieldReader& reader, const Json& value, std::string_view& to);  // a view of the body
void assign(FieldReader& reader, const Json& value, std::optional<std::string>& to);
void assign(FieldReader& reader, const Json& value, bool& to);
void assign(FieldReader& reader, const Json& value, int& to);
void assign(FieldReader& reader, const Json& value, std::int64_t& to);
void assign(FieldReader& reader, const Json& value, std::optional<double>& to);
void assign(FieldReader& reader, const Json& value, std::optional<base::WallTime>& to);

template <class Object, auto Member>
void store_in(void* object, FieldReader& reader, const Json& value) {
  assign(reader, value, static_cast<Object*>(object)->*Member);
}

// The table as a JSON Schema object; unknown fields are allowed.
Json json_schema(std::span<const Field> table);
Json json_schema(const Field& field);

// Reads the pairs of a query string by a table, after converting each text to the row's type. Empty values
// count as absent, except members of an object: `a.b` is the member `b` of the kAnyObject row `a`. Unknown
// names are ignored. If a name occurs more than once, the last value counts (`repeated_names`).
using QueryPairs = std::vector<std::pair<std::string, std::string>>;
Problems read_query(std::span<const Field> table, const QueryPairs& pairs, void* object);

// The names among `pairs` that have no row, each once; at most kUnknownNamed.
std::vector<std::string> unknown_names(std::span<const Field> table, const QueryPairs& pairs);
// A problem for each of these names of query parameters, with the nearest name of the table. Names and their
// number are bounded.
Problems unknown_parameters(std::span<const Field> table, const std::vector<std::string>& names);

// The names that occur more than once among `pairs`, each once; at most kUnknownNamed.
std::vector<std::string> repeated_names(const QueryPairs& pairs);
// A problem for each of these names of query parameters.
Problems repeated_parameters(const std::vector<std::string>& names);

// Reads the fields of a form in the same way. If a name ends with [], or its row is kCustom, its values form
// a list, which `custom` reads. `unknown` receives the names that have no row, those of other rows that occur
// more than once, of which the last value counts, and unknown members of objects that `custom` reads.
Problems read_form(std::span<const Field> table, QueryPairs pairs, void* object,
                   std::vector<std::string>& unknown);

}  // namespace millrace::schemas
