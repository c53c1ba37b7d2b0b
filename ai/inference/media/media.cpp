#include "ai/inference/media/media.h"

#include <utility>

#include "ai/inference/media/embedding_request.h"
#include "ai/inference/media/image_request.h"
#include "ai/inference/media/media_run.h"
#include "ai/inference/media/speech_request.h"
#include "ai/inference/media/whole_request.h"
#include "ai/inference/routing/routing.h"

namespace millrace::inference {

std::shared_ptr<ChatRun> MediaClient::start(std::unique_ptr<MediaRequest> media_request) const {
  auto run = std::make_shared<MediaRun>(shared_, pool_, shared_->current(), std::move(media_request), tenant_,
                                        before_sending_);
  run->begin();
  return run;
}

std::optional<schemas::Refusal> MediaClient::check(const schemas::EmbeddingRequest& request) const {
  const EmbeddingMediaRequest::RequestPtr unowned(EmbeddingMediaRequest::RequestPtr(), &request);
  return refusal_of(*shared_->current(), EmbeddingMediaRequest(unowned, {}));
}

std::shared_ptr<ChatRun> MediaClient::embed(schemas::EmbeddingRequest request,
                                            std::function<void(base::Result<EmbeddingResult>)> done) const {
  auto kept = std::make_shared<const schemas::EmbeddingRequest>(std::move(request));
  return start(std::make_unique<EmbeddingMediaRequest>(std::move(kept), std::move(done)));
}

std::shared_ptr<ChatRun> MediaClient::read(std::string model, schemas::AllowList allowed,
                                           providers::OcrCall call,
                                           std::function<void(base::Result<OcrResult>)> done) const {
  return start(std::make_unique<OcrMediaRequest>(std::move(model), std::move(allowed), std::move(call),
                                                 std::move(done)));
}

std::shared_ptr<ChatRun> MediaClient::transcribe(
    std::string model, schemas::AllowList allowed, providers::TranscriptionCall call,
    std::function<void(base::Result<TranscriptionResult>)> done) const {
  return start(std::make_unique<TranscriptionMediaRequest>(std::move(model), std::move(allowed),
                                                           std::move(call), std::move(done)));
}

std::optional<schemas::Refusal> MediaClient::check(const schemas::ImageRequest& request) const {
  const ImageMediaRequest::RequestPtr unowned(ImageMediaRequest::RequestPtr(), &request);
  return refusal_of(*shared_->current(), ImageMediaRequest(unowned, nullptr));
}

std::shared_ptr<ChatRun> MediaClient::draw(schemas::ImageRequest request, ImageSink& sink) const {
  auto kept = std::make_shared<const schemas::ImageRequest>(std::move(request));
  return start(std::make_unique<ImageMediaRequest>(std::move(kept), &sink));
}

std::optional<schemas::Refusal> MediaClient::check(const schemas::SpeechRequest& request) const {
  const RegistryPtr registry = shared_->current();
  const auto model = speech_model(*registry, request.model);
  if (!model && !shared_->local_speech.model_named(request.model).empty())
    return local_refusal(shared_->local_speech, request);
  if (!model) return no_speech_model(*registry, shared_->local_speech, request.model);
  const SpeechMediaRequest::RequestPtr unowned(SpeechMediaRequest::RequestPtr(), &request);
  return refusal_of(*registry, SpeechMediaRequest(*model, unowned, nullptr));
}

CostBound MediaClient::max_cost(const schemas::EmbeddingRequest& request) const {
  EmbeddingMediaRequest media_request({EmbeddingMediaRequest::RequestPtr(), &request}, {});
  return inference::max_cost(*shared_->current(), media_request);
}

CostBound MediaClient::max_cost(const schemas::ImageRequest& request) const {
  ImageMediaRequest media_request({ImageMediaRequest::RequestPtr(), &request}, nullptr);
  return inference::max_cost(*shared_->current(), media_request);
}

CostBound MediaClient::max_cost(const schemas::SpeechRequest& request) const {
  const RegistryPtr registry = shared_->current();
  const auto model = speech_model(*registry, request.model);
  if (!model) return {.max = local_cost(*registry, shared_->local_speech, request)};
  SpeechMediaRequest media_request(*model, {SpeechMediaRequest::RequestPtr(), &request}, nullptr);
  return inference::max_cost(*registry, media_request);
}

CostBound MediaClient::max_cost(std::string model, schemas::AllowList allowed,
                                providers::OcrCall call) const {
  OcrMediaRequest media_request(std::move(model), std::move(allowed), std::move(call), {});
  return inference::max_cost(*shared_->current(), media_request);
}

CostBound MediaClient::max_cost(std::string model, schemas::AllowList allowed,
                                providers::TranscriptionCall call) const {
  TranscriptionMediaRequest media_request(std::move(model), std::move(allowed), std::move(call), {});
  return inference::max_cost(*shared_->current(), media_request);
}

std::shared_ptr<ChatRun> MediaClient::speak(schemas::SpeechRequest request, SpeechSink& sink) const {
  const RegistryPtr registry = shared_->current();
  auto model = speech_model(*registry, request.model);
  if (!model && !shared_->local_speech.model_named(request.model).empty()) {
    const schemas::NanoUsd max = local_cost(*registry, shared_->local_speech, request);
    auto run = std::make_shared<SpeechRun>(shared_, std::move(request), max, before_sending_, sink);
    run->begin();
    return run;
  }
  std::string model_name = model ? *std::move(model) : request.model;
  auto kept = std::make_shared<const schemas::SpeechRequest>(std::move(request));
  return start(std::make_unique<SpeechMediaRequest>(std::move(model_name), std::move(kept), &sink));
}

}  // namespace millrace::inference
