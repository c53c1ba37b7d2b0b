#include "schemas/media/audio_format.h"

#include <algorithm>
#include <array>

namespace millrace::schemas {
namespace {

using namespace std::string_view_literals;

struct AudioRow {
  AudioFormat format;
  std::string_view name, mime;
};

constexpr std::array kAudioRows{
    AudioRow{AudioFormat::kFlac, "flac", "audio/flac"}, AudioRow{AudioFormat::kMp3, "mp3", "audio/mpeg"},
    AudioRow{AudioFormat::kMp4, "mp4", "audio/mp4"},    AudioRow{AudioFormat::kMpeg, "mpeg", "video/mpeg"},
    AudioRow{AudioFormat::kOgg, "ogg", "audio/ogg"},    AudioRow{AudioFormat::kWav, "wav", "audio/wav"},
    AudioRow{AudioFormat::kWebm, "webm", "audio/webm"},
};

unsigned octet(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

// The size of the MPEG audio frame whose header is at the beginning of `bytes`; 0: there is no header. Layers
// II and III of MPEG 1, 2 and 2.5 (ISO 11172-3, 13818-3).
std::size_t frame_bytes(std::string_view bytes) {
  if (bytes.size() < 4 || octet(bytes, 0) != 0xff || (octet(bytes, 1) & 0xe0u) != 0xe0u) return 0;
  const unsigned version = (octet(bytes, 1) >> 3) & 3u, layer = (octet(bytes, 1) >> 1) & 3u;
  const unsigned rate = octet(bytes, 2) >> 4, sampling = (octet(bytes, 2) >> 2) & 3u;
  const bool is_known = version != 1 && (layer == 1 || layer == 2) && rate > 0 && rate < 15 && sampling < 3;
  if (!is_known) return 0;
  constexpr std::array<std::array<unsigned, 15>, 3> kKilobits{{
      {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},   // MPEG 1, layer III
      {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},  // MPEG 1, layer II
      {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},       // MPEG 2, both
  }};
  constexpr std::array<unsigned, 3> kHertz{44100, 48000, 32000};
  const bool first = version == 3, third_layer = layer == 1;
  const unsigned kilobits = kKilobits[first ? (third_layer ? 0 : 1) : 2][rate];
  const unsigned hertz = kHertz[sampling] >> (first ? 0 : (version == 2 ? 1 : 2));
  const unsigned samples_by_8 = third_layer && !first ? 72 : 144;
  return samples_by_8 * kilobits * 1000 / hertz + ((octet(bytes, 2) >> 1) & 1u);
}

// A single header also occurs in other data. If the second frame is within the head, it must have a header
// too.
bool is_mpeg_audio(std::string_view head) {
  const std::size_t frame = frame_bytes(head);
  if (frame == 0) return false;
  return frame + 4 > head.size() || frame_bytes(head.substr(frame)) != 0;
}

// The size of the ID3v2 tag at the beginning of `head`, from the tag's header.
std::size_t tag_bytes(std::string_view head) {
  constexpr std::size_t kTagHead = 10;
  if (head.size() < kTagHead) return head.size();
  std::size_t size = 0;
  for (std::size_t at = 6; at < kTagHead; ++at) size = size << 7 | (octet(head, at) & 0x7fu);
  return size + kTagHead;
}

// The format after an ID3v2 tag: FLAC if its signature follows, otherwise MP3.
AudioFormat behind_tag(std::string_view head) {
  const std::size_t tag = std::min(tag_bytes(head), head.size());
  return head.substr(tag).starts_with("fLaC") ? AudioFormat::kFlac : AudioFormat::kMp3;
}

bool is_wav(std::string_view head) {
  const bool riff = head.starts_with("RIFF") || head.starts_with("RF64");
  return riff && head.size() >= 12 && head.substr(8, 4) == "WAVE";
}

// The document type is within the first bytes of the EBML header.
bool is_webm(std::string_view head) {
  constexpr std::size_t kEbmlHead = 64;
  return head.starts_with("\x1a\x45\xdf\xa3"sv) &&
         head.substr(0, kEbmlHead).find("webm") != std::string_view::npos;
}

}  // namespace

std::optional<AudioFormat> detect_audio(std::string_view head) {
  head = head.substr(0, kAudioHeadBytes);
  if (head.starts_with("fLaC")) return AudioFormat::kFlac;
  if (head.starts_with("OggS")) return AudioFormat::kOgg;
  if (head.starts_with("ID3")) return behind_tag(head);
  if (is_wav(head)) return AudioFormat::kWav;
  if (is_webm(head)) return AudioFormat::kWebm;
  if (head.starts_with("\0\0\1\xba"sv)) return AudioFormat::kMpeg;
  if (head.size() >= 12 && head.substr(4, 4) == "ftyp") return AudioFormat::kMp4;
  if (is_mpeg_audio(head)) return AudioFormat::kMp3;
  return std::nullopt;
}

std::string_view name(AudioFormat format) { return kAudioRows[static_cast<std::size_t>(format)].name; }

std::string_view mime(AudioFormat format) { return kAudioRows[static_cast<std::size_t>(format)].mime; }

std::optional<AudioFormat> audio_format_named(std::string_view name) {
  for (const AudioRow& row : kAudioRows) {
    if (row.name == name) return row.format;
  }
  return std::nullopt;
}

std::string_view audio_format_names() { return "flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav and webm"; }

}  // namespace millrace::schemas
