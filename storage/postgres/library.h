#pragma once
#include <libpq-fe.h>

// The functions of libpq that are used. The library is loaded at the first use, so that a gateway without
// PostgreSQL neither needs nor loads it.
namespace millrace::storage {

struct Libpq {
  decltype(&::PQconnectdbParams) connect;
  decltype(&::PQfinish) finish;
  decltype(&::PQstatus) status;
  decltype(&::PQerrorMessage) error_message;
  decltype(&::PQexec) exec;
  decltype(&::PQsendQuery) send;
  decltype(&::PQsendPrepare) send_prepare;
  decltype(&::PQsendQueryPrepared) send_prepared;
  decltype(&::PQconsumeInput) consume_input;
  decltype(&::PQisBusy) is_busy;
  decltype(&::PQgetResult) get_result;
  decltype(&::PQsendQueryParams) send_params;
  decltype(&::PQnotifies) notifies;
  decltype(&::PQfreemem) free_memory;
  decltype(&::PQprepare) prepare;
  decltype(&::PQexecPrepared) exec_prepared;
  decltype(&::PQenterPipelineMode) enter_pipeline;
  decltype(&::PQexitPipelineMode) exit_pipeline;
  decltype(&::PQpipelineSync) pipeline_sync;
  decltype(&::PQresultStatus) result_status;
  decltype(&::PQresultErrorMessage) result_error_message;
  decltype(&::PQresultErrorField) result_error_field;
  decltype(&::PQntuples) rows;
  decltype(&::PQnfields) columns;
  decltype(&::PQftype) column_type;
  decltype(&::PQgetvalue) value;
  decltype(&::PQgetlength) length;
  decltype(&::PQgetisnull) is_null;
  decltype(&::PQcmdTuples) changed_rows;
  decltype(&::PQclear) clear;
  decltype(&::PQsetNoticeProcessor) set_notice_processor;
  decltype(&::PQtransactionStatus) transaction_status;
  decltype(&::PQsocket) socket;
  decltype(&::PQbackendPID) server_process;
  decltype(&::PQconninfoParse) parse_url;
  decltype(&::PQconninfoFree) free_options;
};

// Throws DbError if the library cannot be loaded. Thread-safe.
const Libpq& libpq();

}  // namespace millrace::storage
