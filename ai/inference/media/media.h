#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "ai/inference/chat/chat.h"
#include "ai/inference/chat/chat_shared.h"
#include "ai/inference/media/media_request.h"
#include "ai/providers/audio.h"
#include "ai/providers/ocr.h"
#include "platform/base/pool.h"
#include "schemas/chat/embedding.h"
#include "schemas/media/image.h"
#include "schemas/media/speech.h"

namespace millrace::inference {

struct EmbeddingResult : MediaResult {
  schemas::EmbeddingReply reply;  // `model` and `usage` are never absent
};

struct ImageResult : MediaResult {
  schemas::ImageReply reply;  // for a stream, without images
  bool by_url = false;        // the answering model returns images by URL
};

struct SpeechResult : MediaResult {
  std::int64_t input_tokens = 0;  // estimated
};

struct OcrResult : MediaResult {
  std::vector<schemas::OcrPage> pages;
};

struct TranscriptionResult : MediaResult {
  schemas::Transcript transcript;
};

// Receives images. Loop thread; must not block. The sink outlives the run or cancels it first.
class ImageSink {
 public:
  virtual ~ImageSink() = default;
  virtual void on_image(const ChatHead& head, schemas::ImageEvent&& event) = 0;  // streams only
  virtual bool is_ready() { return true; }                 // streams only; false pauses until ChatRun::resume
  virtual void on_end(base::Result<ImageResult> end) = 0;  // once, last; not after a cancel
};

// Receives speech. Loop thread; must not block. The sink outlives the run or cancels it first.
class SpeechSink {
 public:
  virtual ~SpeechSink() = default;
  virtual void on_audio(const ChatHead& head, std::string bytes) = 0;  // together they are one file
  virtual bool is_ready() = 0;                                         // false pauses until ChatRun::resume
  virtual void on_end(base::Result<SpeechResult> end) = 0;             // once, last; not after a cancel
};

// Answers requests other than chat: embeddings, images, speech, documents and recordings. It shares models,
// limits, breakers, prices and metrics with a Chat, which outlives it and its runs. Cheap to create. `check`
// is thread-safe; everything else runs on the loop's thread.
class MediaClient {
 public:
  // `pool` reads and writes large inputs and replies. It outlives the runs. `tenant`: whose runs they are;
  // checks need none. `before_sending`: of all runs; null: every call may be sent.
  MediaClient(const Chat& chat, base::Pool& pool, std::string tenant = {}, BeforeSending before_sending = {})
      : shared_(chat.shared_),
        pool_(pool),
        tenant_(std::move(tenant)),
        before_sending_(std::move(before_sending)) {}

  // Checks before any byte is sent: the model exists and takes what the request contains. nullopt: no fault.
  std::optional<schemas::Refusal> check(const schemas::EmbeddingRequest& request) const;

  std::optional<schemas::Refusal> check(const schemas::ImageRequest& request) const;
  // kOverloaded: the request names the local model, and this process has no engine for it.
  std::optional<schemas::Refusal> check(const schemas::SpeechRequest& request) const;

  // The most that one upstream call of the request may cost, over all models that may answer. REQUIRES:
  // check. Thread-safe.
  CostBound max_cost(const schemas::EmbeddingRequest& request) const;
  CostBound max_cost(const schemas::ImageRequest& request) const;
  CostBound max_cost(const schemas::SpeechRequest& request) const;
  // The same for `read`, with the number of pages to read, and for `transcribe`. Of the call, `bytes` and
  // `append_bytes` are not used.
  CostBound max_cost(std::string model, schemas::AllowList allowed, providers::OcrCall call) const;
  CostBound max_cost(std::string model, schemas::AllowList allowed, providers::TranscriptionCall call) const;

  // REQUIRES: check. `done` is called once, on the loop's thread, after the return; not after a cancel.
  std::shared_ptr<ChatRun> embed(schemas::EmbeddingRequest request,
                                 std::function<void(base::Result<EmbeddingResult>)> done) const;
  // Reads the pages of a document with a model of the registry (ocr_model). `done` as in `embed`.
  // `order.bytes` is called on the pool, once per upstream call.
  // `allowed`: the key's models, for fallbacks.
  std::shared_ptr<ChatRun> read(std::string model, schemas::AllowList allowed, providers::OcrCall call,
                                std::function<void(base::Result<OcrResult>)> done) const;
  // Transcribes a recording with a model of the registry (transcription_model). `done` as in `embed`.
  // `order.append_bytes` is called on the pool, once per upstream call.
  std::shared_ptr<ChatRun> transcribe(std::string model, schemas::AllowList allowed,
                                      providers::TranscriptionCall call,
                                      std::function<void(base::Result<TranscriptionResult>)> done) const;
  // REQUIRES: check. No sink callback before the return.
  std::shared_ptr<ChatRun> draw(schemas::ImageRequest request, ImageSink& sink) const;
  // REQUIRES: check. If no provider has the model, the local engine speaks. No sink callback before the
  // return. After an error that follows the first bytes, the file is incomplete.
  std::shared_ptr<ChatRun> speak(schemas::SpeechRequest request, SpeechSink& sink) const;

 private:
  std::shared_ptr<ChatRun> start(std::unique_ptr<MediaRequest> media_request) const;

  std::shared_ptr<ChatShared> shared_;
  base::Pool& pool_;
  const std::string tenant_;
  const BeforeSending before_sending_;
};

}  // namespace millrace::inference
