#include <memory>

#include "api/call.h"
#include "api/execution.h"
#include "api/handlers.h"
#include "platform/base/base64.h"
#include "schemas/json_text.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::JobId;
using schemas::JsonObject;
using schemas::OutputStream;

constexpr int kEventsPerRead = 100;
constexpr std::size_t kSmallReply = std::size_t{64} << 10;

// What is kept of the streams of a command.
struct Kept {
  std::string out, err;
};

base::Result<bool> take(const schemas::JobEvent& event, Kept& kept) {
  const bool out = event.type == name(OutputStream::kStdout);
  if (!out && event.type != name(OutputStream::kStderr)) return false;
  const auto bytes = schemas::output_bytes(event.data);
  if (!bytes) return bytes.error();
  (out ? kept.out : kept.err).append(*bytes);
  return true;
}

base::Result<Kept> kept_output(storage::Store& store, const std::string& tenant, const JobId& job) {
  storage::JobQueries queries(store);
  Kept kept;
  std::int64_t after = 0;
  while (true) {
    const auto events = queries.events(tenant, job, after, kEventsPerRead);
    if (!events) return events.error();
    for (const schemas::JobEvent& event : *events) {
      if (const auto taken = take(event, kept); !taken) return taken.error();
      after = event.version;
    }
    if (events->size() < std::size_t{kEventsPerRead}) return kept;
  }
}

void add_stream(JsonObject& out, OutputStream stream, const std::string& bytes) {
  const std::string member(name(stream));
  const bool text = schemas::is_text(bytes);
  out.member(member, text ? bytes : base::base64_encode(bytes));
  if (!text) out.member(member + "_encoding", "base64");
}

std::string output_json(const Execution& execution, const Kept& kept) {
  constexpr std::size_t kAround = 512;
  JsonObject out((kept.out.size() + kept.err.size()) * 3 / 2 + kAround);
  out.member("execution_id", execution.job.id.str());
  add_stream(out, OutputStream::kStdout, kept.out);
  add_stream(out, OutputStream::kStderr, kept.err);
  if (!schemas::is_terminal(execution.job.status)) return out.finish();
  const auto result = execution.result.value_or(schemas::ExecutionResult());
  return out.number("stdout_bytes", result.stdout_bytes)
      .number("stderr_bytes", result.stderr_bytes)
      .flag("stdout_truncated", result.stdout_truncated)
      .flag("stderr_truncated", result.stderr_truncated)
      .finish();
}

}  // namespace

void execution_output(Context& context, CallPtr call) {
  const auto execution = path_execution_found(context, *call);
  if (!execution) return;
  const auto kept = kept_output(context.store, call->tenant(), execution->job.id);
  if (!kept) return call->fail(kept.error());
  front::Reply reply = json_reply(200, output_json(*execution, *kept));
  if (reply.body.size() > kSmallReply) {
    auto room = context.replies.take(reply.body.size());
    if (!room)
      return call->fail(base::error(
          Code::kOverloaded, "Too many results are on their way to clients at once (http.reply_budget)"));
    reply.hold = std::make_shared<ByteBudget::Hold>(std::move(*room));
  }
  call->reply(std::move(reply));
}

void execution_events(Context& context, CallPtr call) {
  EventQuery query;
  if (!read_event_query(*call, query)) return;
  const auto execution = path_execution_found(context, *call);
  if (execution) send_events(context, call, execution->job, query, &show_execution_event);
}

}  // namespace millrace::api
