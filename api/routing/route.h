#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "schemas/access.h"
#include "schemas/field.h"

namespace millrace::api {

struct Context;
class Call;
using CallPtr = std::shared_ptr<Call>;

enum class Method : std::uint8_t { kGet, kPost, kPut, kPatch, kDelete };
std::string_view name(Method method);

// Who may call a route.
enum class Access : std::uint8_t {
  kOpen,     // no key needed
  kMetrics,  // the route's scope; no key needed with Options::metrics_open
  kScope,    // a key with the route's scope, or with one that includes it (ScopeSet::allows)
  kKey,      // any valid key
};

// Where a handler runs (docs/design/architecture.md §6).
enum class Lane : std::uint8_t {
  kFront,  // on the thread that read the request; must not block
  kPool,   // may block
  kBody,   // as kFront for a body of at most kFrontBodyMax, else on the pool, in the queue for large tasks
};
inline constexpr std::size_t kFrontBodyMax = 32 * 1024;

enum class BodyKind : std::uint8_t {
  kNone,      // a body is read up to the limit and ignored
  kOptional,  // JSON, may be absent
  kJson,
  kForm,      // multipart/form-data: an Upload receives it as it arrives
  kDocument,  // JSON, a form with a document, or the document itself; all but JSON is received by an Upload
  kFile,      // the bytes of a file, of any type; received by an Upload
  kFileForm,  // multipart/form-data with a file of any type; received by an Upload
  kPartForm,  // the same with a part of a file
};

// True if the body is always a form.
constexpr bool is_form(BodyKind body) {
  return body == BodyKind::kForm || body == BodyKind::kFileForm || body == BodyKind::kPartForm;
}

// How the responses of a route refer to a job; determines their headers.
enum class JobReplies : std::uint8_t {
  kNone,
  kNamed,      // x-millrace-job
  kKeyed,      // and idempotent-replayed
  kReplayed,   // only idempotent-replayed: the call creates no job
  kResult,     // also the job's outcome: a stored failure is permanent (x-should-retry)
  kSubmitted,  // and idempotent-replayed, x-millrace-dropped-params
};

// One documented response of a route, in addition to the statuses that every route has.
struct ReplySpec {
  int status;
  std::string_view text;
  std::string_view content_type = {};  // empty: no content
  std::string_view schema = {};        // a name under components/schemas; empty: none
  std::string_view example = {};       // JSON
  std::string_view headers = {};       // in addition to those of every response, separated by spaces
};

// The OpenAPI description of a route, in addition to the other columns.
struct Operation {
  std::string_view id;  // never changes
  std::string_view tag;
  std::string_view summary;
  std::span<const ReplySpec> replies;
  std::span<const schemas::Field> query = {};
  std::string_view headers = {};  // names under components/parameters, separated by spaces
  std::string_view body = {};     // a name under components/schemas
  std::string_view form = {};     // of kDocument: the same for the form
  bool state = false;             // an idempotency key or a state can conflict: 409
  bool repeatable = false;        // a POST that is sent twice does what it does once
  JobReplies job = JobReplies::kNone;
  std::string_view about = {};  // a longer description; markdown
};

// One row of the route table. Routing, 405 and Allow, lanes, limits, /openapi.json and metric labels are
// derived from it. In a pattern `{name}` matches one segment; `{name...}` at the end matches the rest of the
// path.
struct Route {
  Method method;
  std::string_view pattern;
  Access access;
  schemas::Scope scope;  // for kScope and kMetrics
  BodyKind body;
  std::size_t body_max;
  Lane lane;
  void (*handler)(Context&, CallPtr);
  Operation operation;
  // It shows the contents of a job, or repeats it: the scope of the job's kind is needed, too. The job's id
  // is the first parameter.
  bool needs_kind_scope = false;
  bool takes_head = true;   // of a GET; false: HEAD is 405, because it would cost as much
  bool in_batches = false;  // of a POST: the lines of a batch may be requests to it
};

// True for the routes that clients of other vendors call. What they send beyond our API is ignored and named
// in x-millrace-dropped-params; on our own routes it is an error.
bool serves_other_clients(const Route& route);

// What a route does with an Idempotency-Key.
enum class KeyUse : std::uint8_t {
  kHonoured,  // it is stored, or a repeat has the same effect without it (`Operation::repeatable`, GET)
  kIgnored,   // and named in x-millrace-dropped-params
  kRefused,
};
KeyUse key_use(const Route& route);

inline constexpr std::string_view kIdempotencyKey = "Idempotency-Key";

// Helpers that build rows of the route table.

inline constexpr std::size_t kSmallBody = 1u << 20;
inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kSse = "text/event-stream";

constexpr Route get(std::string_view pattern, schemas::Scope scope, Lane lane,
                    void (*handler)(Context&, CallPtr), Operation operation) {
  return {Method::kGet, pattern, Access::kScope, scope,    BodyKind::kNone,
          kSmallBody,   lane,    handler,        operation};
}

// A POST or PATCH whose body may be absent.
constexpr Route write_route(Method method, std::string_view pattern, schemas::Scope scope, Lane lane,
                            void (*handler)(Context&, CallPtr), Operation operation) {
  return {method, pattern, Access::kScope, scope, BodyKind::kOptional, kSmallBody, lane, handler, operation};
}

constexpr Route delete_route(std::string_view pattern, schemas::Scope scope, Lane lane,
                             void (*handler)(Context&, CallPtr), Operation operation) {
  return {Method::kDelete, pattern, Access::kScope, scope,    BodyKind::kNone,
          kSmallBody,      lane,    handler,        operation};
}

constexpr Route with_kind_scope(Route route) {
  route.needs_kind_scope = true;
  return route;
}

constexpr Route for_batches(Route route) {
  route.in_batches = true;
  return route;
}

constexpr Route without_head(Route route) {
  route.takes_head = false;
  return route;
}

// Headers in the responses of model endpoints.
inline constexpr std::string_view kModelHeaders =
    "x-millrace-model x-millrace-attempts x-millrace-dropped-params x-millrace-cost-usd";

// Examples of replies that several tables use.
inline constexpr std::string_view kOcrExample =
    R"({"pages":[{"index":0,"markdown":"# Invoice\n\nTotal: 42","images":[],"dimensions":{"dpi":200,"height":2339,"width":1654}}],)"
    R"("model":"millrace/ocr","usage_info":{"pages_processed":1,"doc_size_bytes":48211}})";
inline constexpr std::string_view kJobExample =
    R"({"id":"ocr-01932b6c-8a00-7000-8000-000000000001","kind":"ocr","status":"queued","created_at":"2025-01-31T08:00:00.000Z",)"
    R"("expires_at":"2025-02-01T08:00:00.000Z","attempt":0,"model":"millrace/ocr","links":{)"
    R"("self":"/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001","result":"/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001/result",)"
    R"("events":"/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001/events",)"
    R"("cancel":"/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001/cancel",)"
    R"("retry":"/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001/retry"}})";

// All routes of this server (routes.cpp).
std::span<const Route> routes();

// media_routes.cpp: OCR, embeddings, images and speech.
std::span<const Route> media_routes();

// media_routes.cpp: the files of the dashboard.
std::span<const Route> dashboard_routes();

// admin_routes.cpp: all routes below /v1/admin.
std::span<const Route> admin_routes();

// audio_routes.cpp: transcriptions and translations.
std::span<const Route> audio_routes();

// file_routes.cpp: all routes below /v1/files and /v1/uploads.
std::span<const Route> file_routes();

// batch_routes.cpp: all routes below /v1/batches and /v1/batch.
std::span<const Route> batch_routes();
// webhook_routes.cpp: all routes below /v1/webhooks.
std::span<const Route> webhook_routes();

// machine_routes.cpp: all routes below /v1/machines.
std::span<const Route> machine_routes();

}  // namespace millrace::api
