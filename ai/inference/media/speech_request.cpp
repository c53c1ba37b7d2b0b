#include "ai/inference/media/speech_request.h"

#include <utility>
#include <vector>

#include "ai/inference/routing/routing.h"
#include "ai/providers/audio.h"
#include "ai/providers/wire_text.h"
#include "platform/base/nearest.h"
#include "platform/net/http/http_task.h"
#include "schemas/json/json_text.h"
#include "schemas/unknown_model.h"

namespace millrace::inference {

using providers::Target;

std::optional<schemas::Refusal> SpeechMediaRequest::refusal(const ModelRow& row) const {
  if (auto none = providers::no_speech(row.target)) return schemas::Refusal{*std::move(none), {}};
  return std::nullopt;
}

base::Result<providers::WireRequest> SpeechMediaRequest::write(const Target& target, std::size_t) {
  return providers::speech_request(target, *request_);
}

base::Status SpeechMediaRequest::read(const Target& target, std::size_t, const std::string&) {
  if (begun_) return {};
  return providers::content_fault(target, "answered without audio");
}

// Mock models do not speak (see `refusal`).
base::Status SpeechMediaRequest::mock(const Target& target, std::size_t) {
  return *providers::no_speech(target);
}

base::Status SpeechMediaRequest::on_bytes(const Target&, std::string_view bytes) {
  begun_ = true;
  if (sink_ != nullptr) sink_->on_audio(head_, std::string(bytes));
  return {};
}

Use SpeechMediaRequest::used(std::size_t part) const {
  Use use;
  use.usage.estimated = true;
  use.usage.prompt = use.usage.total = tokens(part);
  use.units.characters = static_cast<std::int64_t>(schemas::characters(request_->input));
  return use;
}

Use SpeechMediaRequest::most(const Target& target, std::size_t) const {
  const std::size_t bytes = request_->input.size() + request_->instructions.size();
  Use most;
  most.usage.prompt = static_cast<std::int64_t>(bytes) + kAddedTokensMax;
  most.usage.completion = output_cap(target, std::nullopt);
  most.units.characters = static_cast<std::int64_t>(schemas::characters(request_->input));
  return most;
}

void SpeechMediaRequest::on_end(base::Result<MediaResult> end) {
  if (!end) return sink_->on_end(std::move(end.error()));
  SpeechResult result;
  static_cast<MediaResult&>(result) = *std::move(end);
  result.input_tokens = tokens(0);
  sink_->on_end(std::move(result));
}

namespace {

using base::Code;
using schemas::Refusal;
using schemas::SpeechRequest;

ChatHead local_head(const LocalSpeech& local, const SpeechRequest& request) {
  return {.id = {},
          .model = std::string(local.model_named(request.model)),
          .attempts = 0,
          .dropped = schemas::local_speech_dropped(request)};
}

}  // namespace

Refusal no_speech_model(const Registry& registry, const LocalSpeech& local, const std::string& name) {
  const auto own = schemas::speech_model_names();
  std::vector<std::string_view> names(own.begin(), own.end());
  for (const schemas::LocalVoiceModel& model : local.voices.all()) names.push_back(model.name);
  if (const std::string_view near = base::nearest(name, names); !near.empty())
    return {schemas::unknown_model(name, near), {}};
  return {registry.find(name).error(), {}};
}

std::optional<Refusal> local_refusal(const LocalSpeech& local, const SpeechRequest& request) {
  const schemas::LocalVoiceModel* model = local.voices.find(request.model);
  if (auto refusal = model == nullptr ? schemas::local_speech_refusal(request)
                                      : schemas::voice_model_refusal(*model, request))
    return refusal;
  const base::Status honoured = check_strict(request.strict, schemas::local_speech_dropped(request));
  if (!honoured) return Refusal{honoured.error(), {}};
  if (!local.speak) return Refusal{base::error(Code::kOverloaded, local.off), {}};
  return std::nullopt;
}

schemas::NanoUsd local_cost(const Registry& registry, const LocalSpeech& local,
                            const SpeechRequest& request) {
  const Units units{.characters = static_cast<std::int64_t>(schemas::characters(request.input))};
  return schemas::nano_usd(cost_of(registry.local_price(local.model_named(request.model)), {}, units));
}

SpeechRun::SpeechRun(std::shared_ptr<ChatShared> shared, SpeechRequest request, schemas::NanoUsd max,
                     BeforeSending before_sending, SpeechSink& sink)
    : shared_(std::move(shared)),
      request_(std::move(request)),
      sink_(&sink),
      head_(local_head(shared_->local_speech, request_)),
      input_tokens_(schemas::estimated_tokens(request_.input)),
      before_sending_(std::move(before_sending)),
      cost_{.max = max} {}

SpeechRun::~SpeechRun() { drop_waiting(); }

void SpeechRun::drop_waiting() {
  for (const std::string& audio : waiting_) shared_->buffered_speech_bytes -= audio.size();
  waiting_.clear();
  held_ = 0;
}

void SpeechRun::begin() {
  shared_->live.add(*this);
  shared_->loop.post([self = shared_from_this()] { self->ask(); });
}

void SpeechRun::ask() {
  if (sink_ == nullptr) return shared_->live.remove(*this);
  charges_.ask(cost_);
  if (!before_sending_ || cost_.max == 0) return start(true);
  before_sending_({head_.model, cost_.max, charges_.run_max()},
                  [self = shared_from_this()](bool go) { self->start(go); });
}

// After `done` the engine's thread holds no reference to this, so it is destroyed on the loop.
void SpeechRun::start(bool go) {
  charges_.answer(cost_, go && sink_ != nullptr);
  if (sink_ == nullptr) return shared_->live.remove(*this);
  if (!go) return finish(net::cancelled());
  // A reload may have removed the provider's model that the request was meant for.
  const LocalSpeech& local = shared_->local_speech;
  if (!local.speak) return finish(base::error(Code::kOverloaded, local.off));
  const auto self = std::make_shared<std::shared_ptr<SpeechRun>>(shared_from_this());
  const auto on_audio = [self](std::string audio) {
    ChatShared& shared = *(*self)->shared_;
    shared.buffered_speech_bytes += audio.size();
    shared.loop.post([run = *self, audio = std::move(audio)]() mutable { run->receive(std::move(audio)); });
  };
  const auto done = [self](base::Status status) {
    net::Loop& loop = (*self)->shared_->loop;
    loop.post(
        [run = std::move(*self), status = std::move(status)]() mutable { run->finish(std::move(status)); });
  };
  base::Result<LocalSpeech::Stop> begun = local.speak(std::move(request_), on_audio, done);
  if (!begun) return finish(std::move(begun.error()));
  stop_ = *std::move(begun);
}

void SpeechRun::cancel() {
  sink_ = nullptr;
  drop_waiting();
  if (stop_) stop_();
}

void SpeechRun::receive(std::string audio) {
  held_ += audio.size();
  waiting_.push_back(std::move(audio));
  flow();
  if (held_ > kSpeechRunBufferMax || shared_->buffered_speech_bytes > kSpeechBufferMax) overflow();
  if (sink_ == nullptr) drop_waiting();
}

// The engine can start its next call at once, even if the client has not read all of this one yet.
void SpeechRun::finish(base::Status status) {
  shared_->live.remove(*this);
  stop_ = nullptr;
  if (!status && sink_ != nullptr) charges_.set_cost(cost_, 0);
  ended_ = std::move(status);
  flow();
}

void SpeechRun::flow() {
  if (std::exchange(flowing_, true)) return;
  const auto self = shared_from_this();
  while (sink_ != nullptr && !waiting_.empty() && sink_->is_ready()) {
    std::string audio = std::move(waiting_.front());
    waiting_.pop_front();
    shared_->buffered_speech_bytes -= audio.size();
    held_ -= audio.size();
    sink_->on_audio(head_, std::move(audio));
  }
  flowing_ = false;
  if (waiting_.empty() && ended_) deliver_end(*ended_);
}

void SpeechRun::overflow() {
  if (waiting_.empty()) return;  // other clients fill the buffers
  if (stop_) stop_();
  deliver_end(base::error(Code::kOverloaded,
                          "too much speech is buffered for clients that do not read it; retry later"));
}

void SpeechRun::deliver_end(base::Status status) {
  if (sink_ == nullptr) return;
  SpeechSink& sink = *std::exchange(sink_, nullptr);
  if (!status) return sink.on_end(std::move(status.error()));
  SpeechResult end;
  end.head = head_;
  end.input_tokens = input_tokens_;
  end.charged = charges_.total();
  if (end.charged.cost > 0) end.cost_usd = schemas::usd(end.charged.cost);
  sink.on_end(std::move(end));
}

}  // namespace millrace::inference
