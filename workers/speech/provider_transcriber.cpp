#include "workers/speech/provider_transcriber.h"

#include <utility>

#include "ai/inference/media/media.h"
#include "ai/inference/routing/routing.h"
#include "workers/payload.h"

namespace millrace::workers {
namespace {

using TranscriptResult = base::Result<schemas::Transcript>;

// One call in progress. Used on the source's loop only. The ChatRun owns it; it does not own the ChatRun.
struct ProviderTranscription : std::enable_shared_from_this<ProviderTranscription> {
  std::function<void(TranscriptResult)> done;
  std::function<void(const schemas::Charge&)> on_charged;
  std::weak_ptr<inference::ChatRun> run;

  bool over() const { return !done; }
  void end(TranscriptResult result) {
    if (over()) return;
    if (const auto left = run.lock()) {
      if (on_charged) on_charged(left->charged());
      left->cancel();
    }
    std::exchange(done, {})(std::move(result));
  }
};

providers::TranscriptionCall order_by(const schemas::TranscriptionSpec& spec,
                                      std::shared_ptr<const engines::Recording> recording) {
  providers::TranscriptionCall order;
  order.file_name = spec.file_name;
  order.format = recording->format();
  order.bytes_count = recording->size_bytes();
  order.append_bytes = [recording = std::move(recording)](std::string& out) {
    return append_file(out, recording->fd(), recording->size_bytes());
  };
  order.language = spec.language;
  order.prompt = spec.prompt;
  order.temperature = spec.temperature;
  order.speakers = spec.speakers;
  order.form = spec.style.form;
  order.translate = spec.style.translate;
  order.words = spec.style.words;
  return order;
}

}  // namespace

ProviderTranscriber::Cancel ProviderTranscriber::transcribe(
    const schemas::TranscriptionSpec& spec, const std::string& tenant,
    std::shared_ptr<const engines::Recording> recording, double seconds_max, ModelBilling billing,
    std::function<void(TranscriptResult)> done) const {
  auto call = std::make_shared<ProviderTranscription>();
  call->done = std::move(done);
  call->on_charged = std::move(billing.on_charged);
  auto order = order_by(spec, std::move(recording));
  order.seconds_max = seconds_max;
  source_.loop.post([call, source = source_, &pool = pool_, name = spec.model, allowed = spec.allowed_models,
                     tenant, order = std::move(order), ask = std::move(billing.before_sending)]() mutable {
    if (call->over()) return;
    const auto model = inference::transcription_model(*source.chat.registry(), name);
    if (!model) return call->end(no_remote_model(name));
    call->run = inference::MediaClient(source.chat, pool, tenant, on_chat_loop(source.loop, std::move(ask)))
                    .transcribe(*model, std::move(allowed), std::move(order),
                                [call](base::Result<inference::TranscriptionResult> end) {
                                  if (!end) return call->end(std::move(end.error()));
                                  call->end(std::move(end->transcript));
                                });
  });
  return [call, &loop = source_.loop] {
    loop.post([call] { call->end(base::error(base::Code::kJobCancelled, "the call was cancelled")); });
  };
}

}  // namespace millrace::workers
