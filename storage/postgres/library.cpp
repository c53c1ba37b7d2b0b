#include "storage/postgres/library.h"

#include <string>

#include <dlfcn.h>

#include "storage/db/db.h"

namespace millrace::storage {
namespace {

constexpr const char* kLibrary = "libpq.so.5";

template <class Function>
void find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr)
    throw DbError{.cause = DbError::Cause::kUnusable,
                  .message = std::string(kLibrary) + " has no function " + name};
}

Libpq load() {
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw DbError{.cause = DbError::Cause::kUnusable,
                  .message = "store.url needs libpq (Debian package libpq5): " + std::string(::dlerror())};
  Libpq found{};
  find(library, found.connect, "PQconnectdbParams");
  find(library, found.finish, "PQfinish");
  find(library, found.status, "PQstatus");
  find(library, found.error_message, "PQerrorMessage");
  find(library, found.exec, "PQexec");
  find(library, found.send, "PQsendQuery");
  find(library, found.send_prepare, "PQsendPrepare");
  find(library, found.send_prepared, "PQsendQueryPrepared");
  find(library, found.consume_input, "PQconsumeInput");
  find(library, found.is_busy, "PQisBusy");
  find(library, found.get_result, "PQgetResult");
  find(library, found.send_params, "PQsendQueryParams");
  find(library, found.notifies, "PQnotifies");
  find(library, found.free_memory, "PQfreemem");
  find(library, found.prepare, "PQprepare");
  find(library, found.exec_prepared, "PQexecPrepared");
  find(library, found.enter_pipeline, "PQenterPipelineMode");
  find(library, found.exit_pipeline, "PQexitPipelineMode");
  find(library, found.pipeline_sync, "PQpipelineSync");
  find(library, found.result_status, "PQresultStatus");
  find(library, found.result_error_message, "PQresultErrorMessage");
  find(library, found.result_error_field, "PQresultErrorField");
  find(library, found.rows, "PQntuples");
  find(library, found.columns, "PQnfields");
  find(library, found.column_type, "PQftype");
  find(library, found.value, "PQgetvalue");
  find(library, found.length, "PQgetlength");
  find(library, found.is_null, "PQgetisnull");
  find(library, found.changed_rows, "PQcmdTuples");
  find(library, found.clear, "PQclear");
  find(library, found.set_notice_processor, "PQsetNoticeProcessor");
  find(library, found.transaction_status, "PQtransactionStatus");
  find(library, found.socket, "PQsocket");
  find(library, found.server_process, "PQbackendPID");
  find(library, found.parse_url, "PQconninfoParse");
  find(library, found.free_options, "PQconninfoFree");
  return found;
}

}  // namespace

const Libpq& libpq() {
  static const Libpq library = load();
  return library;
}

}  // namespace millrace::storage
