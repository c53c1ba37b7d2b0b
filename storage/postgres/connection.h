#pragma once
#include <string>

struct pg_conn;

namespace millrace::storage {

// Connects to the primary that `url` names. Gives up after some seconds, and a server whose host is gone
// without a word is noticed as soon. The result's status tells whether it has connected; PQfinish frees it.
pg_conn* connect_postgres(const std::string& url);

// Throws DbError with kUnusable if libpq cannot parse `url`.
void check_postgres_url(const std::string& url);

}  // namespace millrace::storage
