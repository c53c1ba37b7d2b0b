#include "storage/postgres/statement_form.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace millrace::storage {
namespace {

// Tables whose writes may be done later: none of them has a trigger, or an identity that is asked for.
constexpr std::array<std::string_view, 15> kQueuedTables = {
    "jobs",        "job_specs", "job_events",   "job_parts",    "outbox",
    "idempotency", "turns",     "clock",        "passed_over",  "quota_usage",
    "daily_usage", "workers",   "worker_slots", "reservations", "ready_again"};

bool is_in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_in_word(text[end])) ++end;
  return text.substr(at, end - at);
}

// All words outside of quotes, also twice.
std::vector<std::string> words_of(std::string_view sql) {
  std::vector<std::string> words;
  bool quoted = false;
  for (std::size_t at = 0; at < sql.size();) {
    if (sql[at] == '\'') quoted = !quoted;
    const std::string_view word = quoted ? std::string_view() : word_at(sql, at);
    if (!word.empty()) words.emplace_back(word);
    at += std::max<std::size_t>(1, word.size());
  }
  return words;
}

constexpr std::size_t kNowhere = std::string_view::npos;

// Where `phrase` begins outside of quotes and parentheses.
std::size_t find_outside(std::string_view sql, std::string_view phrase) {
  bool quoted = false;
  int depth = 0;
  for (std::size_t at = 0; at < sql.size(); ++at) {
    if (sql[at] == '\'') quoted = !quoted;
    if (quoted) continue;
    if (depth == 0 && sql.substr(at).starts_with(phrase)) return at;
    depth += sql[at] == '(' ? 1 : sql[at] == ')' ? -1 : 0;
  }
  return kNowhere;
}

// The column of `WHERE column = $1`, if nothing but further conditions follows.
std::string key_of_condition(std::string_view sql) {
  constexpr std::string_view kWhere = " WHERE ", kIsFirst = " = $1";
  const std::size_t where = find_outside(sql, kWhere);
  if (where == kNowhere || find_outside(sql.substr(where), " OR ") != kNowhere) return {};
  const std::string_view condition = sql.substr(where + kWhere.size());
  const std::string_view column = word_at(condition, 0);
  const std::string_view rest = condition.substr(column.size());
  if (column.empty() || !rest.starts_with(kIsFirst)) return {};
  const std::string_view further = rest.substr(kIsFirst.size());
  return further.empty() || further.starts_with(" AND ") ? std::string(column) : std::string();
}

// The number in `$N` at the beginning of `text`.
std::size_t parameter_at(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data() + 1, text.data() + text.size(), number);
  return number;
}

// The largest N of all `$N` outside of quotes.
std::size_t parameters_of(std::string_view sql) {
  std::size_t count = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < sql.size(); ++at) {
    if (sql[at] == '\'') quoted = !quoted;
    if (!quoted && sql[at] == '$') count = std::max(count, parameter_at(sql.substr(at)));
  }
  return count;
}

constexpr std::string_view kValues = " VALUES (";

// The first column of an INSERT of one row, if its value is $1.
std::string key_of_insert(std::string_view sql) {
  const std::size_t columns = sql.find('('), values = sql.find(kValues);
  if (columns == kNowhere || values == kNowhere || columns > values) return {};
  const std::string_view first = sql.substr(values + kValues.size());
  if (!first.starts_with("$1,") && !first.starts_with("$1)")) return {};
  const std::size_t end = sql.find(')', values);
  if (first.substr(0, end - values - kValues.size()).find('(') != kNowhere) return {};
  const std::string_view rest = sql.substr(end + 1);
  const bool is_one_row = rest.empty() || rest.starts_with(" ON CONFLICT");
  if (!is_one_row || rest.find('$') != kNowhere) return {};
  return std::string(word_at(sql, columns + 1));
}

bool is_queued(std::string_view table) {
  return std::ranges::find(kQueuedTables, table) != kQueuedTables.end();
}

}  // namespace

bool StatementForm::names(std::string_view word) const { return std::ranges::binary_search(words, word); }

StatementForm form_of(std::string_view sql) {
  StatementForm form;
  form.words = words_of(sql);
  form.parameters = parameters_of(sql);
  const auto count = [&](std::string_view word) { return std::ranges::count(form.words, word); };
  const bool is_insert = sql.starts_with("INSERT INTO "), is_update = sql.starts_with("UPDATE ");
  const bool is_delete = sql.starts_with("DELETE FROM ");
  if (sql.starts_with("SELECT ")) {
    form.kind = StatementForm::Kind::kRead;
    if (count("SELECT") == 1 && count("JOIN") == 0 && count("FROM") == 1 && count("GROUP") == 0)
      form.key = key_of_condition(sql);
  } else if (is_insert || is_update || is_delete) {
    form.target = form.words[is_update ? 1 : 2];
    // An identity that the server chooses can be asked for afterwards.
    const bool is_numbered = form.target == "job_results" && is_insert && form.words[3] == "id";
    if ((is_queued(form.target) || is_numbered) && count("RETURNING") == 0)
      form.kind = StatementForm::Kind::kWrite;
    if (count("SELECT") == 0) form.key = is_insert ? key_of_insert(sql) : key_of_condition(sql);
    if (is_update && count(form.key) != 1) form.key.clear();  // it may be written
    form.is_joinable = !form.key.empty();
    form.may_repeat_keys = is_insert && count("CONFLICT") == 0;
  }
  std::ranges::sort(form.words);
  return form;
}

namespace {

std::string_view type_name(unsigned type) {
  return type == kInt8 ? "bigint" : type == kText ? "text" : type == kFloat8 ? "float8" : "bytea";
}

// `$N` becomes `v.pN`, or NULL.
std::string with_row_values(std::string_view sql, std::span<const unsigned> types) {
  std::string out;
  bool quoted = false;
  for (std::size_t at = 0; at < sql.size(); ++at) {
    if (sql[at] == '\'') quoted = !quoted;
    if (quoted || sql[at] != '$') {
      out += sql[at];
      continue;
    }
    const std::string_view digits = word_at(sql, at + 1);
    out += types[parameter_at(sql.substr(at)) - 1] == 0 ? "NULL" : "v.p" + std::string(digits);
    at += digits.size();
  }
  return out;
}

// (SELECT * FROM unnest($1::bytea[],$2::bigint[]) LIMIT $3) AS v(p1,p2). The last parameter is the number of
// rows. The planner assumes one row behind a limit that it does not know, and so looks up each row by its
// key, whatever it believes of the other conditions.
std::string rows_of_arrays(std::span<const unsigned> types) {
  std::string arrays, names;
  int array = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] == 0) continue;
    const std::string_view comma = array == 0 ? "" : ",";
    (arrays += comma) += "$" + std::to_string(++array) + "::" + std::string(type_name(types[i])) + "[]";
    (names += comma) += "p" + std::to_string(i + 1);
  }
  return "(SELECT * FROM unnest(" + arrays + ") LIMIT $" + std::to_string(array + 1) + ") AS v(" + names +
         ")";
}

}  // namespace

std::string multi_row_sql(std::string_view sql, std::span<const unsigned> types) {
  const std::string rows = rows_of_arrays(types);
  if (sql.starts_with("INSERT")) {
    const std::size_t values = sql.find(kValues), end = sql.find(')', values);
    return std::string(sql.substr(0, values)) + " SELECT " +
           with_row_values(sql.substr(values + kValues.size(), end - values - kValues.size()), types) +
           " FROM " + rows + std::string(sql.substr(end + 1));
  }
  const std::size_t where = find_outside(sql, " WHERE ");
  const std::string_view from = sql.starts_with("DELETE") ? " USING " : " FROM ";
  return with_row_values(sql.substr(0, where), types) + std::string(from) + rows +
         with_row_values(sql.substr(where), types);
}

std::string many_keys_sql(std::string_view sql, const StatementForm& form) {
  constexpr std::string_view kFirst = " = $1";
  const std::size_t from = find_outside(sql, " FROM "), first = sql.rfind(kFirst);
  return std::string(sql.substr(0, from)) + ", " + form.key + std::string(sql.substr(from, first - from)) +
         " = ANY($1)" + std::string(sql.substr(first + kFirst.size()));
}

unsigned array_type(unsigned element) {
  return element == kInt8 ? 1016 : element == kText ? 1009 : element == kFloat8 ? 1022 : 1001;
}

}  // namespace millrace::storage
