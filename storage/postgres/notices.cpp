#include "storage/postgres/notices.h"

#include <array>
#include <cstdint>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "storage/db/db.h"
#include "storage/postgres/answer.h"
#include "storage/postgres/connection.h"
#include "storage/postgres/library.h"
#include "storage/postgres/result.h"

namespace millrace::storage {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kConnectStepMax{2};
// A sender waits neither for the disk nor for a standby: a text that a crash loses is of no use afterwards.
constexpr const char* kListenerSetUp =
    "SET synchronous_commit = off; SET statement_timeout = '5s'; SET client_encoding = 'UTF8'; SET "
    "client_min_messages = error;"
    "SET tcp_keepalives_idle = '2s'; SET tcp_keepalives_interval = '1s'; SET tcp_user_timeout = '3s'";
// Each schema has a channel: databases are shared by schemas, but not by stores.
constexpr const char* kChannel =
    "SELECT 'millrace_' || oid FROM pg_namespace WHERE nspname = current_schema()";
constexpr const char* kNotify = "SELECT pg_notify($1, $2)";

PostgresResult run_step(pg_conn* connection, const std::string& sql) {
  const int is_sent = libpq().send(connection, sql.c_str());
  return {connection,
          is_sent == 0 ? nullptr : await_answer(connection, steady_clock::now() + kConnectStepMax)};
}

}  // namespace

PostgresNotices::PostgresNotices(std::string url)
    : url_(std::move(url)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

PostgresNotices::~PostgresNotices() {
  if (connection_ != nullptr) libpq().finish(connection_);  // without a connection, libpq may be missing
}

void PostgresNotices::connect() {
  libpq().finish(std::exchange(connection_, nullptr));
  is_sending_ = false;
  check_postgres_url(url_);
  connection_ = connect_postgres(url_);
  if (libpq().status(connection_) != CONNECTION_OK) throw_lost();
  run_step(connection_, kListenerSetUp);
  const PostgresResult found = run_step(connection_, kChannel);
  if (found.rows() == 0)
    throw DbError{.cause = DbError::Cause::kUnusable, .message = "it names a schema that does not exist"};
  channel_ = found.bytes(0, 0);
  run_step(connection_, "LISTEN " + channel_);
}

void PostgresNotices::send(const std::string& text) {
  const std::array<const char*, 2> values = {channel_.c_str(), text.c_str()};
  if (libpq().send_params(connection_, kNotify, 2, nullptr, values.data(), nullptr, nullptr, 0) == 0)
    throw_lost();
  is_sending_ = true;
}

std::vector<PostgresNotices::Notice> PostgresNotices::receive(std::chrono::milliseconds wait) {
  std::array<pollfd, 2> ready{{{.fd = libpq().socket(connection_), .events = POLLIN, .revents = 0},
                               {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
  if (::poll(ready.data(), ready.size(), static_cast<int>(wait.count())) > 0 && ready[1].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(wake_.get(), &count, sizeof count);
  }
  if (libpq().consume_input(connection_) == 0) throw_lost();
  while (is_sending_ && libpq().is_busy(connection_) == 0) {
    pg_result* answer = libpq().get_result(connection_);
    is_sending_ = answer != nullptr;
    if (answer != nullptr) PostgresResult(connection_, answer);  // throws the error that it may be
  }
  std::vector<Notice> notices;
  while (PGnotify* notice = libpq().notifies(connection_)) {
    notices.push_back({notice->extra, notice->be_pid == libpq().server_process(connection_)});
    libpq().free_memory(notice);
  }
  return notices;
}

void PostgresNotices::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void PostgresNotices::throw_lost() {
  throw DbError{.cause = DbError::Cause::kUnreachable,
                .message = without_line_end(libpq().error_message(connection_))};
}

}  // namespace millrace::storage
