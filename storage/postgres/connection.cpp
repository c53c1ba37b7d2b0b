#include "storage/postgres/connection.h"

#include <array>

#include "storage/db/db.h"
#include "storage/postgres/library.h"

namespace millrace::storage {

pg_conn* connect_postgres(const std::string& url) {
  // Later keywords win: the URL may set the times, but neither a standby nor another name. If the server's
  // host is gone without a word, the connection is lost after tcp_user_timeout or the keepalives, and
  // connect_timeout passes before the next host is tried.
  constexpr std::array<const char*, 9> kKeywords = {
      "connect_timeout",      "tcp_user_timeout", "keepalives_idle",
      "keepalives_interval",  "keepalives_count", "dbname",
      "target_session_attrs", "application_name", nullptr};
  const std::array<const char*, 9> values = {"2",         "4000",       "2",        "1",    "3",
                                             url.c_str(), "read-write", "millrace", nullptr};
  return libpq().connect(kKeywords.data(), values.data(), 1);
}

// libpq's own message can quote the password.
void check_postgres_url(const std::string& url) {
  char* error = nullptr;
  PQconninfoOption* options = libpq().parse_url(url.c_str(), &error);
  if (options == nullptr)
    throw DbError{.cause = DbError::Cause::kUnusable,
                  .message = "it cannot be parsed; percent-encode special characters of the password"};
  libpq().free_options(options);
}

}  // namespace millrace::storage
