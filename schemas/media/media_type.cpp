#include "schemas/media/media_type.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "platform/base/base64.h"
#include "schemas/json/url_text.h"
#include "schemas/media/audio_format.h"

namespace millrace::schemas {
namespace {

using namespace std::string_view_literals;
using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array kSignatures{Pair{"\x89PNG\r\n\x1a\n"sv, "image/png"},
                                 Pair{"\xff\xd8\xff"sv, "image/jpeg"},
                                 Pair{"GIF87a"sv, "image/gif"},
                                 Pair{"GIF89a"sv, "image/gif"},
                                 Pair{"II*\0"sv, "image/tiff"},
                                 Pair{"MM\0*"sv, "image/tiff"},
                                 Pair{"%PDF-"sv, "application/pdf"}};

// Brands of ISO media files (ISO 14496-12); any other brand is a video.
constexpr std::array kBrands{
    Pair{"heic", "image/heic"}, Pair{"heix", "image/heic"}, Pair{"heim", "image/heic"},
    Pair{"heis", "image/heic"}, Pair{"hevc", "image/heic"}, Pair{"mif1", "image/heif"},
    Pair{"msf1", "image/heif"}, Pair{"avif", "image/avif"}, Pair{"avis", "image/avif"},
    Pair{"M4A ", "audio/mp4"},  Pair{"M4B ", "audio/mp4"},  Pair{"qt  ", "video/quicktime"}};

// Other names of the formats that detect_audio finds.
constexpr std::array kSameFormats{Pair{"mpga", "mp3"}, Pair{"mpeg", "mp3"}, Pair{"m4a", "mp4"},
                                  Pair{"aac", "mp4"},  Pair{"mov", "mp4"},  Pair{"opus", "ogg"},
                                  Pair{"oga", "ogg"},  Pair{"wave", "wav"}, Pair{"x-wav", "wav"}};

constexpr std::size_t kUriScheme = 5;          // "data:"
constexpr std::string_view kEnd = ";base64,";  // of the beginning of a data URI

bool is_bmp(std::string_view head) {
  return head.starts_with("BM") && head.size() >= 14 && head.substr(6, 4) == "\0\0\0\0"sv;
}

std::string_view iso_type(std::string_view head) {
  const std::string_view brand = head.substr(8, 4);
  const auto* found = std::ranges::find(kBrands, brand, &Pair::first);
  return found == kBrands.end() ? "video/mp4" : found->second;
}

std::string_view audio_type(std::string_view head) {
  const auto format = detect_audio(head);
  if (!format) return {};
  return format == AudioFormat::kWebm ? "video/webm" : mime(*format);
}

std::string head_of(std::string_view base64) {
  constexpr std::size_t kCharacters = kAudioHeadBytes / 3 * 4;
  base64 = base64.substr(0, kCharacters);
  base64 = base64.substr(0, base64.find('='));
  if (base64.size() % 4 == 1) base64.remove_suffix(1);
  return base::base64_decode(base64).value_or("");
}

std::string_view kind_of(std::string_view type) { return type.substr(0, type.find('/')); }
bool is_recording(std::string_view type) { return kind_of(type) == "audio" || kind_of(type) == "video"; }

// Audio and video may be in the same container: there the declared type is more exact.
std::string_view chosen_type(std::string_view declared, std::string_view detected) {
  if (detected.empty()) return declared == "image/jpg" ? "image/jpeg" : declared;
  const bool is_container =
      kind_of(detected) == "video" || detected == "audio/ogg" || detected == "audio/mp4";
  return is_container && is_recording(declared) ? declared : detected;
}

}  // namespace

std::string_view detect_media_type(std::string_view head) {
  for (const auto& [start, type] : kSignatures) {
    if (head.starts_with(start)) return type;
  }
  if (head.starts_with("RIFF") && head.size() >= 12 && head.substr(8, 4) == "WEBP") return "image/webp";
  if (is_bmp(head)) return "image/bmp";
  if (head.size() >= 12 && head.substr(4, 4) == "ftyp") return iso_type(head);
  return audio_type(head);
}

std::string_view detect_base64_media_type(std::string_view base64) {
  return detect_media_type(head_of(base64));
}

std::string data_uri_media_type(std::string_view uri) {
  const std::string_view head = uri.substr(0, uri.size() - data_uri_base64(uri).value_or("").size());
  std::string type(head.substr(kUriScheme, head.find(';') - kUriScheme));
  std::ranges::transform(type, type.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return type;
}

void correct_data_uri(std::string& uri) {
  if (!has_scheme(uri, "data:")) return;
  const auto base64 = data_uri_base64(uri);
  if (!base64) return;
  const std::string declared = data_uri_media_type(uri);
  const std::string_view type = chosen_type(declared, detect_base64_media_type(*base64));
  const std::size_t head = uri.size() - base64->size(), parameters = uri.find(';');
  std::string correct = std::string("data:").append(type);
  if (type == declared) correct.append(uri, parameters, head - kEnd.size() - parameters);
  correct.append(kEnd);
  if (uri.compare(0, head, correct) != 0) uri.replace(0, head, correct);
}

std::string_view corrected_audio_format(std::string_view declared, std::string_view base64) {
  const auto format = detect_audio(head_of(base64));
  if (!format) return declared;
  const auto* same = std::ranges::find(kSameFormats, declared, &Pair::first);
  const bool is_same = same != kSameFormats.end() && same->second == name(*format);
  return is_same ? declared : name(*format);
}

}  // namespace millrace::schemas
