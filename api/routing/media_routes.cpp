#include <array>
#include <span>
#include <vector>

#include "api/handlers.h"
#include "api/media/signed_url.h"
#include "api/model_request.h"
#include "api/routing/route.h"
#include "schemas/media/ocr_request.h"

namespace millrace::api {
namespace {

using schemas::Scope;

constexpr std::size_t kOcrBody = 72u << 20;
constexpr std::array kOcrReplies{
    ReplySpec{200, "The text, page by page", kJsonType, "OcrReply", kOcrExample},
    ReplySpec{202, "The job, still running: `Prefer: respond-async` or `deferred`", kJsonType, "Job",
              kJobExample, "location preference-applied"},
    ReplySpec{502, "The document could not be fetched", kJsonType, "Error"},
    ReplySpec{504,
              "The wait timed out; the job named in x-millrace-job continues",
              kJsonType,
              "Error",
              {},
              "location preference-applied"}};

constexpr std::size_t kEmbeddingBody = 16u << 20;
constexpr std::string_view kEmbeddingExample =
    R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.6,-0.8]}],"model":"mock/embedding",)"
    R"("id":"embd-1f0c","usage":{"prompt_tokens":2,"total_tokens":2}})";
constexpr std::array kEmbeddingReplies{
    ReplySpec{200, "One vector for each input", kJsonType, "EmbeddingList", kEmbeddingExample, kModelHeaders},
    ReplySpec{502, "The provider failed", kJsonType, "Error"},
    ReplySpec{504, "The provider did not answer in time", kJsonType, "Error"}};

constexpr std::size_t kImageBody = 1u << 20;
constexpr std::string_view kImageExample =
    R"({"created":1735689600,"data":[{"url":"http://127.0.0.1:8080/v1/images/files/01932b6c-8a00-7000-8000-000000000001?expires=1735693200&sig=5f"}]})";
constexpr std::array kImageReplies{
    ReplySpec{200, "The images", kJsonType, "ImageList", kImageExample, kModelHeaders},
    ReplySpec{200,
              "With `stream`: events `image_generation.partial_image` and `image_generation.completed`; an "
              "event `error` ends it early",
              kSse,
              {},
              {},
              "cache-control x-accel-buffering"},
    ReplySpec{502, "The provider failed", kJsonType, "Error"},
    ReplySpec{504, "The provider did not answer in time", kJsonType, "Error"}};
constexpr std::array kImageFileReplies{ReplySpec{200, "The image", "image/png", {}, {}, "cache-control"},
                                       ReplySpec{200, "The image", "image/jpeg", {}, {}, "cache-control"},
                                       ReplySpec{200, "The image", "image/webp", {}, {}, "cache-control"}};

constexpr std::string_view kSoundHeaders =
    "cache-control x-accel-buffering x-millrace-model x-millrace-attempts x-millrace-dropped-params";
constexpr ReplySpec sound(std::string_view text, std::string_view type) {
  return {200, text, type, {}, {}, kSoundHeaders};
}
constexpr std::array kSpeechReplies{
    sound("The file, in chunks as it is generated: `mp3`", "audio/mpeg"),
    sound("`opus`, in Ogg", "audio/ogg"),
    sound("`aac`, in ADTS", "audio/aac"),
    sound("`flac`", "audio/flac"),
    sound("`wav`, without the length in its header", "audio/wav"),
    sound("`pcm`: 24 kHz, 16 bit, mono, little-endian", "audio/pcm"),
    sound("`stream_format` sse: events `speech.audio.delta`, then one `speech.audio.done`; an event `error` "
          "ends it early",
          kSse),
    ReplySpec{502, "The provider failed", kJsonType, "Error"},
    ReplySpec{504, "The provider did not answer in time", kJsonType, "Error"}};

constexpr std::string_view kOcrBodies =
    "Send a JSON body with a URL or a base64 data URI, a form with the document as `file`, or the document "
    "itself with its type as `Content-Type`. With the document itself, the query has the parameters of the "
    "form; otherwise `strict` alone is read from the query.";

std::span<const schemas::Field> ocr_query() {
  static const auto fields = [] {
    const auto common = model_query_fields(), own = schemas::ocr_query_fields();
    std::vector<schemas::Field> out(common.begin(), common.end());
    out.insert(out.end(), own.begin(), own.end());
    return out;
  }();
  return fields;
}

// clang-format off
const std::array kMediaRoutes{
    for_batches(Route{Method::kPost, "/v1/ocr", Access::kScope, Scope::kOcr, BodyKind::kDocument, kOcrBody, Lane::kBody, &create_ocr,
          {.id = "createOcr", .tag = "ocr", .summary = "Convert a PDF or an image to markdown", .replies = kOcrReplies,
           .query = ocr_query(), .headers = "Prefer IdempotencyKey WebhookUrl Traceparent", .body = "OcrRequest", .form = "OcrForm",
           .state = true, .job = JobReplies::kSubmitted, .about = kOcrBodies}}),
    for_batches(Route{Method::kPost, "/v1/embeddings", Access::kScope, Scope::kEmbeddings, BodyKind::kJson, kEmbeddingBody, Lane::kBody,
          &create_embeddings,
          {.id = "createEmbedding", .tag = "embeddings", .summary = "Create embeddings", .replies = kEmbeddingReplies,
           .query = model_query_fields(), .headers = "Traceparent", .body = "EmbeddingRequest"}}),
    for_batches(Route{Method::kPost, "/v1/images/generations", Access::kScope, Scope::kImages, BodyKind::kJson, kImageBody, Lane::kBody,
          &create_images,
          {.id = "createImage", .tag = "images", .summary = "Create images", .replies = kImageReplies,
           .query = model_query_fields(), .headers = "Traceparent", .body = "ImageRequest"}}),
    for_batches(Route{Method::kPost, "/v1/audio/speech", Access::kScope, Scope::kAudio, BodyKind::kJson, kSmallBody, Lane::kBody,
          &create_speech,
          {.id = "createSpeech", .tag = "audio", .summary = "Create speech", .replies = kSpeechReplies,
           .query = model_query_fields(), .headers = "Traceparent", .body = "SpeechRequest"}}),
    Route{Method::kGet, "/v1/images/files/{image_id}", Access::kOpen, Scope::kImages, BodyKind::kNone, kSmallBody, Lane::kPool,
          &image_file,
          {.id = "getImageFile", .tag = "images", .summary = "Download a generated image", .replies = kImageFileReplies,
           .query = signed_url_fields()}},
};
// clang-format on

}  // namespace

std::span<const Route> media_routes() { return kMediaRoutes; }

namespace {

constexpr std::string_view kFileHeaders =
    "etag cache-control vary content-security-policy x-content-type-options referrer-policy "
    "cross-origin-opener-policy";
constexpr std::array kDashboardReplies{ReplySpec{200, "A script", "text/javascript", {}, {}, kFileHeaders},
                                       ReplySpec{200, "A style sheet", "text/css"},
                                       ReplySpec{200, "A picture", "image/svg+xml"},
                                       ReplySpec{200, "The page", "text/html"},
                                       ReplySpec{304, "The file is unchanged", {}, {}, {}, kFileHeaders}};
constexpr std::array kDocsReplies{ReplySpec{200, "The page", "text/html", {}, {}, kFileHeaders},
                                  ReplySpec{304, "The page is unchanged", {}, {}, {}, kFileHeaders}};

// clang-format off
const std::array kDashboardRoutes{
    Route{Method::kGet, "/docs", Access::kOpen, schemas::Scope::kAdmin, BodyKind::kNone, kSmallBody, Lane::kFront, &docs_page,
          {.id = "getDocs", .tag = "service", .summary = "Read the API documentation", .replies = kDocsReplies}},
    Route{Method::kGet, "/dashboard/{file}", Access::kOpen, schemas::Scope::kAdmin, BodyKind::kNone, kSmallBody, Lane::kFront,
          &dashboard_file,
          {.id = "getDashboardFile", .tag = "service", .summary = "Get a file of the dashboard",
           .replies = kDashboardReplies}},
};
// clang-format on

}  // namespace

std::span<const Route> dashboard_routes() { return kDashboardRoutes; }

}  // namespace millrace::api
