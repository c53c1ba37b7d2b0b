#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/limits.h"
#include "ai/engines/ocr/pages.h"
#include "ai/engines/protocol/frames.h"
#include "ai/engines/speech/loadable_model.h"
#include "ai/engines/speech/recording.h"
#include "ai/engines/speech/speaker.h"
#include "platform/base/result.h"
#include "schemas/media/audio_format.h"

namespace millrace::engines {

// The protocol between the gateway and an engine child: frames (ai/engines/protocol/frames.h) of JSON, or of
// raw bytes for audio and pictures. The gateway treats the child as hostile, because a document may have
// compromised it: input that does not parse ends the child.

struct Request {
  enum class Kind {
    kLimits,         // first, once
    kOpen,           // opens the document for the following requests; its descriptor is sent with the frame
    kInspect,        // → kInfo or kFailed
    kRecognise,      // → kBegin and kPage per page, then kDone or kFailed
    kDraw,           // pages.front(), scaled to fit into picture_side → kPicture or kFailed
    kOpenRecording,  // opens the recording for the following requests, like kOpen
    kListen,         // cuts it into pieces of at most piece_ms_max → kRecording or kFailed
    kOpenModel,      // forgets the current model; the files of the next one, of `layout`, follow
    kModelFile,      // one of its files: sent with the frame, or at `path`
    kTranscribe,     // with the current model or PocketSphinx → kBegin and kPiece per piece, then kDone or
                     // kFailed
    kSpeak,          // → kAudio as the audio is produced, then kDone or kFailed
  };
  Kind kind = Kind::kInspect;
  EngineLimits limits;
  schemas::Media media = schemas::Media::kPdf;
  std::uint64_t size_bytes = 0;
  std::vector<int> pages;
  bool image_data = false;
  int picture_side = 0;  // kDraw: maximum length of the long side in pixels
  schemas::AudioFormat format = schemas::AudioFormat::kWav;        // kOpenRecording, with size_bytes
  std::int64_t piece_ms_max = kPieceMsMax;                         // kListen
  SpeechModelLayout layout = SpeechModelLayout::kMoonshineMerged;  // kOpenModel
  std::string role;                                                // kModelFile, as in SpeechFile
  std::string path;           // kModelFile; of a file that is sent, only its ending counts
  bool file_is_sent = false;  // kModelFile
  std::vector<schemas::AudioPiece> pieces;
  bool with_model = false;  // kTranscribe: with the current model; false: with PocketSphinx
  SpeechTaskOptions options;
  SpeechTask speech;
};

struct Event {
  enum class Kind { kBegin, kPage, kInfo, kPicture, kRecording, kPiece, kAudio, kFailed, kDone };
  Kind kind = Kind::kDone;
  int page = -1;        // kBegin: work begins on this page or piece, or on a run that starts with it
  PageOutcome outcome;  // kPage
  int pages = 0;        // kInfo
  RecordingInfo recording;
  PieceOutcome piece;
  std::string audio;
  std::string picture;  // kPicture: the bytes of a JPEG file
  base::Error error;    // kFailed
  // Processor time of the child and its programs since the last event that has it: kPage, kPiece, kFailed,
  // kDone.
  std::chrono::milliseconds cpu{0};
};

std::string encode(const Request& request);
std::string encode(const Event& event);
base::Result<Request> decode_request(std::string_view frame);
base::Result<Event> decode_event(std::string_view frame);

}  // namespace millrace::engines
