#include <algorithm>
#include <array>

#include "api/call.h"
#include "api/execution.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/list_query.h"
#include "platform/base/crypto.h"
#include "schemas/json_text.h"
#include "schemas/machine.h"
#include "storage/machine_rows.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::ExecutionRequest;
using schemas::Field;
using schemas::JobId;
using storage::Submitted;

constexpr std::string_view kModel = "machine/exec";
// What a page of a list may read of specs, which hold what commands read as standard input: it ends early
// above it.
constexpr std::size_t kListBytesMax = std::size_t{16} << 20;

constexpr std::array kListFields{limit_field<PageQuery>(), cursor_field<PageQuery>()};

base::Result<std::optional<storage::IdempotencyKey>> sent_key(Call& call, std::string method) {
  auto key = idempotency_key(call.head());
  if (!key) return key.error();
  if (!*key) return std::optional<storage::IdempotencyKey>();
  return storage::IdempotencyKey{.method = std::move(method),
                                 .path = call.head().path,
                                 .key = std::move(**key),
                                 .fingerprint = base::sha256(call.body())};
}

// Creating a command twice by mistake would run it twice: the key is not optional here.
base::Result<storage::IdempotencyKey> required_key(Call& call) {
  auto key = sent_key(call, "POST");
  if (!key) return key.error();
  if (!*key) {
    return base::error(Code::kBadRequest,
                       "The header Idempotency-Key is required: 1 to 255 printable ASCII characters, new for "
                       "each command",
                       "Idempotency-Key");
  }
  return std::move(**key);
}

base::Result<storage::Staged> staged(storage::Blobs& blobs, const std::string& bytes) {
  auto blob = blobs.begin(static_cast<std::int64_t>(bytes.size()));
  if (!blob) return blob.error();
  if (auto written = (*blob)->append(bytes); !written) return written.error();
  return (*blob)->finish();
}

base::Result<jobs::Order> order_of(Context& context, const Call& call, const ExecutionRequest& request) {
  jobs::Order order;
  order.id = context.submit.new_id(schemas::Kind::kExec);
  order.tenant = call.tenant();
  order.model = kModel;
  order.lane_key = schemas::machine_id(request.spec.machine);
  order.rerun_on_loss = request.retry_on_worker_loss;
  order.traceparent = traceparent(call.head());
  order.join_only = call.join_only;
  order.spec = schemas::to_json(request.spec);
  if (!request.environment.empty())
    order.secret = base::seal(context.secret_key, order.id.str(), schemas::to_json(request.environment));
  if (order.spec.size() <= storage::kInlineMax) return order;
  auto blob = staged(context.store.blobs(), order.spec);
  if (!blob) return blob.error();
  order.spec_blob = std::move(*blob);
  order.spec.clear();
  return order;
}

// The execution as it is now.
void send_execution(Context& context, Call& call, const JobId& id, bool replayed) {
  const auto found = find_execution(context.store, call.tenant(), id);
  if (!found) return call.fail(found.error());
  front::Reply reply = json_reply(200, found->json());
  if (replayed) add_header(reply, "idempotent-replayed", "true");
  call.reply(std::move(reply));
}

// A key without a place for another job could still have joined one of its own.
base::Error refusal(const Context& context, const Call& call, const base::Error& error) {
  const bool nothing_to_join = call.join_only && error.code == Code::kNotFound;
  return nothing_to_join ? context.places.refusal() : error;
}

void submit(Context& context, const CallPtr& call, jobs::Order order) {
  context.submit.submit(std::move(order), [&context, call](const base::Result<Submitted>& made) {
    if (!made) return call->fail(refusal(context, *call, made.error()));
    call->name_job(made->job.str());
    if (auto place = call->take_place(); !made->replayed) context.places.keep(std::move(place), made->job);
    owed_on_pool(context, call, [&context, call, id = made->job, replayed = made->replayed] {
      send_execution(context, *call, id, replayed);
    });
  });
}

void cancel(Context& context, const CallPtr& call, const JobId& id,
            std::optional<storage::IdempotencyKey> key) {
  context.control.cancel(
      call->tenant(), id,
      [&context, call, id](const base::Result<schemas::JobView>& job) {
        if (!job) return call->fail(job.error());
        owed_on_pool(context, call, [&context, call, id] { send_execution(context, *call, id, false); });
      },
      std::move(key));
}

// The page of `records`, `limit` of them at most; the rest is behind its cursor.
base::Result<std::string> page_json(storage::Store& store, std::vector<storage::JobRecord> records,
                                    std::size_t limit) {
  std::string items = "[";
  std::size_t count = 0, bytes = 0;
  base::Uuid last;
  for (; count < std::min(limit, records.size()) && (count == 0 || bytes < kListBytesMax); ++count) {
    storage::JobRecord& record = records[count];
    bytes += record.spec.blob ? static_cast<std::size_t>(record.spec.blob->bytes) : record.spec.bytes.size();
    last = record.job.id.uuid;
    const auto execution = execution_of(store, std::move(record));
    if (!execution) return execution.error();
    items.append(count > 0 ? "," : "").append(execution->json());
  }
  schemas::JsonObject out(items.size() + 128);
  out.raw("items", items + "]");
  if (count < records.size()) out.member("next_cursor", job_cursor(last));
  return out.finish();
}

}  // namespace

std::span<const Field> execution_list_fields() { return kListFields; }

void create_execution(Context& context, CallPtr call) {
  const auto machine = path_machine(*call);
  if (!machine) return;
  auto key = required_key(*call);
  if (!key) return call->fail(key.error());
  if (!context.options.executions_off.empty()) {
    return call->fail(base::error(base::Code::kOverloaded, context.options.executions_off));
  }
  auto request = schemas::parse_execution_request(call->body());
  if (!request) return call->refuse(request.error());
  call->drop_body();
  const auto there = storage::Machines(context.store).machine(call->tenant(), *machine);
  if (!there) return call->fail(there.error());
  request->spec.machine = *machine;
  auto order = order_of(context, *call, *request);
  if (!order) return call->fail(order.error());
  order->idempotency = std::move(*key);
  submit(context, call, std::move(*order));
}

void list_executions(Context& context, CallPtr call) {
  const auto machine = path_machine(*call);
  if (!machine) return;
  PageQuery query;
  std::optional<base::Uuid> before;
  if (!read_query(*call, kListFields, &query)) return;
  if (!read_cursor(*call, query.cursor, &job_cursor_of, before)) return;
  const auto there = storage::Machines(context.store).machine(call->tenant(), *machine);
  if (!there) return call->fail(there.error());
  auto records =
      storage::JobQueries(context.store)
          .lane(call->tenant(), schemas::Kind::kExec, schemas::machine_id(*machine), query.limit + 1, before);
  if (!records) return call->fail(records.error());
  auto page = page_json(context.store, std::move(*records), static_cast<std::size_t>(query.limit));
  if (!page) return call->fail(page.error());
  call->reply(json_reply(200, std::move(*page)));
}

void get_execution(Context& context, CallPtr call) {
  const auto found = path_execution_found(context, *call);
  if (found) call->reply(json_reply(200, found->json()));
}

void delete_execution(Context& context, CallPtr call) {
  const auto found = path_execution_found(context, *call);
  if (!found) return;
  auto key = sent_key(*call, "DELETE");
  if (!key) return call->fail(key.error());
  if (!schemas::is_terminal(found->job.status)) {
    return cancel(context, call, found->job.id, std::move(*key));
  }
  context.control.forget(
      call->tenant(), found->job.id,
      [call, last = found->json()](const base::Result<bool>& gone) {
        if (!gone) return call->fail(gone.error());
        front::Reply reply = json_reply(200, last);
        if (!*gone) add_header(reply, "idempotent-replayed", "true");
        call->reply(std::move(reply));
      },
      std::move(*key));
}

}  // namespace millrace::api
