#include "ai/engines/host/audio/voice.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include <flite/flite.h>

#include "ai/engines/host/audio/encoder.h"

// Debian's headers do not declare these.
extern "C" {
cst_voice* register_cmu_us_slt(const char* folder);
cst_voice* register_cmu_us_rms(const char* folder);
cst_voice* register_cmu_us_awb(const char* folder);
cst_voice* register_cmu_us_kal16(const char* folder);
}
namespace millrace::engines::host {
namespace {

constexpr std::size_t kFirstMax = 120;
constexpr std::size_t kFirstShort = 60;  // if the first sentence is longer, it is cut at its first comma
constexpr std::size_t kCutMin = 20;      // minimum length of a piece that is cut at a comma

// U+00C0 to U+00FF.
constexpr const char* kLetters[] = {
    "A", "A", "A", "A", "A", "A", "AE", "C", "E", "E", "E", "E", "I", "I", "I",  "I",   //
    "D", "N", "O", "O", "O", "O", "O",  " ", "O", "U", "U", "U", "U", "Y", "Th", "ss",  //
    "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i",  "i",   //
    "d", "n", "o", "o", "o", "o", "o",  " ", "o", "u", "u", "u", "u", "y", "th", "y"};

const char* plain(std::uint32_t point) {
  if (point >= 0xC0 && point <= 0xFF) return kLetters[point - 0xC0];
  switch (point) {
    case 0x2018:
    case 0x2019:
      return "'";
    case 0x201C:
    case 0x201D:
      return "\"";
    case 0x2010:
    case 0x2011:
      return "-";
    case 0x2013:
    case 0x2014:
      return ", ";
    case 0x2026:
      return "... ";
    case 0xA3:
      return " pounds ";
    case 0x20AC:
      return " euros ";
    case 0xB0:
      return " degrees ";
    default:
      return " ";
  }
}

// The code point at `at`; advances `at` past it. Each invalid UTF-8 byte counts as one code point.
std::uint32_t next_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at++);
  const std::size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  if (more == 0) return lead < 0x80 ? lead : 0xFFFD;
  std::uint32_t point = lead & (0x3FU >> more);
  for (std::size_t i = 0; i < more; ++i, ++at) {
    if (at >= text.size() || (byte(at) & 0xC0U) != 0x80) return 0xFFFD;
    point = (point << 6U) | (byte(at) & 0x3FU);
  }
  return point;
}

bool is_letter_or_digit(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0;
}
bool is_blank(char c) { return c == ' ' || c == '\n'; }

constexpr std::string_view kShortForms[] = {"Mr", "Mrs", "Ms", "Dr", "St", "Prof", "No", "vs", "e.g", "i.e"};

// The full stop of an abbreviation or an initial does not end a sentence.
bool is_short_form(std::string_view before) {
  const auto space = before.find_last_of(" \n\"'(");
  const std::string_view word = space == std::string_view::npos ? before : before.substr(space + 1);
  if (word.size() == 1 && word[0] >= 'A' && word[0] <= 'Z' && word != "I") return true;
  return std::find(std::begin(kShortForms), std::end(kShortForms), word) != std::end(kShortForms);
}

// Where the sentence that begins at `from` ends: after its stop and closing marks.
std::size_t sentence_end(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') return at + 1;
    if (c != '.' && c != '!' && c != '?') continue;
    std::size_t after = at + 1;
    while (after < text.size() && std::string_view(".!?\"')]").find(text[after]) != std::string_view::npos)
      ++after;
    if (after < text.size() && !is_blank(text[after])) continue;
    if (c == '.' && after == at + 1 && is_short_form(text.substr(from, at - from))) continue;
    return after;
  }
  return text.size();
}

// The position after the first comma that has something to speak before it; the end when there is none.
std::size_t first_comma(std::string_view sentence) {
  const auto comma = sentence.find_first_of(",;:", kCutMin);
  return comma == std::string_view::npos ? sentence.size() : comma + 1;
}

// Where a sentence that is longer than `most` is cut.
std::size_t cut_of(std::string_view sentence, std::size_t most) {
  const std::string_view head = sentence.substr(0, most);
  const auto comma = head.find_last_of(",;:");
  if (comma != std::string_view::npos && comma >= kCutMin) return comma + 1;
  const auto space = head.find_last_of(' ');
  if (space != std::string_view::npos && space > 0) return space;
  std::size_t cut = head.size();
  while (cut > 1 && (static_cast<unsigned char>(sentence[cut]) & 0xC0U) == 0x80) --cut;
  return cut;
}

}  // namespace

std::string plain_text(std::string_view utf8) {
  std::string text;
  for (std::size_t at = 0; at < utf8.size();) {
    const std::uint32_t point = next_point(utf8, at);
    if (point == '\n' || (point >= ' ' && point < 0x7F)) {
      text += static_cast<char>(point);
    } else {
      text += plain(point);
    }
  }
  return text;
}

std::vector<std::string> sentences_of(std::string_view plain, std::size_t length_max) {
  std::vector<std::string> sentences;
  while (!plain.empty()) {
    const std::size_t most = sentences.empty() ? std::min(kFirstMax, length_max) : length_max;
    std::size_t end = sentence_end(plain, 0);
    if (sentences.empty() && end > kFirstShort) end = std::min(end, first_comma(plain.substr(0, end)));
    if (end > most) end = cut_of(plain, most);
    const std::string_view sentence = plain.substr(0, end);
    if (std::any_of(sentence.begin(), sentence.end(), is_letter_or_digit)) sentences.emplace_back(sentence);
    plain.remove_prefix(end);
    while (!plain.empty() && is_blank(plain.front())) plain.remove_prefix(1);
  }
  return sentences;
}

namespace {

using base::Code;

constexpr int kChunkSamples = kVoiceRate / 10;  // samples per chunk from flite

// Created once; flite keeps the voice.
cst_voice* voice_named(std::string_view name) {
  flite_init();
  if (name == "slt") return register_cmu_us_slt(nullptr);
  if (name == "rms") return register_cmu_us_rms(nullptr);
  if (name == "awb") return register_cmu_us_awb(nullptr);
  if (name == "kal16") return register_cmu_us_kal16(nullptr);
  return nullptr;
}

// Passes samples from flite to the encoder. Its status covers both.
class SoundWay {
 public:
  explicit SoundWay(Encoder& encoder) : encoder_(encoder) {}

  bool take(const cst_wave& wave, int start, int count) {
    if (wave.sample_rate != kVoiceRate) {
      status_ = base::error(Code::kInternal, "the voice has an unsupported sample rate");
    } else if (status_) {
      status_ = encoder_.write(
          resampler_.next({wave.samples + start, static_cast<std::size_t>(std::max(count, 0))}));
    }
    return status_.has_value();
  }
  base::Status finish() {
    if (status_) status_ = encoder_.write(resampler_.rest());
    if (status_) status_ = encoder_.finish();
    return status_;
  }
  bool works() const { return status_.has_value(); }

 private:
  Encoder& encoder_;
  Resampler resampler_;
  base::Status status_;
};

int on_chunk(const cst_wave* wave, int start, int count, int /*last*/, cst_audio_streaming_info* info) {
  auto& way = *static_cast<SoundWay*>(info->userdata);
  return way.take(*wave, start, count) ? CST_AUDIO_STREAM_CONT : CST_AUDIO_STREAM_STOP;
}

// The voice keeps the streaming callback until it gets another one.
void stream_to(cst_voice* voice, SoundWay& way) {
  cst_audio_streaming_info* info = new_audio_streaming_info();
  info->asc = on_chunk;
  info->min_buffsize = kChunkSamples;
  info->userdata = &way;
  feat_set(voice->features, "streaming_info", audio_streaming_info_val(info));
}

}  // namespace

base::Error spelt_out_too_long() {
  return base::error(Code::kInvalidField,
                     "spelt out, the input has more than " + std::to_string(kSpokenCharactersMax) +
                         " characters to speak: send it in parts",
                     "input");
}

base::Status synthesise(const SpeechTask& task, const SynthesisCallbacks& sink) {
  cst_voice* voice = voice_named(task.voice);
  if (voice == nullptr) return base::error(Code::kInvalidField, "unknown voice", "voice");
  const std::string spoken = plain_text(task.text);
  if (spoken.size() > kSpokenCharactersMax) return spelt_out_too_long();
  const std::vector<std::string> sentences = sentences_of(spoken);
  if (sentences.empty()) {
    return base::error(Code::kInvalidField,
                       "the local voice speaks English: the input has no text that it can speak", "input");
  }
  auto encoder = make_encoder(task.encoding, sink.audio);
  if (!encoder) return std::move(encoder.error());
  SoundWay way(**encoder);
  stream_to(voice, way);
  feat_set_float(voice->features, "duration_stretch", static_cast<float>(1 / task.speed));
  for (const std::string& sentence : sentences) {
    sink.sentence();
    if (cst_wave* wave = flite_text_to_wave(sentence.c_str(), voice)) delete_wave(wave);
    if (!way.works()) break;
  }
  return way.finish();
}

}  // namespace millrace::engines::host
