#include "ai/engines/host/serve.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "ai/engines/host/audio/listener.h"
#include "ai/engines/host/audio/model_recogniser.h"
#include "ai/engines/host/audio/model_voice.h"
#include "ai/engines/host/audio/recording_reader.h"
#include "ai/engines/host/audio/speaker_finder.h"
#include "ai/engines/host/audio/voice.h"
#include "ai/engines/host/cpu_limit.h"
#include "ai/engines/host/documents/reader.h"
#include "ai/engines/protocol/wire.h"

namespace millrace::engines::host {

namespace {

std::chrono::milliseconds time_of(int who) {
  rusage used{};
  ::getrusage(who, &used);
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
      std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
}

// Processor time of this process and of the programs that have ended.
std::chrono::milliseconds time_used() { return time_of(RUSAGE_SELF) + time_of(RUSAGE_CHILDREN); }

Event failed(base::Error error) {
  Event event;
  event.kind = Event::Kind::kFailed;
  event.error = std::move(error);
  return event;
}

// One connection to the gateway; requests are served one after the other. The program ends at once when the
// gateway is gone.
class Session {
 public:
  Session(int socket, const std::string& languages)
      : socket_(socket),
        tools_(spawner_, limits_),
        recogniser_(limits_, languages),
        reader_(tools_, limits_, recogniser_),
        recordings_(tools_, limits_) {}

  int run() {
    for (;;) {
      while (auto frame = frames_.next()) {
        auto request = decode_request(*frame);
        if (!request) return 1;
        handle(*request);
      }
      if (frames_.read_some(socket_) == FrameReader::State::kClosed) return 0;
    }
  }

 private:
  void handle(const Request& request) {
    switch (request.kind) {
      case Request::Kind::kLimits:
        limits_ = request.limits;
        return;
      case Request::Kind::kOpen:
        opened_ = reader_.open(frames_.take_fd(), request.media, request.size_bytes);
        return;
      case Request::Kind::kInspect:
        return inspect();
      case Request::Kind::kRecognise:
        return recognise(request);
      case Request::Kind::kDraw:
        return draw(request);
      case Request::Kind::kOpenRecording:
        recording_ = recordings_.open(frames_.take_fd(), request.format);
        return;
      case Request::Kind::kListen:
        return inspect_recording(request.piece_ms_max);
      case Request::Kind::kOpenModel:
        model_files_.clear();  // frees copies that no other process has
        return library_.open(request.layout);
      case Request::Kind::kModelFile:
        return add_model_file(request);
      case Request::Kind::kTranscribe:
        return transcribe(request);
      case Request::Kind::kSpeak:
        return speak(request);
    }
  }

  void inspect() {
    bound_cpu(limits_.child_cpu());
    if (!opened_) return send(failed(opened_.error()));
    auto pages = reader_.page_count();
    if (!pages) return send(failed(std::move(pages.error())));
    Event event;
    event.kind = Event::Kind::kInfo;
    event.pages = *pages;
    send(std::move(event));
  }

  void recognise(const Request& request) {
    if (!opened_) return send(failed(opened_.error()));
    const Sink sink{[this](int page) { begin(page); },
                    [this](PageOutcome outcome) { report(std::move(outcome)); }};
    auto status = reader_.recognise(request.pages, {request.image_data}, sink);
    send(status ? Event{} : failed(std::move(status.error())));
  }

  void draw(const Request& request) {
    bound_cpu(limits_.child_cpu());
    if (!opened_) return send(failed(opened_.error()));
    auto picture = reader_.draw(request.pages.front(), request.picture_side);
    if (!picture) return send(failed(std::move(picture.error())));
    Event event;
    event.kind = Event::Kind::kPicture;
    event.picture = std::move(*picture);
    send(std::move(event));
  }

  void begin(int page) { begin(page, limits_.child_cpu()); }

  void begin(int part, std::chrono::milliseconds cpu) {
    bound_cpu(cpu);
    Event event;
    event.kind = Event::Kind::kBegin;
    event.page = part;
    send(std::move(event));
  }

  void report(PageOutcome outcome) {
    Event event;
    event.kind = Event::Kind::kPage;
    event.outcome = std::move(outcome);
    send(std::move(event));
  }

  // A file that was sent gets a name: the format of a model follows from the ending of its name.
  void add_model_file(const Request& request) {
    if (!request.file_is_sent) return library_.add_file(request.role, request.path);
    base::Fd file = frames_.take_fd();
    const std::string name =
        "/tmp/" + request.role + std::filesystem::path(request.path).extension().string();
    const std::string target = "/proc/self/fd/" + std::to_string(file.get());
    ::unlink(name.c_str());
    if (::symlink(target.c_str(), name.c_str()) != 0) return;  // the model's error then names the file
    library_.add_file(request.role, name);
    model_files_[request.role] = std::move(file);
  }

  void inspect_recording(std::int64_t piece_ms_max) {
    bound_cpu(limits_.decode_cpu);
    if (!recording_) return send(failed(recording_.error()));
    auto info = recordings_.inspect_recording(piece_ms_max);
    if (!info) return send(failed(std::move(info.error())));
    Event event;
    event.kind = Event::Kind::kRecording;
    event.recording = std::move(*info);
    send(std::move(event));
  }

  void transcribe(const Request& request) {
    if (!recording_) return send(failed(recording_.error()));
    const auto length = [](const schemas::AudioPiece& piece) {
      return std::chrono::milliseconds(piece.end_ms - piece.start_ms);
    };
    ModelRecogniser with_model(library_, aligner_, request.options);
    PieceRecogniser& texts = request.with_model ? static_cast<PieceRecogniser&>(with_model) : listener_;
    RecogniserOfSpeakers with_speakers(texts, speakers_);
    const PieceSink sink{
        [&](const schemas::AudioPiece& piece) { begin(piece.index, limits_.piece_cpu(length(piece))); },
        [&](PieceOutcome outcome) {
          Event event;
          event.kind = Event::Kind::kPiece;
          event.piece = std::move(outcome);
          event.piece.voices_error = with_speakers.take_voices_error();
          send(std::move(event));
        }};
    RecogniserOfVoices one_voice(speakers_);
    PieceRecogniser& recogniser = recogniser_for(request.options.speakers, texts, with_speakers, one_voice);
    auto status = recordings_.transcribe(request.pieces, recogniser, sink);
    send(status ? Event{} : failed(std::move(status.error())));
  }

  static PieceRecogniser& recogniser_for(SpeakerTask task, PieceRecogniser& texts,
                                         PieceRecogniser& with_speakers, PieceRecogniser& one_voice) {
    switch (task) {
      case SpeakerTask::kNone:
        return texts;
      case SpeakerTask::kTellApart:
        return with_speakers;
      case SpeakerTask::kOneVoice:
        return one_voice;
    }
    return texts;
  }

  void speak(const Request& request) {
    const bool with_model = request.speech.with_model;
    const auto cpu = with_model ? limits_.voice_sentence_cpu : limits_.sentence_cpu;
    const SynthesisCallbacks sink{[cpu] { bound_cpu(cpu); },
                                  [this](std::string_view bytes) {
                                    Event event;
                                    event.kind = Event::Kind::kAudio;
                                    event.audio = bytes;
                                    send(std::move(event));
                                  }};
    auto status = with_model ? voice_.synthesise(request.speech, sink) : synthesise(request.speech, sink);
    send(status ? Event{} : failed(std::move(status.error())));
  }

  void send(Event event) {
    using Kind = Event::Kind;
    if (event.kind == Kind::kPage || event.kind == Kind::kPiece || event.kind == Kind::kFailed ||
        event.kind == Kind::kDone) {
      const auto used = time_used();
      event.cpu = used - std::exchange(time_reported_, used);
    }
    if (!send_frame(socket_, encode(event))) ::_exit(0);
  }

  int socket_;
  std::chrono::milliseconds time_reported_ = time_used();
  EngineLimits limits_;
  process::Spawner spawner_;
  Tools tools_;
  Recogniser recogniser_;
  DocumentReader reader_;
  SpeechRecogniser listener_;
  SpeechLibrary library_;
  ModelVoice voice_{library_};
  SpeakerFinder speakers_{library_};
  SpeechAligner aligner_;
  std::map<std::string, base::Fd> model_files_;  // those that were sent, by role
  RecordingReader recordings_;
  FrameReader frames_;
  base::Status opened_ = base::error(base::Code::kInternal, "no document was opened");
  base::Status recording_ = base::error(base::Code::kInternal, "no recording was opened");
};

}  // namespace

int serve(int socket, const std::string& languages) { return Session(socket, languages).run(); }

}  // namespace millrace::engines::host
