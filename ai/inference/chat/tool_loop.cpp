#include "ai/inference/chat/tool_loop.h"

#include <utility>

#include "ai/providers/citations.h"
#include "platform/net/http/http_task.h"
#include "schemas/json/json_text.h"

namespace millrace::inference {

using schemas::ChatPiece;
using schemas::Json;
using schemas::ToolCallPiece;

namespace {

constexpr std::string_view kBetweenTurns = "\n\n";

// Moves the lists out of the members of an object. Either is null afterwards if it has no members.
Json take_lists(Json& members) {
  Json lists, others;
  for (auto& [name, value] : members.items()) {
    Json& to = value.is_array() ? lists : others;
    to[name] = std::move(value);
  }
  members = std::move(others);
  return lists;
}

}  // namespace

void TurnFilter::begin(bool all_calls) {
  all_calls_ = all_calls;
  calls_.clear();
  next_index_ = 0;
  if (last_text_only_) characters_ = 0;
  held_.clear();
  sent_before_ = characters_;
  has_text_ = false;
  reasoned_before_ = reasoned_before_ || std::exchange(has_reasoning_, false);
  turn_.take();
}

void TurnFilter::separate(ChatPiece& piece) {
  if (!piece.reasoning.empty() && !std::exchange(has_reasoning_, true) && reasoned_before_)
    piece.reasoning.insert(0, kBetweenTurns);
  if (!piece.content || piece.content->empty()) return;
  if (!std::exchange(has_text_, true) && characters_ > 0) {
    piece.content->insert(0, kBetweenTurns);
    sent_before_ += kBetweenTurns.size();
  }
  characters_ += schemas::characters(*piece.content);
}

void TurnFilter::hold(ChatPiece& piece) {
  ChatPiece held;
  held.index = piece.index;
  held.extra = std::exchange(piece.extra, nullptr);
  if (last_text_only_) {
    held.content = std::exchange(piece.content, std::nullopt);
    held.refusal = std::exchange(piece.refusal, std::nullopt);
    held.logprobs = std::exchange(piece.logprobs, nullptr);
  } else {
    piece.extra = take_lists(held.extra);
  }
  if (!is_empty(held)) held_.push_back(std::move(held));
}

std::optional<ChatPiece> TurnFilter::filter_piece(ChatPiece&& piece) {
  turn_.add(piece);
  separate(piece);
  providers::move_citations(piece.extra, sent_before_);
  piece.finish_reason.clear();
  piece.reasoning_state.clear();  // not for clients
  std::vector<ToolCallPiece> calls;
  for (ToolCallPiece& call : std::exchange(piece.tool_calls, {})) filter_call(std::move(call), calls);
  piece.tool_calls = std::move(calls);
  if (!all_calls_) hold(piece);
  if (is_empty(piece)) return std::nullopt;
  return std::move(piece);
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
      filter_([this](const std::string& tool) { return is_run_here(tool); }, request.needs_format) {}

namespace {

// A whole turn in one piece, without its calls.
ChatPiece texts_of(const schemas::ChatChoice& choice) {
  ChatPiece piece;
  piece.index = choice.index;
  piece.content = choice.content;
  piece.refusal = choice.refusal;
  piece.reasoning = choice.reasoning;
  piece.logprobs = choice.logprobs;
  piece.extra = choice.extra;
  return piece;
}

// Why the calls of a turn are not run; empty: they are. A turn that was cut off or filtered may have
// incomplete calls. The model makes the calls again that it still needs when it has the results of the
// client's: if they were run now, the client's next request could not have their results.
std::string_view obstacle_of(const ChatReply& turn, bool calls_client) {
  const std::string_view reason = turn.choices.empty() ? "" : std::string_view(turn.choices[0].finish_reason);
  if (reason == "length") return "not run: the answer was cut off (finish_reason length)";
  if (reason == "content_filter") return "not run: the answer was filtered (finish_reason content_filter)";
  return calls_client ? "not run: the same turn calls a tool of the client" : "";
}

}  // namespace

void ToolLoop::on_piece(ChatPiece&& piece) {
  if (auto passed = filter_.filter_piece(std::move(piece))) send(std::move(*passed));
}

void ToolLoop::send(ChatPiece&& piece) {
  if (request_.stream) return out_(std::move(piece));
  sent_.add(piece);
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
    if (is_last) co_return finish(std::move(turn));
    Split calls = split(*turn);
    const std::string_view obstacle = obstacle_of(*turn, !calls.client_side.empty());
    if (calls.server_side.empty() || !obstacle.empty()) {
      tools_.skip(calls.server_side, obstacle, report_);
      if (!turn->choices.empty()) turn->choices[0].tool_calls = std::move(calls.client_side);
      co_return finish(std::move(turn));
    }
    net::Task<void> executed = execute(turn, std::move(calls.server_side));
    co_await executed;
    if (!turn) co_return turn;
  }
}

net::Task<ReplyOrError> ToolLoop::request_reply(bool is_last) {
  filter_.begin(is_last);
  net::Task<ReplyOrError> wait = executor_.request_reply(request_);
  ReplyOrError turn = co_await wait;
  if (!turn) co_return turn;
  schemas::add(usage_, *turn->usage);
  turn->usage = usage_;
  process_reply(executor_.target(), turn, [&] {
    if (request_.stream) {
      turn->choices = filter_.take().choices;
    } else if (!turn->choices.empty()) {
      on_piece(texts_of(turn->choices[0]));
    }
  });
  co_return turn;
}

ToolLoop::Split ToolLoop::split(const ChatReply& turn) const {
  Split calls;
  if (turn.choices.empty()) return calls;
  for (const ToolCall& call : turn.choices[0].tool_calls)
    (is_run_here(call.name) ? calls.server_side : calls.client_side).push_back(call);
  return calls;
}

// A required tool choice has now been fulfilled. Sent once more, it would force calls without end.
net::Task<void> ToolLoop::execute(ReplyOrError& turn, std::vector<ToolCall> calls) {
  process_reply(executor_.target(), turn, [&] {
    if (request_.stream) on_tools_();
  });
  if (!turn) co_return;
  schemas::ChatChoice answer = turn->choices[0];
  answer.tool_calls = calls;
  net::Task<std::vector<schemas::ToolResult>> wait = tools_.call(std::move(calls), report_);
  const std::vector<schemas::ToolResult> results = co_await wait;
  process_reply(executor_.target(), turn, [&] { schemas::append_turn(request_, answer, results); });
  const auto choice = request_.body.find("tool_choice");
  if (choice != request_.body.end() && (*choice == "required" || choice->is_object()))
    request_.body["tool_choice"] = "auto";
}

ReplyOrError ToolLoop::finish(ReplyOrError turn) {
  process_reply(executor_.target(), turn, [&] { *turn = finished(std::move(*turn)); });
  return turn;
}

ChatReply ToolLoop::finished(ChatReply turn) {
  for (ChatPiece& held : filter_.take_held()) send(std::move(held));
  turn.tools = std::move(report_);
  if (!request_.stream) {
    ChatReply sent = sent_.take();
    if (turn.choices.empty() || sent.choices.empty()) return turn;
    schemas::ChatChoice& all = sent.choices[0];
    schemas::ChatChoice& choice = turn.choices[0];
    choice.content = std::move(all.content);
    choice.refusal = std::move(all.refusal);
    choice.reasoning = std::move(all.reasoning);
    choice.logprobs = std::move(all.logprobs);
    choice.extra = std::move(all.extra);
    return turn;
  }
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
