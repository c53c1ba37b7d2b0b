#include <algorithm>
#include <array>
#include <utility>

#include "api/batches/batch_runner.h"
#include "api/call.h"
#include "api/call_key.h"
#include "api/chat/chat_responder.h"
#include "api/handlers.h"
#include "api/machines/machine_calls.h"
#include "api/routing/list_query.h"
#include "api/routing/page.h"
#include "api/routing/router.h"
#include "platform/base/bytes.h"
#include "schemas/batches/batch.h"
#include "schemas/json/json_text.h"
#include "storage/batches/batches.h"
#include "storage/files/files.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::Batch;
using schemas::BatchShape;
using schemas::Field;

constexpr int kBatchPageMax = 100, kBatchCountMax = 100'000, kBatchPagesMax = 1'000'000;
constexpr std::string_view kCostHeader = "x-millrace-max-cost-usd";

struct BatchListParameters {
  int limit = 20, page = 0, page_size = kBatchPageMax;
  std::string after;
};
template <auto Member>
constexpr auto into_batch_list = &schemas::store_in<BatchListParameters, Member>;

constexpr std::array kBatchListFields{
    Field{.name = "limit",
          .type = schemas::FieldType::kInteger,
          .text = "How many at most",
          .min = 1,
          .max = kBatchPageMax,
          .default_json = "20",
          .store = into_batch_list<&BatchListParameters::limit>},
    Field{.name = "after",
          .text = "`last_id` of the page before",
          .max = 64,
          .store = into_batch_list<&BatchListParameters::after>},
};
constexpr std::array kMistralBatchListFields{
    Field{.name = "page",
          .type = schemas::FieldType::kInteger,
          .text = "The page, from 0",
          .min = 0,
          .max = kBatchPagesMax,
          .default_json = "0",
          .store = into_batch_list<&BatchListParameters::page>},
    Field{.name = "page_size",
          .type = schemas::FieldType::kInteger,
          .text = "How many at most",
          .min = 1,
          .max = kBatchPageMax,
          .default_json = "100",
          .store = into_batch_list<&BatchListParameters::page_size>},
};

struct BatchIntakeCall {
  Context& context;
  CallPtr call;
  schemas::BatchRequest request;
  std::optional<storage::IdempotencyKey> key;
};

std::string endpoint_list() {
  std::string out;
  for (const Route& route : routes()) {
    if (route.in_batches) (out += out.empty() ? "" : ", ").append(route.pattern);
  }
  return out;
}

base::Error field_error(std::string message, std::string field) {
  return base::error(Code::kInvalidField, std::move(message), std::move(field));
}

// The key must have the scope of the endpoint.
base::Status check_batch_endpoint(const Call& call, const std::string& endpoint) {
  static const Router router(routes());
  const Match match = router.match("POST", endpoint);
  if (match.route == nullptr || !match.route->in_batches)
    return field_error("There are no batches for this endpoint; there are for " + endpoint_list(),
                       "endpoint");
  if (!call.principal->scopes.allows(match.route->scope))
    return scope_error(*call.principal, match.route->scope);
  return {};
}

// The input file may be used if a repeat of the request finds it gone.
base::Status check_batch_input(Context& context, const Call& call, const base::Uuid& id, bool may_be_gone) {
  const auto file = storage::Files(context.store).file(call.tenant(), id);
  if (!file) {
    const bool is_repeat = may_be_gone && file.error().code == Code::kNotFound;
    return is_repeat ? base::Status() : file.error();
  }
  const std::int64_t most = context.options.batches.input_bytes_max;
  if (file->bytes <= most) return {};
  return base::error(Code::kTooLarge,
                     "The input has " + base::format_bytes(file->bytes) + "; a batch takes at most " +
                         base::format_bytes(most) + " (batches.input_bytes)",
                     "input_file_id");
}

storage::NewBatch new_batch(const Context& context, schemas::BatchRequest request) {
  const base::WallTime now = context.store.clock().wall();
  storage::NewBatch out{.about = {.id = base::Uuid::make(now),
                                  .shape = request.shape,
                                  .endpoint = std::move(request.endpoint),
                                  .model = std::move(request.model),
                                  .input_file = request.input_file,
                                  .window = std::move(request.window),
                                  .metadata = std::move(request.metadata),
                                  .cost_max = request.cost_max,
                                  .output_life = request.output_life,
                                  .created_at = now,
                                  .expires_at = now + request.life},
                        .open_max = context.options.batches.open_max};
  return out;
}

// Runs on the pool.
void add_batch(BatchIntakeCall intake) {
  auto& [context, call, request, key] = intake;
  if (const auto good = check_batch_endpoint(*call, request.endpoint); !good) return call->fail(good.error());
  if (request.input_file) {
    const auto good = check_batch_input(context, *call, *request.input_file, key.has_value());
    if (!good) return call->fail(good.error());
  }
  const std::string lines = std::move(request.inline_lines);
  storage::NewBatch batch = new_batch(context, std::move(request));
  if (!lines.empty()) {
    auto staged = storage::stage(context.store.blobs(), lines);
    if (!staged) return call->fail(staged.error());
    batch.input = *std::move(staged);
  }
  const base::Uuid id = batch.about.id;
  storage::Batches(context.store)
      .add(std::move(batch), idempotent_call(context, *call, std::move(key)),
           [&context, call, id](const base::Result<storage::CallReply>& answer) {
             if (!answer) return call->fail(answer.error());
             if (context.batches != nullptr) context.batches->wake(id);
             call->reply(http_reply_of(*answer));
           });
}

void create(Context& context, CallPtr call,
            tl::expected<schemas::BatchRequest, schemas::Refusal> (*parse)(std::string& body)) {
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  auto request = parse(call->body());
  if (!request) return call->refuse(request.error());
  if (const auto text = call->head().header(kCostHeader)) {
    request->cost_max = schemas::batch_cost_max(*text);
    if (!request->cost_max)
      return call->fail(base::error(
          Code::kBadRequest, std::string(kCostHeader) + " is not an amount in US dollars, such as 1.50",
          std::string(kCostHeader)));
  }
  call->drop_body();
  add_batch({context, std::move(call), *std::move(request), *std::move(key)});
}

// The id in the path; nullopt: 404 was sent.
std::optional<base::Uuid> path_batch(Call& call) {
  const auto id = schemas::batch_id_from(call.params.front());
  if (!id) call.fail(storage::no_such_batch());
  return id;
}

void show(Context& context, Call& call, std::string (*text)(const Batch&)) {
  const auto id = path_batch(call);
  if (!id) return;
  const auto batch = storage::Batches(context.store).batch(call.tenant(), *id);
  if (!batch) return call.fail(batch.error());
  call.reply(json_reply(200, text(*batch)));
}

void cancel(Context& context, const CallPtr& call, std::string (*text)(const Batch&)) {
  const auto id = path_batch(*call);
  if (!id) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  storage::Batches(context.store)
      .cancel(*id, idempotent_call(context, *call, *std::move(key)), text,
              [&context, call, id = *id](const base::Result<storage::CallReply>& answer) {
                if (!answer) return call->fail(answer.error());
                if (context.batches != nullptr) context.batches->wake(id);
                call->reply(http_reply_of(*answer));
              });
}

std::string list_text(const std::vector<Batch>& batches, std::size_t shown,
                      std::string (*text)(const Batch&)) {
  std::string data = "[";
  for (std::size_t i = 0; i < shown; ++i) (data += i > 0 ? "," : "") += text(batches[i]);
  return data + "]";
}

}  // namespace

std::span<const Field> batch_list_fields() { return kBatchListFields; }
std::span<const Field> mistral_batch_list_fields() { return kMistralBatchListFields; }

void create_batch(Context& context, CallPtr call) {
  create(context, std::move(call), &schemas::parse_batch_request);
}

void create_mistral_batch(Context& context, CallPtr call) {
  create(context, std::move(call), &schemas::parse_mistral_batch_request);
}

void get_batch(Context& context, CallPtr call) { show(context, *call, &schemas::batch_json); }

void get_mistral_batch(Context& context, CallPtr call) { show(context, *call, &schemas::mistral_batch_json); }

void cancel_batch(Context& context, CallPtr call) { cancel(context, call, &schemas::batch_json); }

void cancel_mistral_batch(Context& context, CallPtr call) {
  cancel(context, call, &schemas::mistral_batch_json);
}

void list_batches(Context& context, CallPtr call) {
  BatchListParameters query;
  if (!read_query(*call, kBatchListFields, &query)) return;
  storage::BatchListQuery list{.limit = query.limit + 1};
  if (!query.after.empty()) {
    list.after = schemas::batch_id_from(query.after);
    if (!list.after) return refuse_query(*call, "after", "Input should be the id of a batch");
  }
  const auto found = storage::Batches(context.store).list(call->tenant(), list);
  if (!found) return call->fail(found.error());
  const std::size_t shown = std::min(found->size(), static_cast<std::size_t>(query.limit));
  schemas::JsonObject out;
  out.member("object", "list").raw("data", list_text(*found, shown, &schemas::batch_json));
  if (shown > 0) {
    out.member("first_id", schemas::batch_id(found->front().id))
        .member("last_id", schemas::batch_id((*found)[shown - 1].id));
  }
  call->reply(json_reply(200, out.flag("has_more", found->size() > shown).finish()));
}

void list_mistral_batches(Context& context, CallPtr call) {
  BatchListParameters query;
  if (!read_query(*call, kMistralBatchListFields, &query)) return;
  storage::Batches batches(context.store);
  const auto found =
      batches.list(call->tenant(), {.limit = query.page_size, .skip = query.page * query.page_size});
  if (!found) return call->fail(found.error());
  const auto total = batches.count(call->tenant(), kBatchCountMax);
  if (!total) return call->fail(total.error());
  schemas::JsonObject out;
  out.member("object", "list").raw("data", list_text(*found, found->size(), &schemas::mistral_batch_json));
  call->reply(json_reply(200, out.number("total", *total).finish()));
}

}  // namespace millrace::api
