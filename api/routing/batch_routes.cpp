#include <array>

#include "api/handlers.h"
#include "api/routing/route.h"

namespace millrace::api {
namespace {

using schemas::Scope;

constexpr std::size_t kInlineBatchBody = 64u << 20;

constexpr std::string_view kBatchExample =
    R"({"id":"batch_01932b6c-8a00-7000-8000-000000000001","object":"batch","endpoint":"/v1/chat/completions","model":null,)"
    R"("errors":null,"input_file_id":"file-01932b6c-8a00-7000-8000-000000000001","completion_window":"24h","status":"in_progress",)"
    R"("output_file_id":null,"error_file_id":null,"created_at":1738310400,"in_progress_at":1738310401,"expires_at":1738396800,)"
    R"("finalizing_at":null,"completed_at":null,"failed_at":null,"expired_at":null,"cancelling_at":null,"cancelled_at":null,)"
    R"("request_counts":{"total":100,"completed":95,"failed":1},"usage":{"input_tokens":9500,"input_tokens_details":{"cached_tokens":0},)"
    R"("output_tokens":1900,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":11400},"metadata":null,"cost_usd":0.0})";
constexpr std::string_view kMistralBatchExample =
    R"({"id":"batch_01932b6c-8a00-7000-8000-000000000001","object":"batch","input_files":["file-01932b6c-8a00-7000-8000-000000000001"],)"
    R"("metadata":{},"endpoint":"/v1/chat/completions","model":"mistral-small-latest","output_file":null,"error_file":null,"errors":[],)"
    R"("status":"RUNNING","created_at":1738310400,"total_requests":100,"completed_requests":96,"succeeded_requests":95,)"
    R"("failed_requests":1,"started_at":1738310401,"completed_at":null,"cost_usd":0.0})";

constexpr std::array kBatchReplies{ReplySpec{200, "The batch", kJsonType, "Batch", kBatchExample}};
constexpr std::array kBatchListReplies{ReplySpec{200, "One page of batches", kJsonType, "BatchList"}};
constexpr std::array kMistralBatchReplies{
    ReplySpec{200, "The batch", kJsonType, "BatchJob", kMistralBatchExample}};
constexpr std::array kMistralBatchListReplies{
    ReplySpec{200, "One page of batches", kJsonType, "BatchJobList"}};

constexpr std::string_view kBatchAbout =
    "Each line of the input is a request to the batch's endpoint. Lines become jobs of their kinds and run "
    "after "
    "the tenant's direct requests. The output file has one line per request that succeeded, the error file "
    "one "
    "per request that failed, in the order of their ends. Header `x-millrace-max-cost-usd`: as "
    "`max_cost_usd` of "
    "the metadata.";
constexpr std::string_view kMistralBatchAbout =
    "The batch in the shape of Mistral's API. A line of the input is `{custom_id, body}`.";
constexpr std::string_view kCancelBatchAbout =
    "Requests that run are cancelled, and those that were not sent fail with `batch_cancelled`. What has "
    "ended "
    "before is in the files.";

// clang-format off
const std::array kBatchRoutes{
    Route{Method::kPost, "/v1/batches", Access::kScope, Scope::kFilesWrite, BodyKind::kJson, kSmallBody, Lane::kPool, &create_batch,
          {.id = "createBatch", .tag = "batches", .summary = "Create a batch", .replies = kBatchReplies,
           .headers = "IdempotencyKeyReply", .body = "BatchRequest", .state = true, .job = JobReplies::kReplayed, .about = kBatchAbout}},
    get("/v1/batches", Scope::kFilesRead, Lane::kPool, &list_batches,
        {.id = "listBatches", .tag = "batches", .summary = "List batches", .replies = kBatchListReplies, .query = batch_list_fields()}),
    get("/v1/batches/{batch_id}", Scope::kFilesRead, Lane::kPool, &get_batch,
        {.id = "getBatch", .tag = "batches", .summary = "Get a batch", .replies = kBatchReplies}),
    write_route(Method::kPost, "/v1/batches/{batch_id}/cancel", Scope::kFilesWrite, Lane::kFront, &cancel_batch,
        {.id = "cancelBatch", .tag = "batches", .summary = "Cancel a batch", .replies = kBatchReplies,
         .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kReplayed, .about = kCancelBatchAbout}),
    Route{Method::kPost, "/v1/batch/jobs", Access::kScope, Scope::kFilesWrite, BodyKind::kJson, kInlineBatchBody, Lane::kPool,
          &create_mistral_batch,
          {.id = "createBatchJob", .tag = "batches", .summary = "Create a batch in Mistral's shape", .replies = kMistralBatchReplies,
           .headers = "IdempotencyKeyReply", .body = "BatchJobRequest", .state = true, .job = JobReplies::kReplayed, .about = kMistralBatchAbout}},
    get("/v1/batch/jobs", Scope::kFilesRead, Lane::kPool, &list_mistral_batches,
        {.id = "listBatchJobs", .tag = "batches", .summary = "List batches in Mistral's shape", .replies = kMistralBatchListReplies,
         .query = mistral_batch_list_fields()}),
    get("/v1/batch/jobs/{batch_id}", Scope::kFilesRead, Lane::kPool, &get_mistral_batch,
        {.id = "getBatchJob", .tag = "batches", .summary = "Get a batch in Mistral's shape", .replies = kMistralBatchReplies}),
    write_route(Method::kPost, "/v1/batch/jobs/{batch_id}/cancel", Scope::kFilesWrite, Lane::kFront, &cancel_mistral_batch,
        {.id = "cancelBatchJob", .tag = "batches", .summary = "Cancel a batch in Mistral's shape", .replies = kMistralBatchReplies,
         .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kReplayed, .about = kCancelBatchAbout}),
};
// clang-format on

}  // namespace

std::span<const Route> batch_routes() { return kBatchRoutes; }

}  // namespace millrace::api
