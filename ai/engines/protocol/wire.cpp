#include "ai/engines/protocol/wire.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace millrace::engines {
namespace {

using base::Code;
using nlohmann::json;

// First byte of a frame of raw bytes; JSON never begins with it.
constexpr char kAudioMark = '\x01';
constexpr char kPictureMark = '\x02';

std::string dumped(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json json_of(const EngineLimits& limits) {
  return {{"pages_max", limits.pages_max},
          {"image_pixels_max", limits.image_pixels_max},
          {"raster_side_max", limits.raster_side_max},
          {"page_cpu_ms", limits.page_cpu.count()},
          {"page_wall_ms", limits.page_wall.count()},
          {"poppler_cpu_ms", limits.poppler_cpu.count()},
          {"recording_max_ms", limits.recording_max.count()},
          {"channels_max", limits.channels_max},
          {"decode_cpu_ms", limits.decode_cpu.count()},
          {"piece_wall_ms", limits.piece_wall.count()},
          {"sentence_cpu_ms", limits.sentence_cpu.count()},
          {"voice_sentence_cpu_ms", limits.voice_sentence_cpu.count()},
          {"sentence_wall_ms", limits.sentence_wall.count()}};
}

EngineLimits limits_of(const json& value) {
  const auto time = [&value](const char* name) {
    return std::chrono::milliseconds(value.at(name).get<std::int64_t>());
  };
  EngineLimits limits;
  limits.pages_max = value.at("pages_max").get<int>();
  limits.image_pixels_max = value.at("image_pixels_max").get<std::int64_t>();
  limits.raster_side_max = value.at("raster_side_max").get<int>();
  limits.page_cpu = time("page_cpu_ms");
  limits.page_wall = time("page_wall_ms");
  limits.poppler_cpu = time("poppler_cpu_ms");
  limits.recording_max = time("recording_max_ms");
  limits.channels_max = value.at("channels_max").get<int>();
  limits.decode_cpu = time("decode_cpu_ms");
  limits.piece_wall = time("piece_wall_ms");
  limits.sentence_cpu = time("sentence_cpu_ms");
  limits.voice_sentence_cpu = time("voice_sentence_cpu_ms");
  limits.sentence_wall = time("sentence_wall_ms");
  return limits;
}

json json_of(const base::Error& error) {
  return {{"code", base::name(error.code)},
          {"message", error.message},
          {"param", error.param},
          {"details", error.details}};
}

base::Error error_of(const json& value) {
  base::Error error = base::error(base::code_named(value.at("code").get<std::string>()),
                                  value.at("message").get<std::string>(), value.value("param", ""));
  error.details = value.value("details", "");
  return error;
}

json json_of(const PageOutcome& outcome) {
  json images = json::array();
  for (const PageImage& image : outcome.images) {
    images.push_back(
        {{"id", image.id}, {"box", {image.x0, image.y0, image.x1, image.y1}}, {"data", image.data_uri}});
  }
  json value{{"index", outcome.index}, {"markdown", outcome.markdown}, {"images", std::move(images)}};
  if (outcome.dimensions) {
    value["dimensions"] = {outcome.dimensions->dpi, outcome.dimensions->height, outcome.dimensions->width};
  }
  for (const schemas::PageWarning& warning : outcome.warnings)
    value["warnings"].push_back({warning.code, warning.message});
  if (outcome.error) value["error"] = json_of(*outcome.error);
  return value;
}

PageOutcome outcome_of(const json& value) {
  PageOutcome outcome;
  outcome.index = value.at("index").get<int>();
  outcome.markdown = value.at("markdown").get<std::string>();
  for (const json& each : value.at("images")) {
    const json& box = each.at("box");
    outcome.images.push_back({each.at("id").get<std::string>(), box.at(0).get<int>(), box.at(1).get<int>(),
                              box.at(2).get<int>(), box.at(3).get<int>(),
                              each.at("data").get<std::string>()});
  }
  if (value.contains("dimensions")) {
    const json& all = value["dimensions"];
    outcome.dimensions = PageDimensions{all.at(0).get<int>(), all.at(1).get<int>(), all.at(2).get<int>()};
  }
  if (value.contains("warnings")) {
    for (const json& each : value["warnings"]) {
      if (outcome.warnings.size() == kPageWarningsMax) break;
      outcome.warnings.push_back({each.at(0).get<std::string>(), each.at(1).get<std::string>()});
    }
  }
  if (value.contains("error")) outcome.error = error_of(value["error"]);
  return outcome;
}

json json_of(const std::vector<schemas::AudioPiece>& pieces) {
  json value = json::array();
  for (const schemas::AudioPiece& piece : pieces)
    value.push_back({piece.index, piece.start_ms, piece.end_ms});
  return value;
}

std::vector<schemas::AudioPiece> pieces_of(const json& value) {
  std::vector<schemas::AudioPiece> pieces;
  for (const json& each : value) {
    pieces.push_back({each.at(0).get<int>(), each.at(1).get<std::int64_t>(), each.at(2).get<std::int64_t>()});
  }
  return pieces;
}

json json_of(const SpeechTask& task) {
  return {{"text", task.text},
          {"voice", task.voice},
          {"encoding", static_cast<int>(task.encoding)},
          {"speed", task.speed},
          {"with_model", task.with_model},
          {"speaker", task.speaker},
          {"is_english", task.is_english}};
}

SpeechTask speech_of(const json& value) {
  const int encoding = value.at("encoding").get<int>();
  if (encoding < 0 || encoding > static_cast<int>(schemas::SpeechEncoding::kPcm)) {
    throw std::invalid_argument("encoding");
  }
  return {value.at("text").get<std::string>(),
          value.at("voice").get<std::string>(),
          static_cast<schemas::SpeechEncoding>(encoding),
          value.at("speed").get<double>(),
          value.at("with_model").get<bool>(),
          value.at("speaker").get<int>(),
          value.at("is_english").get<bool>()};
}

bool has_few_voices(const schemas::TranscriptPiece& piece) {
  return piece.voices.size() <= kPieceVoicesMax &&
         std::ranges::all_of(piece.voices, [](const schemas::Voice& voice) {
           return voice.embedding.size() <= kVoiceDimensionsMax;
         });
}

PieceOutcome piece_outcome_of(const json& value) {
  auto piece = schemas::piece_from_json(value.at("outcome").get<std::string>());
  if (!piece || !has_few_voices(*piece)) throw std::invalid_argument("piece");
  if (piece->error) piece->error->details = value.value("details", "");
  PieceOutcome outcome{value.at("index").get<int>(), std::move(*piece)};
  if (const auto error = value.find("voices_error"); error != value.end())
    outcome.voices_error = error_of(*error);
  return outcome;
}

SpeechModelLayout layout_of(const json& value) {
  const int layout = value.get<int>();
  if (layout < 0 || layout > static_cast<int>(SpeechModelLayout::kSpeakers))
    throw std::invalid_argument("layout");
  return static_cast<SpeechModelLayout>(layout);
}

SpeakerTask speaker_task_of(const json& value) {
  const int task = value.get<int>();
  if (task < 0 || task > static_cast<int>(SpeakerTask::kOneVoice)) throw std::invalid_argument("speakers");
  return static_cast<SpeakerTask>(task);
}

void read_audio_request(const std::string& op, const json& value, Request& request) {
  if (op == "open_recording") {
    request.kind = Request::Kind::kOpenRecording;
    request.format = schemas::audio_format_named(value.at("format").get<std::string>()).value();
    request.size_bytes = value.at("bytes").get<std::uint64_t>();
  } else if (op == "listen") {
    request.kind = Request::Kind::kListen;
    request.piece_ms_max = value.at("piece_ms_max").get<std::int64_t>();
  } else if (op == "open_model") {
    request.kind = Request::Kind::kOpenModel;
    request.layout = layout_of(value.at("layout"));
  } else if (op == "model_file") {
    request.kind = Request::Kind::kModelFile;
    request.role = value.at("role").get<std::string>();
    request.path = value.at("path").get<std::string>();
    request.file_is_sent = value.at("sent").get<bool>();
  } else if (op == "transcribe") {
    request.kind = Request::Kind::kTranscribe;
    request.pieces = pieces_of(value.at("pieces"));
    request.with_model = value.at("with_model").get<bool>();
    request.options = {value.at("language").get<std::string>(), value.at("translate").get<bool>(),
                       speaker_task_of(value.at("speakers"))};
  } else if (op == "speak") {
    request.kind = Request::Kind::kSpeak;
    request.speech = speech_of(value.at("speech"));
  } else {
    throw std::invalid_argument("request");
  }
}

Request request_of(const json& value) {
  const auto op = value.at("op").get<std::string>();
  Request request;
  if (op == "limits") {
    request.kind = Request::Kind::kLimits;
    request.limits = limits_of(value.at("limits"));
  } else if (op == "open") {
    request.kind = Request::Kind::kOpen;
    request.media = schemas::media_named(value.at("media").get<std::string>()).value();
    request.size_bytes = value.at("bytes").get<std::uint64_t>();
  } else if (op == "recognise") {
    request.kind = Request::Kind::kRecognise;
    request.pages = value.at("pages").get<std::vector<int>>();
    request.image_data = value.at("image_data").get<bool>();
  } else if (op == "draw") {
    request.kind = Request::Kind::kDraw;
    request.pages = {value.at("page").get<int>()};
    request.picture_side = value.at("side").get<int>();
  } else if (op == "inspect") {
    request.kind = Request::Kind::kInspect;
  } else {
    read_audio_request(op, value, request);
  }
  return request;
}

// A child that reports too little is still bounded by the kernel's limit for each part.
std::chrono::milliseconds cpu_of(const json& value) {
  constexpr std::int64_t kMost = 3'600'000;
  return std::chrono::milliseconds(std::clamp<std::int64_t>(value.value("cpu", std::int64_t{0}), 0, kMost));
}

Event event_of(const json& value) {
  const auto name = value.at("ev").get<std::string>();
  Event event;
  event.cpu = cpu_of(value);
  if (name == "begin") {
    event.kind = Event::Kind::kBegin;
    event.page = value.at("page").get<int>();
  } else if (name == "page") {
    event.kind = Event::Kind::kPage;
    event.outcome = outcome_of(value.at("outcome"));
  } else if (name == "info") {
    event.kind = Event::Kind::kInfo;
    event.pages = value.at("pages").get<int>();
  } else if (name == "recording") {
    event.kind = Event::Kind::kRecording;
    event.recording = {value.at("ms").get<std::int64_t>(), pieces_of(value.at("pieces"))};
  } else if (name == "piece") {
    event.kind = Event::Kind::kPiece;
    event.piece = piece_outcome_of(value);
  } else if (name == "failed") {
    event.kind = Event::Kind::kFailed;
    event.error = error_of(value.at("error"));
  } else if (name != "done") {
    throw std::invalid_argument("event");
  }
  return event;
}

}  // namespace

std::string encode(const Request& request) {
  switch (request.kind) {
    case Request::Kind::kLimits:
      return dumped({{"op", "limits"}, {"limits", json_of(request.limits)}});
    case Request::Kind::kOpen:
      return dumped({{"op", "open"}, {"media", schemas::name(request.media)}, {"bytes", request.size_bytes}});
    case Request::Kind::kInspect:
      return dumped({{"op", "inspect"}});
    case Request::Kind::kRecognise:
      return dumped({{"op", "recognise"}, {"pages", request.pages}, {"image_data", request.image_data}});
    case Request::Kind::kDraw:
      return dumped({{"op", "draw"}, {"page", request.pages.front()}, {"side", request.picture_side}});
    case Request::Kind::kOpenRecording:
      return dumped({{"op", "open_recording"},
                     {"format", schemas::name(request.format)},
                     {"bytes", request.size_bytes}});
    case Request::Kind::kListen:
      return dumped({{"op", "listen"}, {"piece_ms_max", request.piece_ms_max}});
    case Request::Kind::kOpenModel:
      return dumped({{"op", "open_model"}, {"layout", static_cast<int>(request.layout)}});
    case Request::Kind::kModelFile:
      return dumped({{"op", "model_file"},
                     {"role", request.role},
                     {"path", request.path},
                     {"sent", request.file_is_sent}});
    case Request::Kind::kTranscribe:
      return dumped({{"op", "transcribe"},
                     {"pieces", json_of(request.pieces)},
                     {"with_model", request.with_model},
                     {"language", request.options.language},
                     {"translate", request.options.translate},
                     {"speakers", static_cast<int>(request.options.speakers)}});
    case Request::Kind::kSpeak:
      return dumped({{"op", "speak"}, {"speech", json_of(request.speech)}});
  }
  return {};
}

std::string encode(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kBegin:
      return dumped({{"ev", "begin"}, {"page", event.page}});
    case Event::Kind::kPage:
      return dumped({{"ev", "page"}, {"outcome", json_of(event.outcome)}, {"cpu", event.cpu.count()}});
    case Event::Kind::kInfo:
      return dumped({{"ev", "info"}, {"pages", event.pages}});
    case Event::Kind::kRecording:
      return dumped(
          {{"ev", "recording"}, {"ms", event.recording.ms}, {"pieces", json_of(event.recording.pieces)}});
    case Event::Kind::kPiece: {
      json piece{{"ev", "piece"},
                 {"index", event.piece.index},
                 {"outcome", schemas::to_json(event.piece.piece)},
                 {"details", event.piece.piece.error ? event.piece.piece.error->details : ""},
                 {"cpu", event.cpu.count()}};
      if (event.piece.voices_error) piece["voices_error"] = json_of(*event.piece.voices_error);
      return dumped(piece);
    }
    case Event::Kind::kAudio:
      return kAudioMark + event.audio;
    case Event::Kind::kPicture:
      return kPictureMark + event.picture;
    case Event::Kind::kFailed:
      return dumped({{"ev", "failed"}, {"error", json_of(event.error)}, {"cpu", event.cpu.count()}});
    case Event::Kind::kDone:
      return dumped({{"ev", "done"}, {"cpu", event.cpu.count()}});
  }
  return {};
}

base::Result<Request> decode_request(std::string_view frame) {
  try {
    return request_of(json::parse(frame));
  } catch (const std::exception&) {
    return base::error(Code::kInternal, "the engine received an invalid request");
  }
}

base::Result<Event> decode_event(std::string_view frame) {
  if (frame.starts_with(kAudioMark) || frame.starts_with(kPictureMark)) {
    Event event;
    const bool is_audio = frame.front() == kAudioMark;
    event.kind = is_audio ? Event::Kind::kAudio : Event::Kind::kPicture;
    (is_audio ? event.audio : event.picture) = frame.substr(1);
    return event;
  }
  try {
    return event_of(json::parse(frame));
  } catch (const std::exception&) {
    return base::error(Code::kInternal, "the engine sent an invalid event");
  }
}

}  // namespace millrace::engines
