#pragma once
#include <chrono>
#include <string_view>

#include "storage/db/db.h"

struct pg_conn;
struct pg_result;

namespace millrace::storage {

// The cause of an error by its SQLSTATE, which is empty if the connection was lost.
DbError::Cause postgres_cause(std::string_view state);

// Waits for the results of what was sent. Returns the last one, as PQexec does; null: libpq has the error.
// Throws DbError with kUnreachable if they are not there at `end`; then the connection cannot be used again.
pg_result* await_answer(pg_conn* connection, std::chrono::steady_clock::time_point end);

}  // namespace millrace::storage
