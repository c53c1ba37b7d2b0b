#include <algorithm>
#include <array>
#include <vector>

#include "api/handlers.h"
#include "api/model_request.h"
#include "api/routing/route.h"

namespace millrace::api {
namespace {

using schemas::Scope;

constexpr std::size_t kChatBody = 64u << 20;
constexpr std::string_view kText = "text/plain";
constexpr std::string_view kStatusExample = R"({"status":"ok"})";
constexpr std::string_view kReadyExample =
    R"({"status":"ok","store":{"status":"ok"},"dispatch":{"status":"ok"},"disk":{"status":"ok"}})";
constexpr std::array kRootReplies{
    ReplySpec{200, "Name of the service and links to its documentation", kJsonType, "Root", {}, "vary"},
    ReplySpec{200,
              "With `Accept: text/html`: the dashboard",
              "text/html",
              {},
              {},
              "etag cache-control content-security-policy x-content-type-options referrer-policy "
              "cross-origin-opener-policy"},
    ReplySpec{304,
              "The page is unchanged",
              {},
              {},
              {},
              "etag cache-control vary content-security-policy x-content-type-options referrer-policy "
              "cross-origin-opener-policy"}};
constexpr std::array kStatusReplies{
    ReplySpec{200, "The process responds", kJsonType, "Status", kStatusExample}};
constexpr std::array kHealthReplies{
    ReplySpec{200, "`ok`; or `draining`: no new work is accepted", kJsonType, "Status", kStatusExample}};
constexpr std::array kReadyReplies{ReplySpec{200, "New jobs are accepted; `degraded`: they may start late",
                                             kJsonType, "Readiness", kReadyExample},
                                   ReplySpec{503,
                                             "New jobs are not accepted: the service is `draining`, or a "
                                             "component is not `ok`; its `detail` contains the reason",
                                             kJsonType, "Readiness"}};
constexpr std::array kVersionReplies{ReplySpec{200, "Name and version", kJsonType, "Version"}};
constexpr std::array kMetricsReplies{ReplySpec{200, "Prometheus text exposition 0.0.4", kText, "Text"}};
constexpr std::array kOpenapiReplies{ReplySpec{200, "This document", kJsonType, "Object"}};
constexpr std::array kModelListReplies{ReplySpec{200, "All models", kJsonType, "ModelList"}};
constexpr std::array kModelReplies{ReplySpec{200, "The model", kJsonType, "Model"}};
constexpr std::string_view kChatExample =
    R"({"id":"chatcmpl-1f0c","object":"chat.completion","created":1735689600,"model":"mock/chat","choices":[{"index":0,"message":)"
    R"({"role":"assistant","content":"Hello","refusal":null},"logprobs":null,"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}})";
constexpr std::string_view kChatAbout =
    "OpenAI's chat completions. `model` selects the provider; `GET /v1/models` lists the names. With "
    "`stream` the completion is sent as Server-Sent Events while it is generated. With `deferred` the "
    "request becomes a job: the response is its `request_id`, and the completion is kept for 24 h. A failed "
    "call is retried; after that the model's fallbacks are called. `x-millrace-model` names the model that "
    "answered, and `x-millrace-attempts` is the number of calls. Parameters that the provider does not "
    "support are listed in `x-millrace-dropped-params`; with `strict` they are an error. The gateway runs "
    "the tools of MCP servers (`mcp_servers`).";
constexpr std::array kChatReplies{
    ReplySpec{200, "The completion; with `deferred`: the id with which to poll for it", kJsonType,
              "ChatAnswer", kChatExample, kModelHeaders},
    ReplySpec{200,
              "With `stream`: unnamed events, each a chat.completion.chunk, then `[DONE]`; an event `error` "
              "ends it early",
              kSse,
              {},
              {},
              "cache-control x-accel-buffering"},
    ReplySpec{502, "The provider failed", kJsonType, "Error"},
    ReplySpec{504, "The provider did not answer in time", kJsonType, "Error"}};
constexpr std::array kDeferredChatReplies{
    ReplySpec{200, "The completion", kJsonType, "ChatCompletion", kChatExample, kModelHeaders},
    ReplySpec{202, "The completion is not ready yet"},
    ReplySpec{502, "The provider failed", kJsonType, "Error"},
    ReplySpec{504, "The provider did not answer in time, or the job did not start before its deadline",
              kJsonType, "Error"}};
constexpr std::array kJobListReplies{ReplySpec{200, "One page of jobs, newest first", kJsonType, "JobList"}};
constexpr std::array kJobReplies{ReplySpec{200, "The job", kJsonType, "Job", kJobExample}};
constexpr std::array kDeletedJobReplies{ReplySpec{
    200, "The job as it was, or as it is while it is being cancelled", kJsonType, "Job", kJobExample}};
constexpr std::string_view kDeleteAbout =
    "Deletes the job with its request, its document or recording, its result, its parts and its history. A "
    "job that has "
    "not ended is cancelled first and deleted when it has stopped. The audit log says who deleted it.";
constexpr std::array kRetryReplies{ReplySpec{202, "The new job", kJsonType, "Job", kJobExample, "location"}};
constexpr std::array kResultReplies{
    ReplySpec{200, "The result of the job; with `partial`, the result so far", kJsonType, "JobResult",
              kOcrExample, "retry-after-ms"},
    ReplySpec{200, "Jobs of kind stt, in a text format", kText, "Text"},
    ReplySpec{202, "The job has not finished yet"},
    ReplySpec{502, "The job failed: the document could not be fetched", kJsonType, "Error"},
    ReplySpec{504, "The job expired before it started", kJsonType, "Error"}};
constexpr std::array kOriginalRequestReplies{
    ReplySpec{200, "A request that creates the same job", kJsonType, "JobRequest"}};
constexpr std::string_view kOriginalRequestAbout =
    "Built from the stored parts of the request. It is available as long as the job is. `left_out` lists the "
    "places where something is missing: the bytes of files, the values of environment variables, the queries "
    "of URLs and undocumented fields. `credentials` are never stored.";
constexpr std::array kPictureReplies{
    ReplySpec{200,
              "The page, 1,000 pixels at its longer side",
              "image/jpeg",
              {},
              {},
              "cache-control content-security-policy x-content-type-options"}};
constexpr std::string_view kPictureAbout =
    "`page` counts from 0, like `index` in the result. The jailed engine renders the page for each request, "
    "from the job's stored document. The document is kept as long as the job's result. The picture is not "
    "stored.";
constexpr std::array kEventReplies{
    ReplySpec{200, "One page of events", kJsonType, "JobEventList"},
    ReplySpec{200, "With `Accept: text/event-stream`: a live stream of events, until the job is over", kSse},
    ReplySpec{204, "The stream was resumed past its end; no more events follow"}};

constexpr std::array kUsageReplies{
    ReplySpec{200, "Usage and limits of the key's tenant, and of the key itself", kJsonType, "Usage"}};

constexpr Route open_get(std::string_view pattern, Lane lane, void (*handler)(Context&, CallPtr),
                         Operation operation) {
  return {Method::kGet, pattern, Access::kOpen, Scope::kAdmin, BodyKind::kNone,
          kSmallBody,   lane,    handler,       operation};
}

// clang-format off
const std::array kRoutes{
    open_get("/", Lane::kFront, &root, {"getRoot", "service", "Get the service name and links", kRootReplies}),
    open_get("/health", Lane::kFront, &health, {"getHealth", "service", "Check that the process responds", kHealthReplies}),
    open_get("/livez", Lane::kFront, &livez, {"getLivez", "service", "Liveness, for orchestrators", kStatusReplies}),
    open_get("/readyz", Lane::kFront, &readyz, {"getReadyz", "service", "Readiness: store, dispatch and disk", kReadyReplies}),
    open_get("/version", Lane::kFront, &version, {"getVersion", "service", "Name and version", kVersionReplies}),
    open_get("/openapi.json", Lane::kFront, &openapi, {"getOpenapi", "service", "The OpenAPI document", kOpenapiReplies}),
    Route{Method::kGet, "/metrics", Access::kMetrics, Scope::kMetrics, BodyKind::kNone, kSmallBody, Lane::kPool, &metrics,
          {"getMetrics", "service", "Metrics for Prometheus", kMetricsReplies}},

    get("/v1/models", Scope::kModels, Lane::kFront, &list_models, {"listModels", "models", "List models", kModelListReplies}),
    get("/v1/models/{model...}", Scope::kModels, Lane::kFront, &get_model, {"getModel", "models", "Get a model", kModelReplies}),

    for_batches(Route{Method::kPost, "/v1/chat/completions", Access::kScope, Scope::kChat, BodyKind::kJson, kChatBody, Lane::kBody, &create_chat,
          {.id = "createChatCompletion", .tag = "chat", .summary = "Create a chat completion", .replies = kChatReplies,
           .query = model_query_fields(), .headers = "IdempotencyKey WebhookUrl Traceparent", .body = "ChatRequest", .state = true,
           .job = JobReplies::kSubmitted, .about = kChatAbout}}),
    get("/v1/chat/deferred-completion/{request_id}", Scope::kChat, Lane::kPool, &deferred_chat,
        {.id = "getDeferredChatCompletion", .tag = "chat", .summary = "Get a deferred completion",
         .replies = kDeferredChatReplies, .headers = "PreferWait", .state = true, .job = JobReplies::kResult}),

    get("/v1/jobs", Scope::kJobsRead, Lane::kPool, &list_jobs,
        {.id = "listJobs", .tag = "jobs", .summary = "List jobs", .replies = kJobListReplies, .query = job_list_fields()}),
    get("/v1/jobs/{job_id}", Scope::kJobsRead, Lane::kPool, &get_job,
        {.id = "getJob", .tag = "jobs", .summary = "Get a job", .replies = kJobReplies, .headers = "PreferWait",
         .job = JobReplies::kNamed}),
    with_kind_scope(get("/v1/jobs/{job_id}/result", Scope::kJobsRead, Lane::kPool, &job_result,
        {.id = "getJobResult", .tag = "jobs", .summary = "Get the result of a job", .replies = kResultReplies,
         .query = job_result_fields(), .state = true, .job = JobReplies::kResult})),
    with_kind_scope(get("/v1/jobs/{job_id}/request", Scope::kJobsRead, Lane::kPool, &job_original_request,
        {.id = "getJobRequest", .tag = "jobs", .summary = "Get the original request of a job", .replies = kOriginalRequestReplies,
         .job = JobReplies::kNamed, .about = kOriginalRequestAbout})),
    with_kind_scope(get("/v1/jobs/{job_id}/pages/{page}/picture", Scope::kJobsRead, Lane::kPool, &page_picture,
        {.id = "getJobPagePicture", .tag = "jobs", .summary = "Get a picture of a page of an OCR job",
         .replies = kPictureReplies, .job = JobReplies::kNamed, .about = kPictureAbout})),
    get("/v1/jobs/{job_id}/events", Scope::kJobsRead, Lane::kPool, &job_events,
        {.id = "listJobEvents", .tag = "jobs", .summary = "List or stream the events of a job", .replies = kEventReplies,
         .query = job_event_fields(), .headers = "LastEventId",
         .job = JobReplies::kNamed}),
    Route{Method::kGet, "/v1/usage", Access::kKey, Scope::kAdmin, BodyKind::kNone, kSmallBody, Lane::kPool, &get_usage,
          {.id = "getUsage", .tag = "usage", .summary = "Get what your tenant and key use, and their limits",
           .replies = kUsageReplies, .query = usage_fields()}},
    write_route(Method::kPost, "/v1/jobs/{job_id}/cancel", Scope::kJobsWrite, Lane::kFront, &cancel_job,
        {.id = "cancelJob", .tag = "jobs", .summary = "Cancel a job", .replies = kJobReplies, .repeatable = true,
         .job = JobReplies::kNamed}),
    with_kind_scope(delete_route("/v1/jobs/{job_id}", Scope::kJobsWrite, Lane::kPool, &delete_job,
        {.id = "deleteJob", .tag = "jobs", .summary = "Delete a job", .replies = kDeletedJobReplies,
         .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kKeyed, .about = kDeleteAbout})),
    with_kind_scope(write_route(Method::kPost, "/v1/jobs/{job_id}/retry", Scope::kJobsWrite, Lane::kPool, &retry_job,
        {.id = "retryJob", .tag = "jobs", .summary = "Retry a job",
         .replies = kRetryReplies, .headers = "IdempotencyKey Traceparent", .state = true,
         .job = JobReplies::kKeyed})),
};
// clang-format on

}  // namespace

bool serves_other_clients(const Route& route) {
  constexpr std::array<std::string_view, 8> kTags{"models", "chat",  "embeddings",   "images",
                                                  "ocr",    "audio", "stored files", "batches"};
  return std::ranges::find(kTags, route.operation.tag) != kTags.end();
}

KeyUse key_use(const Route& route) {
  const bool stores_key = route.operation.headers.find("IdempotencyKey") != std::string_view::npos;
  if (stores_key || route.operation.repeatable || route.method == Method::kGet) return KeyUse::kHonoured;
  return serves_other_clients(route) ? KeyUse::kIgnored : KeyUse::kRefused;
}

std::span<const Route> routes() {
  static const std::vector<Route> all = [] {
    std::vector<Route> table(kRoutes.begin(), kRoutes.end());
    const std::span<const Route> media = media_routes();
    table.insert(table.end(), media.begin(), media.end());
    const std::span<const Route> audio = audio_routes();
    table.insert(table.end(), audio.begin(), audio.end());
    const std::span<const Route> files = file_routes();
    table.insert(table.end(), files.begin(), files.end());
    const std::span<const Route> batches = batch_routes();
    table.insert(table.end(), batches.begin(), batches.end());
    const std::span<const Route> webhooks = webhook_routes();
    table.insert(table.end(), webhooks.begin(), webhooks.end());
    const std::span<const Route> dashboard = dashboard_routes();
    table.insert(table.end(), dashboard.begin(), dashboard.end());
    const std::span<const Route> admin = admin_routes();
    table.insert(table.end(), admin.begin(), admin.end());
    const std::span<const Route> machines = machine_routes();
    table.insert(table.end(), machines.begin(), machines.end());
    return table;
  }();
  return all;
}

}  // namespace millrace::api
