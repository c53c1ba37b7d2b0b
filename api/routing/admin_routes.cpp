#include <array>

#include "api/handlers.h"
#include "api/routing/route.h"

namespace millrace::api {
namespace {

using schemas::Scope;

constexpr std::string_view kMadeKeyExample =
    R"({"key":"mr_live_4fGh7Kq2_9bTzQ1vXcR5nW8mYdL3pS6jH0gFkA2eU7iO4rZxCvBN","id":"4fGh7Kq2","name":"ci","tenant":"default",)"
    R"("scopes":["ocr","jobs:read"],"created_at":"2025-01-31T08:00:00.000Z"})";

constexpr std::array kOverviewReplies{ReplySpec{
    200, "Queues and recently finished jobs per kind; the state of the store", kJsonType, "AdminOverview"}};
constexpr std::array kQueuesReplies{ReplySpec{200, "One queue per kind", kJsonType, "AdminQueueList"}};
constexpr std::array kWorkersReplies{ReplySpec{
    200, "All workers that reported and did not shut down cleanly, by name", kJsonType, "AdminWorkerList"}};
constexpr std::array kHostsReplies{
    ReplySpec{200, "The hosts that share the database, by name", kJsonType, "AdminHostList"}};
constexpr std::array kDeadReplies{ReplySpec{
    200, "One group per kind and reason, largest first, with its newest job", kJsonType, "AdminDeadList"}};
constexpr std::array kQueueReplies{ReplySpec{200, "The current state of the queue", kJsonType, "AdminQueue"}};
constexpr std::array kWorkerReplies{
    ReplySpec{200, "The current state of the worker", kJsonType, "AdminWorker"}};
constexpr std::array kFeedReplies{ReplySpec{
    200,
    "Events. `job`: id, kind, tenant, status and version of each changed job. `overview`: the body of "
    "GET /v1/admin/overview, every few seconds. `ping`: keep-alive. `dropped`: the client read too "
    "slowly, and the stream ends",
    kSse}};
constexpr std::string_view kPauseAbout =
    "New jobs are accepted and stay queued; their deadlines still apply. Running jobs continue. The pause "
    "takes effect in every process at once and persists across restarts until the queue is resumed.";
constexpr std::string_view kDrainAbout =
    "Within one heartbeat the worker stops claiming new jobs. Its running jobs continue, and its process "
    "stays alive. A worker that starts later with the same name is not draining.";
constexpr std::string_view kFeedAbout =
    "No event is sent twice, and the stream cannot be resumed: after a reconnect, read the lists again. If "
    "several processes share a store without Kafka, `job` events cover only the changes made by the process "
    "that serves the stream.";
constexpr std::array kProvidersReplies{
    ReplySpec{200, "All configured targets, and other targets that were used recently", kJsonType,
              "AdminProviderList"}};
constexpr std::array kAllJobsReplies{ReplySpec{200, "One page of jobs, newest first", kJsonType, "JobList"}};
constexpr std::array kBulkReplies{ReplySpec{200, "The number of matching jobs, and how many of them changed",
                                            kJsonType, "AdminBulk", R"({"matched":3,"changed":2})"}};
constexpr std::array kKeyListReplies{
    ReplySpec{200, "The keys, without the secrets: of all tenants, or with `tenant:admin` of the caller's",
              kJsonType, "ApiKeyList"}};
constexpr std::array kKeyReplies{
    ReplySpec{200, "The revoked key; every process rejects it within one second", kJsonType, "ApiKey"}};
constexpr std::array kChangedKeyReplies{
    ReplySpec{200, "The changed key; calls that it no longer allows have ended", kJsonType, "ApiKey"}};
constexpr std::array kMadeKeyReplies{ReplySpec{200, "The new key. Its text is returned only here", kJsonType,
                                               "MadeApiKey", kMadeKeyExample, "cache-control"}};

constexpr std::array kTenantListReplies{
    ReplySpec{200, "All tenants that have a key or a limit, by name", kJsonType, "TenantList"}};
constexpr std::array kTenantReplies{
    ReplySpec{200, "The tenant's limits and what it uses", kJsonType, "Tenant"}};
constexpr std::string_view kSetTenantAbout =
    "Replaces the tenant's limits. A limit that is null or missing has its default; `\"unlimited\"` removes "
    "it. "
    "Every process applies them within one second. What is stored already stays, even above a new limit.";

constexpr std::string_view kKeysAbout =
    "With the scope `tenant:admin` the call concerns only keys of the caller's tenant without the scope "
    "`admin`. "
    "Nobody can grant what they do not have: the scopes, and the addresses, models and MCP servers that the "
    "new "
    "key may use, must be among those of the caller's key.";
constexpr std::string_view kBulkDeleteAbout =
    "As `POST /v1/admin/jobs/cancel` selects jobs; each is deleted as by `DELETE /v1/jobs/{job_id}`.";
constexpr std::string_view kBulkRetryAbout =
    "As `POST /v1/admin/jobs/cancel` selects jobs. Each job is retried only once this way, however often the "
    "call is "
    "sent: a job that has a retry stays unchanged and counts as `already_retried`. `POST "
    "/v1/jobs/{job_id}/retry` "
    "retries it once more.";
constexpr std::string_view kBulkAbout =
    "Select jobs by `ids` or by `filter`: at most 1,000 per call, newest first. Jobs whose state does not "
    "allow the operation stay unchanged; `unchanged` counts them by reason. If the response has a "
    "`next_cursor`, there are more jobs: send it "
    "as `filter.cursor`.";

constexpr Route admin_get(std::string_view pattern, void (*handler)(Context&, CallPtr), Operation operation) {
  return get(pattern, Scope::kAdmin, Lane::kPool, handler, operation);
}
constexpr Route admin_post(std::string_view pattern, BodyKind body, void (*handler)(Context&, CallPtr),
                           Operation operation) {
  return {Method::kPost, pattern,     Access::kScope, Scope::kAdmin, body,
          kSmallBody,    Lane::kPool, handler,        operation};
}
constexpr Route key_post(std::string_view pattern, BodyKind body, void (*handler)(Context&, CallPtr),
                         Operation operation) {
  return {Method::kPost, pattern, Access::kScope, Scope::kTenantAdmin, body, kSmallBody,
          Lane::kPool,   handler, operation};
}

// clang-format off
const std::array kAdminRoutes{
    admin_get("/v1/admin/overview", &admin_overview,
        {.id = "getAdminOverview", .tag = "admin", .summary = "Get totals, rates and health", .replies = kOverviewReplies}),
    admin_get("/v1/admin/queues", &admin_queues,
        {.id = "listAdminQueues", .tag = "admin", .summary = "List queues with their slots", .replies = kQueuesReplies}),
    admin_get("/v1/admin/dead", &admin_dead,
        {.id = "listAdminDead", .tag = "admin", .summary = "List failed jobs by kind and reason", .replies = kDeadReplies}),
    admin_get("/v1/admin/events", &admin_events,
        {.id = "streamAdminEvents", .tag = "admin", .summary = "Stream job state changes", .replies = kFeedReplies, .about = kFeedAbout}),
    admin_post("/v1/admin/queues/{kind}/pause", BodyKind::kOptional, &admin_pause_queue,
        {.id = "pauseAdminQueue", .tag = "admin", .summary = "Pause a queue", .replies = kQueueReplies, .repeatable = true, .about = kPauseAbout}),
    admin_post("/v1/admin/queues/{kind}/resume", BodyKind::kOptional, &admin_resume_queue,
        {.id = "resumeAdminQueue", .tag = "admin", .summary = "Resume a queue", .replies = kQueueReplies, .repeatable = true}),
    admin_post("/v1/admin/workers/{worker}/drain", BodyKind::kOptional, &admin_drain_worker,
        {.id = "drainAdminWorker", .tag = "admin", .summary = "Drain a worker",
         .replies = kWorkerReplies, .repeatable = true, .about = kDrainAbout}),
    admin_get("/v1/admin/workers", &admin_workers,
        {.id = "listAdminWorkers", .tag = "admin", .summary = "List workers", .replies = kWorkersReplies}),
    admin_get("/v1/admin/hosts", &admin_hosts,
        {.id = "listAdminHosts", .tag = "admin", .summary = "List the hosts of the gateway and their processes",
         .replies = kHostsReplies}),
    admin_get("/v1/admin/providers", &admin_providers,
        {.id = "listAdminProviders", .tag = "admin", .summary = "List providers by model: circuit, latency, price", .replies = kProvidersReplies}),
    admin_get("/v1/admin/jobs", &list_all_jobs,
        {.id = "listAdminJobs", .tag = "admin", .summary = "List jobs of all tenants", .replies = kAllJobsReplies, .query = all_job_list_fields()}),
    admin_post("/v1/admin/jobs/cancel", BodyKind::kJson, &admin_cancel_jobs,
        {.id = "cancelAdminJobs", .tag = "admin", .summary = "Cancel many jobs", .replies = kBulkReplies, .body = "AdminBulkRequest", .about = kBulkAbout}),
    admin_post("/v1/admin/jobs/retry", BodyKind::kJson, &admin_retry_jobs,
        {.id = "retryAdminJobs", .tag = "admin", .summary = "Retry many jobs",
         .replies = kBulkReplies, .headers = "Traceparent", .body = "AdminBulkRequest", .about = kBulkRetryAbout}),
    admin_post("/v1/admin/jobs/delete", BodyKind::kJson, &admin_delete_jobs,
        {.id = "deleteAdminJobs", .tag = "admin", .summary = "Delete many jobs", .replies = kBulkReplies, .body = "AdminBulkRequest",
         .about = kBulkDeleteAbout}),
    get("/v1/admin/keys", Scope::kTenantAdmin, Lane::kPool, &admin_list_keys,
        {.id = "listAdminKeys", .tag = "admin", .summary = "List API keys", .replies = kKeyListReplies}),
    key_post("/v1/admin/keys", BodyKind::kJson, &admin_create_key,
        {.id = "createAdminKey", .tag = "admin", .summary = "Create an API key", .replies = kMadeKeyReplies, .body = "ApiKeyRequest",
         .about = kKeysAbout}),
    Route{Method::kPatch, "/v1/admin/keys/{key_id}", Access::kScope, Scope::kTenantAdmin, BodyKind::kJson, kSmallBody,
        Lane::kPool, &admin_change_key,
        {.id = "changeAdminKey", .tag = "admin", .summary = "Change an API key", .replies = kChangedKeyReplies,
         .body = "ApiKeyChange", .about = kKeysAbout}},
    delete_route("/v1/admin/keys/{key_id}", Scope::kTenantAdmin, Lane::kPool, &admin_revoke_key,
        {.id = "revokeAdminKey", .tag = "admin", .summary = "Revoke an API key", .replies = kKeyReplies}),
    key_post("/v1/admin/keys/{key_id}/rotate", BodyKind::kOptional, &admin_rotate_key,
        {.id = "rotateAdminKey", .tag = "admin", .summary = "Rotate an API key",
         .replies = kMadeKeyReplies, .body = "ApiKeyRotation", .state = true, .about = kKeysAbout}),
    admin_get("/v1/admin/tenants", &admin_list_tenants,
        {.id = "listAdminTenants", .tag = "admin", .summary = "List tenants with their limits and usage", .replies = kTenantListReplies}),
    admin_get("/v1/admin/tenants/{tenant}", &admin_get_tenant,
        {.id = "getAdminTenant", .tag = "admin", .summary = "Get a tenant's limits and usage", .replies = kTenantReplies}),
    Route{Method::kPut, "/v1/admin/tenants/{tenant}", Access::kScope, Scope::kAdmin, BodyKind::kJson, kSmallBody, Lane::kPool,
        &admin_set_tenant,
        {.id = "setAdminTenant", .tag = "admin", .summary = "Set a tenant's limits",
         .replies = kTenantReplies, .body = "TenantRequest", .about = kSetTenantAbout}},
};
// clang-format on

}  // namespace

std::span<const Route> admin_routes() { return kAdminRoutes; }

}  // namespace millrace::api
