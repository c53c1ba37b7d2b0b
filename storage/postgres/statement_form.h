#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::storage {

// What a statement in PostgreSQL's form reads and writes, as far as its text shows it.
struct StatementForm {
  enum class Kind {
    kRead,   // a SELECT
    kWrite,  // an INSERT, UPDATE or DELETE without an answer, which may be done later (WriteQueue)
    kOther,  // done at once
  };
  Kind kind = Kind::kOther;
  std::size_t parameters = 0;  // $1 to this number
  std::string target;          // the table that a write changes
  // The statement touches only rows in which this column has the value of $1. Empty: it may touch any rows.
  std::string key;
  bool is_joinable = false;          // multi_row_sql makes one statement of many with other values
  bool may_repeat_keys = false;      // … also of two with the same key
  std::vector<std::string> words{};  // of the text, sorted; each table that it names is among them

  bool names(std::string_view word) const;
};

StatementForm form_of(std::string_view sql);

// The same for one array per parameter, with one element per row, and then the number of rows. `types`: those
// of the elements, 0 where all are NULL; such a parameter gets no array. REQUIRES: is_joinable.
std::string multi_row_sql(std::string_view sql, std::span<const unsigned> types);

// The same for an array of keys as $1; the key is one more column of the result. REQUIRES: a read with a key
// and without other parameters.
std::string many_keys_sql(std::string_view sql, const StatementForm& form);

// Types of pg_type that parameters have, whose numbers never change.
inline constexpr unsigned kBytea = 17, kInt8 = 20, kText = 25, kFloat8 = 701;
unsigned array_type(unsigned element);

}  // namespace millrace::storage
