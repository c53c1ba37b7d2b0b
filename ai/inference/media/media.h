#pragma once
#include <functional>
#include <memory>

#include "ai/inference/chat/chat.h"
#include "ai/inference/chat/chat_parts.h"
#include "ai/inference/media/media_request.h"
#include "ai/providers/audio.h"
#include "ai/providers/ocr.h"
#include "platform/base/pool.h"
#include "schemas/chat/embedding.h"
#include "schemas/media/image.h"
#include "schemas/media/speech.h"

namespace millrace::inference {

struct EmbeddingEnd : MediaEnd {
  schemas::EmbeddingReply reply;  // `model` and `usage` are never absent
};

struct ImageEnd : MediaEnd {
  schemas::ImageReply reply;  // of a stream without images
  bool by_url = false;        // as the model that answered has it
};

struct SpeechEnd : MediaEnd {
  std::int64_t input_tokens = 0;  // estimated
};

struct OcrEnd : MediaEnd {
  std::vector<schemas::OcrPage> pages;
};

struct TranscriptEnd : MediaEnd {
  schemas::Transcript transcript;
};

// Who hears of images. Loop thread; must not block. The sink outlives the run, or cancels it first.
class ImageSink {
 public:
  virtual ~ImageSink() = default;
  virtual void on_image(const ChatHead& head, schemas::ImageEvent&& event) = 0;  // streams only
  virtual bool is_ready() { return true; }              // streams only; false: until ChatRun::resume
  virtual void on_end(base::Result<ImageEnd> end) = 0;  // once, last; not after a cancel
};

// Who hears speech. Loop thread; must not block. The sink outlives the run, or cancels it first.
class SpeechSink {
 public:
  virtual ~SpeechSink() = default;
  virtual void on_audio(const ChatHead& head, std::string bytes) = 0;  // together they are one file
  virtual bool is_ready() = 0;                                         // false: until ChatRun::resume
  virtual void on_end(base::Result<SpeechEnd> end) = 0;                // once, last; not after a cancel
};

// Answers what is no chat: embeddings, images, documents and recordings. Its models, limits, breakers, prices
// and meters are those of a Chat, which outlives it and its runs. Small and cheap to make; `check` from any
// thread, the rest on the loop's.
class Media {
 public:
  // Large inputs and replies are read and written on `pool`, which outlives the runs.
  Media(const Chat& chat, base::Pool& pool) : parts_(chat.parts_), pool_(pool) {}

  // What can be known before a byte is sent: the model, and what it does not take. nullopt: nothing is wrong.
  std::optional<schemas::Refusal> check(const schemas::EmbeddingRequest& request) const;

  std::optional<schemas::Refusal> check(const schemas::ImageRequest& request) const;
  // kOverloaded: the local model is meant, and this process has no engine for it.
  std::optional<schemas::Refusal> check(const schemas::SpeechRequest& request) const;

  // REQUIRES: check. `done` once, on the loop's thread, later than the return; not after a cancel.
  std::shared_ptr<ChatRun> embed(schemas::EmbeddingRequest request,
                                 std::function<void(base::Result<EmbeddingEnd>)> done) const;
  // The pages of a document by a model of the registry (ocr_model). `done` as embed's; `order.bytes` is
  // called on the pool, for each call.
  std::shared_ptr<ChatRun> read(std::string model, providers::OcrCall order,
                                std::function<void(base::Result<OcrEnd>)> done) const;
  // A recording by a model of the registry (transcription_model). `done` as embed's; `order.append_bytes` is
  // called on the pool, for each call.
  std::shared_ptr<ChatRun> transcribe(std::string model, providers::TranscriptionCall order,
                                      std::function<void(base::Result<TranscriptEnd>)> done) const;
  // REQUIRES: check. The sink hears nothing before the return.
  std::shared_ptr<ChatRun> draw(schemas::ImageRequest request, ImageSink& sink) const;
  // REQUIRES: check. The local model speaks where no provider has the model. The sink hears nothing before
  // the return; an error after the first bytes leaves a file without its end.
  std::shared_ptr<ChatRun> speak(schemas::SpeechRequest request, SpeechSink& sink) const;

 private:
  std::shared_ptr<ChatRun> start(std::unique_ptr<MediaRequest> media_request) const;

  std::shared_ptr<ChatParts> parts_;
  base::Pool& pool_;
};

}  // namespace millrace::inference
