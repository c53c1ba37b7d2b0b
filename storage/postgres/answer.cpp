#include "storage/postgres/answer.h"

#include <cerrno>
#include <memory>
#include <string_view>

#include <poll.h>

#include "storage/postgres/library.h"

namespace millrace::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct ClearResult {
  void operator()(PGresult* result) const { libpq().clear(result); }
};

// False: nothing came until `end`.
bool has_input(pg_conn* connection, steady_clock::time_point end) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd socket{.fd = libpq().socket(connection), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&socket, 1, static_cast<int>(left.count()));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
  }
}

}  // namespace

DbError::Cause postgres_cause(std::string_view state) {
  using Cause = DbError::Cause;
  if (state == "53100") return Cause::kFull;
  if (state == "57014") return Cause::kInterrupted;
  if (state == "40001" || state == "40P01" || state == "55P03") return Cause::kBusy;
  const std::string_view area = state.substr(0, 2);
  // No state: the connection was lost. 08: it could not be made; 57P: the server shuts down; 25006: it is a
  // standby now. Then: shortage of resources, I/O errors, damaged data.
  if (state.empty() || area == "08" || state.starts_with("57P") || state == "25006")
    return Cause::kUnreachable;
  // Somebody took rights away, or dropped tables.
  const bool is_taken = state == "42501" || state == "42P01" || state == "3F000";
  const bool is_unusable = is_taken || area == "53" || area == "58" || area == "XX";
  return is_unusable ? Cause::kUnusable : Cause::kFault;
}

pg_result* await_answer(pg_conn* connection, steady_clock::time_point end) {
  std::unique_ptr<PGresult, ClearResult> last;
  while (true) {
    while (libpq().is_busy(connection) != 0) {
      if (!has_input(connection, end))
        throw DbError{.cause = DbError::Cause::kUnreachable, .message = "PostgreSQL does not answer"};
      if (libpq().consume_input(connection) == 0) break;  // the next result is the error
    }
    PGresult* next = libpq().get_result(connection);
    if (next == nullptr) return last.release();
    last.reset(next);
  }
}

}  // namespace millrace::storage
