#include "ai/inference/chat/tool_loop.h"

#include <array>
#include <utility>

#include "platform/net/http/http_task.h"
#include "schemas/json/json_text.h"

namespace millrace::inference {

using schemas::ChatPiece;
using schemas::ToolCallPiece;

void TurnFilter::begin(bool all_calls) {
  all_calls_ = all_calls;
  calls_.clear();
  next_index_ = 0;
  sent_before_ = characters_;
  turn_.take();
}

std::optional<ChatPiece> TurnFilter::filter_piece(ChatPiece&& piece) {
  turn_.add(piece);
  if (piece.content) characters_ += schemas::characters(*piece.content);
  if (sent_before_ > 0 && piece.extra.is_object()) count_from_first_turn(piece);
  piece.finish_reason.clear();
  std::vector<ToolCallPiece> calls;
  for (ToolCallPiece& call : std::exchange(piece.tool_calls, {})) filter_call(std::move(call), calls);
  piece.tool_calls = std::move(calls);
  const bool has_content = piece.content || piece.refusal || !piece.reasoning.empty() ||
                           !piece.tool_calls.empty() || !piece.logprobs.is_null() || !piece.extra.is_null();
  if (!has_content) return std::nullopt;
  return std::move(piece);
}

void TurnFilter::count_from_first_turn(ChatPiece& piece) const {
  constexpr std::array<const char*, 2> kOffsetMembers{"start_index", "end_index"};
  const auto annotations = piece.extra.find("annotations");
  if (annotations == piece.extra.end() || !annotations->is_array()) return;
  for (schemas::Json& each : *annotations) {
    if (!each.is_object() || !each.contains("url_citation") || !each["url_citation"].is_object()) continue;
    schemas::Json& cited = each["url_citation"];
    for (const char* const member : kOffsetMembers) {
      const auto at = cited.find(member);
      if (at == cited.end() || !at->is_number_integer() || *at < 0) continue;
      *at = at->get<std::size_t>() + sent_before_;
    }
  }
}

void TurnFilter::filter_call(ToolCallPiece&& piece, std::vector<ToolCallPiece>& out) {
  Call& call = calls_[piece.index];
  call.name += piece.name;
  if (!call.decided && call.name.empty()) return call.held.push_back(std::move(piece));
  if (!std::exchange(call.decided, true)) {
    call.server_side = !all_calls_ && is_server_tool_(call.name);
    if (!call.server_side) call.index = next_index_++;
  }
  if (call.server_side) return;
  call.held.push_back(std::move(piece));
  for (ToolCallPiece& held : std::exchange(call.held, {})) {
    held.index = call.index;
    out.push_back(std::move(held));
  }
}

using schemas::ChatPiece;
using schemas::ChatReply;
using schemas::ToolCall;

ToolLoop::ToolLoop(ChatShared& shared, const Registry& registry, schemas::ChatRequest& request,
                   FallbackExecutor& executor, net::Cancel& cancel, std::function<void(ChatPiece&&)> out,
                   std::function<void()> on_tools)
    : request_(request),
      executor_(executor),
      cancel_(cancel),
      out_(std::move(out)),
      on_tools_(std::move(on_tools)),
      tools_(shared, registry, cancel),
      filter_([this](const std::string& tool) { return tools_.has(tool); }) {}

void ToolLoop::on_piece(ChatPiece&& piece) {
  if (auto passed = filter_.filter_piece(std::move(piece))) out_(std::move(*passed));
}

net::Task<ReplyOrError> ToolLoop::run() {
  net::Task<void> open = tools_.open(request_, report_);
  co_await open;
  for (int number = 1;; ++number) {
    const bool is_last = !request_.execute_tools || number >= request_.max_turns;
    if (cancel_.requested()) co_return net::cancelled();
    net::Task<ReplyOrError> wait = request_reply(is_last);
    ReplyOrError turn = co_await wait;
    if (!turn) co_return turn;
    if (request_.execute_tools) report_.turns = number;
    Split calls = split(*turn);
    if (is_last || calls.server_side.empty()) co_return finish(std::move(*turn), {});
    net::Task<void> executed = execute(*turn, std::move(calls.server_side));
    co_await executed;
    if (!calls.client_side.empty()) co_return finish(std::move(*turn), std::move(calls.client_side));
  }
}

net::Task<ReplyOrError> ToolLoop::request_reply(bool is_last) {
  filter_.begin(is_last);
  net::Task<ReplyOrError> wait = executor_.request_reply(request_);
  ReplyOrError turn = co_await wait;
  if (!turn) co_return turn;
  schemas::add(usage_, *turn->usage);
  turn->usage = usage_;
  if (request_.stream) turn->choices = filter_.take().choices;
  co_return turn;
}

ToolLoop::Split ToolLoop::split(const ChatReply& turn) const {
  Split calls;
  if (turn.choices.empty()) return calls;
  for (const ToolCall& call : turn.choices[0].tool_calls)
    (tools_.has(call.name) ? calls.server_side : calls.client_side).push_back(call);
  return calls;
}

// A required tool choice has now been fulfilled. Sent once more, it would force calls without end.
net::Task<void> ToolLoop::execute(const ChatReply& turn, std::vector<ToolCall> calls) {
  if (request_.stream) on_tools_();
  schemas::ChatChoice answer = turn.choices[0];
  answer.tool_calls = calls;
  net::Task<std::vector<schemas::ToolResult>> wait = tools_.call(std::move(calls), report_);
  const std::vector<schemas::ToolResult> results = co_await wait;
  schemas::append_turn(request_, answer, results);
  const auto choice = request_.body.find("tool_choice");
  if (choice != request_.body.end() && (*choice == "required" || choice->is_object()))
    request_.body["tool_choice"] = "auto";
}

// `calls`: the client's calls of a turn whose server-side calls have been run.
ChatReply ToolLoop::finish(ChatReply turn, std::vector<ToolCall> calls) {
  if (!calls.empty()) turn.choices[0].tool_calls = std::move(calls);
  turn.tools = std::move(report_);
  if (!request_.stream) return turn;
  for (const schemas::ChatChoice& choice : turn.choices) {
    ChatPiece end;
    end.index = choice.index;
    end.finish_reason = choice.finish_reason;
    out_(std::move(end));
  }
  turn.choices.clear();
  return turn;
}

}  // namespace millrace::inference
