#pragma once
#include <span>

#include "api/context.h"
#include "api/route.h"

// The handlers of the route table, by resource: they parse, call and answer. Lanes and limits: routes.cpp.
namespace millrace::api {

// service_handlers.cpp
void root(Context&, CallPtr);
void livez(Context&, CallPtr);
void health(Context&, CallPtr);
void readyz(Context&, CallPtr);
void version(Context&, CallPtr);
void metrics(Context&, CallPtr);
void openapi(Context&, CallPtr);

// model_handlers.cpp
void list_models(Context&, CallPtr);
void get_model(Context&, CallPtr);

// ocr_handlers.cpp
void create_ocr(Context&, CallPtr);

// machine_handlers.cpp
void list_machines(Context&, CallPtr);
void get_machine(Context&, CallPtr);
std::span<const schemas::Field> machine_list_fields();

// execution_handlers.cpp
void create_execution(Context&, CallPtr);
void list_executions(Context&, CallPtr);
void get_execution(Context&, CallPtr);
void delete_execution(Context&, CallPtr);
std::span<const schemas::Field> execution_list_fields();

// execution_output.cpp
void execution_output(Context&, CallPtr);
void execution_events(Context&, CallPtr);

// job_handlers.cpp
void list_jobs(Context&, CallPtr);
void get_job(Context&, CallPtr);
void cancel_job(Context&, CallPtr);
void retry_job(Context&, CallPtr);
void job_result(Context&, CallPtr);
std::span<const schemas::Field> job_list_fields();
std::span<const schemas::Field> job_result_fields();

// event_handlers.cpp
void job_events(Context&, CallPtr);
std::span<const schemas::Field> job_event_fields();

}  // namespace millrace::api
