#include <algorithm>
#include <memory>

#include "api/call.h"
#include "api/execution.h"
#include "api/execution_history.h"
#include "api/handlers.h"
#include "platform/base/base64.h"
#include "schemas/json_text.h"

namespace millrace::api {
namespace {

using schemas::JsonObject;
using schemas::OutputStream;

// What is kept of the streams of a command.
struct Kept {
  std::string out, err;
};

base::Result<Kept> kept_output(storage::Store& store, const schemas::JobView& job) {
  Kept kept;
  const auto read = each_output(store, job, [&kept](OutputStream stream, std::string_view bytes) {
    (stream == OutputStream::kStdout ? kept.out : kept.err).append(bytes);
  });
  if (!read) return read.error();
  return kept;
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
  const auto at_least = [](std::int64_t told, const std::string& bytes) {
    return std::max(told, static_cast<std::int64_t>(bytes.size()));
  };
  return out.number("stdout_bytes", at_least(result.stdout_bytes, kept.out))
      .number("stderr_bytes", at_least(result.stderr_bytes, kept.err))
      .flag("stdout_truncated", result.stdout_truncated)
      .flag("stderr_truncated", result.stderr_truncated)
      .finish();
}

}  // namespace

void execution_output(Context& context, CallPtr call) {
  const auto execution = path_execution_found(context, *call);
  if (!execution) return;
  const auto kept = kept_output(context.store, execution->job);
  if (!kept) return call->fail(kept.error());
  front::Reply reply = json_reply(200, output_json(*execution, *kept));
  if (reply.body.size() > kSmallReply) {
    auto room = context.replies.take(reply.body.size());
    if (!room) return call->fail(replies_full());
    reply.hold = std::make_shared<ByteBudget::Hold>(std::move(*room));
  }
  call->reply(std::move(reply));
}

void execution_events(Context& context, CallPtr call) {
  EventQuery query;
  if (!read_event_query(*call, query)) return;
  const auto execution = path_execution_found(context, *call);
  if (!execution) return;
  const auto run = last_run(context.store, execution->job);
  if (!run) return call->fail(run.error());
  send_events(context, call, execution->job, query,
              show_execution_events(context, call->tenant(), execution->job.id, *run));
}

}  // namespace millrace::api
