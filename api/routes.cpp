#include "api/routes.h"

#include <array>

#include "api/handlers.h"

namespace millrace::api {
namespace {

using schemas::Scope;

constexpr std::size_t kSmallBody = 1u << 20;
constexpr std::size_t kOcrBody = 72u << 20;
// 8 MiB of standard input and 256 KiB of arguments and variables, each byte as an escape of six characters.
constexpr std::size_t kExecutionBody = 50u << 20;

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kSse = "text/event-stream";
constexpr std::string_view kText = "text/plain";
constexpr std::string_view kStatusExample = R"({"status":"ok"})";
constexpr std::string_view kReadyExample =
    R"({"status":"ok","store":{"status":"ok"},"dispatch":{"status":"ok"},"disk":{"status":"ok"}})";
constexpr std::string_view kOcrExample =
    R"({"pages":[{"index":0,"markdown":"# Invoice\n\nTotal: 42","images":[],"dimensions":{"dpi":200,"height":2339,"width":1654}}],)"
    R"("model":"millrace/ocr","usage_info":{"pages_processed":1,"doc_size_bytes":48211}})";
constexpr std::string_view kJobExample =
    R"({"id":"ocr-01932b6c-8a00-7000-8000-000000000001","kind":"ocr","status":"queued","created_at":"2025-01-31T08:00:00.000Z",)"
    R"("expires_at":"2025-02-01T08:00:00.000Z","attempt":0,"model":"millrace/ocr","links":{)"
    R"("self":"/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001","result":"/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001/result",)"
    R"("events":"/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001/events",)"
    R"("cancel":"/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001/cancel",)"
    R"("retry":"/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001/retry"}})";

constexpr std::string_view kMachineExample =
    R"({"machine_id":"dm-01932b6c-8a00-7000-8000-000000000001","name":"local","driver":"sandbox","vcpu":1,"memory_mib":1024,)"
    R"("storage_gib":4,"autosleep_seconds":0,"desired_state":"running","phase":"running","created_at":"2025-01-31T08:00:00.000Z"})";
constexpr std::string_view kExecutionExample =
    R"({"execution_id":"exec-01932b6c-8a00-7000-8000-000000000001","machine_id":"dm-01932b6c-8a00-7000-8000-000000000001",)"
    R"("status":"queued","command":["sh","-c","echo $GREETING"],"created_at":"2025-01-31T08:00:00.000Z","env_keys":["GREETING"],)"
    R"("log_capture":{}})";

constexpr std::array kRootReplies{
    ReplyFacts{200, "What this is and where its documents are", kJsonType, "Root"}};
constexpr std::array kStatusReplies{
    ReplyFacts{200, "The process answers", kJsonType, "Status", kStatusExample}};
constexpr std::array kHealthReplies{
    ReplyFacts{200, "`ok`, or `draining`: no new work is taken", kJsonType, "Status", kStatusExample}};
constexpr std::array kReadyReplies{
    ReplyFacts{200, "New jobs are taken; `degraded`: with some latency", kJsonType, "Readiness",
               kReadyExample},
    ReplyFacts{503, "New jobs are not taken: `draining`, or the part that is not `ok` says why", kJsonType,
               "Readiness"}};
constexpr std::array kVersionReplies{ReplyFacts{200, "Name and version", kJsonType, "Version"}};
constexpr std::array kMetricsReplies{ReplyFacts{200, "Prometheus text exposition 0.0.4", kText, "Text"}};
constexpr std::array kOpenapiReplies{ReplyFacts{200, "This document", kJsonType, "Object"}};
constexpr std::array kModelListReplies{ReplyFacts{200, "All models", kJsonType, "ModelList"}};
constexpr std::array kModelReplies{ReplyFacts{200, "The model", kJsonType, "Model"}};
constexpr std::array kOcrReplies{
    ReplyFacts{200, "The text, page by page", kJsonType, "OcrReply", kOcrExample},
    ReplyFacts{202, "The job, which goes on: `Prefer: respond-async` or `deferred`", kJsonType, "Job",
               kJobExample, true},
    ReplyFacts{502, "The document could not be fetched", kJsonType, "Error"},
    ReplyFacts{
        504, "The wait is over; the job that x-millrace-job names goes on", kJsonType, "Error", {}, true}};
constexpr std::array kMachineListReplies{
    ReplyFacts{200, "One page of machines, newest first", kJsonType, "MachineList"}};
constexpr std::array kMachineReplies{
    ReplyFacts{200, "The machine with its status", kJsonType, "Machine", kMachineExample}};
constexpr std::array kCreateExecutionReplies{
    ReplyFacts{200, "The execution; of a key that was used before, as it is now", kJsonType, "Execution",
               kExecutionExample}};
constexpr std::array kExecutionListReplies{
    ReplyFacts{200, "One page of executions, newest first", kJsonType, "ExecutionList"}};
constexpr std::array kExecutionReplies{
    ReplyFacts{200, "The execution", kJsonType, "Execution", kExecutionExample}};
constexpr std::array kDeleteExecutionReplies{
    ReplyFacts{200, "The execution as it is, asked to stop; or, of one that was over, as it was", kJsonType,
               "Execution", kExecutionExample}};
constexpr std::array kOutputReplies{
    ReplyFacts{200, "What the command has written so far, up to what is kept", kJsonType, "ExecutionOutput"}};
constexpr std::array kExecutionEventReplies{
    ReplyFacts{200, "One page of events", kJsonType, "ExecutionEventList"},
    ReplyFacts{200, "With `Accept: text/event-stream`: events as they come, until the command has ended",
               kSse},
    ReplyFacts{204, "A stream resumed past its end: nothing more will come"}};
constexpr std::array kJobListReplies{ReplyFacts{200, "One page of jobs, newest first", kJsonType, "JobList"}};
constexpr std::array kJobReplies{ReplyFacts{200, "The job", kJsonType, "Job", kJobExample}};
constexpr std::array kRetryReplies{ReplyFacts{202, "The new job", kJsonType, "Job", kJobExample, true}};
constexpr std::array kResultReplies{
    ReplyFacts{200, "What the job has made; with `partial`, what there is so far", kJsonType, "OcrReply",
               kOcrExample},
    ReplyFacts{202, "The job is not over yet"},
    ReplyFacts{502, "The job failed: the document could not be fetched", kJsonType, "Error"},
    ReplyFacts{504, "The job expired before it started", kJsonType, "Error"}};
constexpr std::array kEventReplies{
    ReplyFacts{200, "One page of events", kJsonType, "JobEventList"},
    ReplyFacts{200, "With `Accept: text/event-stream`: events as they come, until the job is over", kSse},
    ReplyFacts{204, "A stream resumed past its end: nothing more will come"}};

constexpr Route open_get(std::string_view pattern, Lane lane, void (*handler)(Context&, CallPtr),
                         Operation operation) {
  return {Method::kGet, pattern, Access::kOpen, Scope::kAdmin, BodyKind::kNone,
          kSmallBody,   lane,    handler,       operation};
}

constexpr Route get(std::string_view pattern, Scope scope, Lane lane, void (*handler)(Context&, CallPtr),
                    Operation operation) {
  return {Method::kGet, pattern, Access::kScope, scope,    BodyKind::kNone,
          kSmallBody,   lane,    handler,        operation};
}

constexpr Route making(Makes makes, Route route) {
  route.makes = makes;
  return route;
}

constexpr Route act(std::string_view pattern, Scope scope, Lane lane, void (*handler)(Context&, CallPtr),
                    Operation operation) {
  return {Method::kPost, pattern, Access::kScope, scope,    BodyKind::kOptional,
          kSmallBody,    lane,    handler,        operation};
}

// clang-format off
const std::array kRoutes{
    open_get("/", Lane::kFront, &root, {"getRoot", "service", "Where to begin", kRootReplies}),
    open_get("/health", Lane::kFront, &health, {"getHealth", "service", "The process answers, and whether it is shutting down", kHealthReplies}),
    open_get("/livez", Lane::kFront, &livez, {"getLivez", "service", "Liveness, for orchestrators", kStatusReplies}),
    open_get("/readyz", Lane::kPool, &readyz, {"getReadyz", "service", "Readiness: store, dispatch and disk", kReadyReplies}),
    open_get("/version", Lane::kFront, &version, {"getVersion", "service", "Name and version", kVersionReplies}),
    open_get("/openapi.json", Lane::kFront, &openapi, {"getOpenapi", "service", "The OpenAPI document", kOpenapiReplies}),
    Route{Method::kGet, "/metrics", Access::kMetrics, Scope::kAdmin, BodyKind::kNone, kSmallBody, Lane::kPool, &metrics,
          {"getMetrics", "service", "Metrics for Prometheus", kMetricsReplies}},

    get("/v1/models", Scope::kModels, Lane::kFront, &list_models, {"listModels", "models", "List models", kModelListReplies}),
    get("/v1/models/{model...}", Scope::kModels, Lane::kFront, &get_model, {"getModel", "models", "One model", kModelReplies}),

    Route{Method::kPost, "/v1/ocr", Access::kScope, Scope::kOcr, BodyKind::kJson, kOcrBody, Lane::kBody, &create_ocr,
          {.id = "createOcr", .tag = "ocr", .summary = "Text of a PDF or an image as markdown", .replies = kOcrReplies,
           .headers = "Prefer IdempotencyKey Traceparent", .body = "OcrRequest", .state = true,
           .job = JobReplies::kSubmitted},
          Makes::kJobByKey},

    get("/v1/machines", Scope::kExecRead, Lane::kPool, &list_machines,
        {.id = "listMachines", .tag = "machines", .summary = "List machines", .replies = kMachineListReplies,
         .query = machine_list_fields()}),
    get("/v1/machines/{machine_id}", Scope::kExecRead, Lane::kPool, &get_machine,
        {.id = "getMachine", .tag = "machines", .summary = "One machine", .replies = kMachineReplies}),
    Route{Method::kPost, "/v1/machines/{machine_id}/executions", Access::kScope, Scope::kExecRun, BodyKind::kJson,
          kExecutionBody, Lane::kPool, &create_execution,
          {.id = "createExecution", .tag = "executions", .summary = "Run a command on a machine",
           .replies = kCreateExecutionReplies, .headers = "IdempotencyKeyRequired Traceparent",
           .body = "ExecutionRequest", .state = true, .job = JobReplies::kKeyed},
          Makes::kJobByKey},
    get("/v1/machines/{machine_id}/executions", Scope::kExecRead, Lane::kPool, &list_executions,
        {.id = "listExecutions", .tag = "executions", .summary = "List a machine's executions",
         .replies = kExecutionListReplies, .query = execution_list_fields()}),
    get("/v1/machines/{machine_id}/executions/{execution_id}", Scope::kExecRead, Lane::kPool, &get_execution,
        {.id = "getExecution", .tag = "executions", .summary = "One execution", .replies = kExecutionReplies,
         .job = JobReplies::kNamed}),
    Route{Method::kDelete, "/v1/machines/{machine_id}/executions/{execution_id}", Access::kScope, Scope::kExecRun,
          BodyKind::kNone, kSmallBody, Lane::kPool, &delete_execution,
          {.id = "deleteExecution", .tag = "executions",
           .summary = "Cancel an execution; one that is over is removed with its output",
           .replies = kDeleteExecutionReplies, .headers = "IdempotencyKey", .state = true, .job = JobReplies::kKeyed}},
    get("/v1/machines/{machine_id}/executions/{execution_id}/output", Scope::kExecRead, Lane::kPool, &execution_output,
        {.id = "getExecutionOutput", .tag = "executions", .summary = "What a command has written",
         .replies = kOutputReplies, .job = JobReplies::kNamed}),
    get("/v1/machines/{machine_id}/executions/{execution_id}/events", Scope::kExecRead, Lane::kPool, &execution_events,
        {.id = "listExecutionEvents", .tag = "executions",
         .summary = "An execution's history and output, as pages or as a stream", .replies = kExecutionEventReplies,
         .query = job_event_fields(), .headers = "LastEventId", .job = JobReplies::kNamed}),

    get("/v1/jobs", Scope::kJobsRead, Lane::kPool, &list_jobs,
        {.id = "listJobs", .tag = "jobs", .summary = "List jobs", .replies = kJobListReplies, .query = job_list_fields()}),
    get("/v1/jobs/{job_id}", Scope::kJobsRead, Lane::kPool, &get_job,
        {.id = "getJob", .tag = "jobs", .summary = "One job", .replies = kJobReplies, .headers = "PreferWait",
         .job = JobReplies::kNamed}),
    get("/v1/jobs/{job_id}/result", Scope::kJobsRead, Lane::kPool, &job_result,
        {.id = "getJobResult", .tag = "jobs", .summary = "What a job has made", .replies = kResultReplies,
         .query = job_result_fields(), .state = true, .job = JobReplies::kResult}),
    get("/v1/jobs/{job_id}/events", Scope::kJobsRead, Lane::kPool, &job_events,
        {.id = "listJobEvents", .tag = "jobs", .summary = "A job's history, as pages or as a stream", .replies = kEventReplies,
         .query = job_event_fields(), .headers = "LastEventId",
         .job = JobReplies::kNamed}),
    act("/v1/jobs/{job_id}/cancel", Scope::kJobsWrite, Lane::kFront, &cancel_job,
        {.id = "cancelJob", .tag = "jobs", .summary = "Cancel a job; one that is over stays as it is", .replies = kJobReplies,
         .job = JobReplies::kNamed}),
    making(Makes::kJob, act("/v1/jobs/{job_id}/retry", Scope::kJobsWrite, Lane::kFront, &retry_job,
        {.id = "retryJob", .tag = "jobs", .summary = "A new job from the input of one that failed, expired or was cancelled",
         .replies = kRetryReplies, .headers = "Traceparent", .state = true,
         .job = JobReplies::kNamed})),
};
// clang-format on

}  // namespace

std::span<const Route> routes() { return kRoutes; }

}  // namespace millrace::api
