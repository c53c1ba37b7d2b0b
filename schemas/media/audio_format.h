#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::schemas {

// The audio formats that transcription accepts (docs/design/http-contract.md §5). They are detected by
// content, never by name or declared type. kMpeg is an MPEG program stream. kMp4 is every ISO media file
// (mp4, m4a). kMp3 includes mpga.
enum class AudioFormat : std::uint8_t { kFlac, kMp3, kMp4, kMpeg, kOgg, kWav, kWebm };

// The number of bytes at a file's beginning that `detect_audio` examines.
inline constexpr std::size_t kAudioHeadBytes = 4096;

// `head`: the first bytes of the file (all of it if it is shorter). nullopt: the format is not supported.
std::optional<AudioFormat> detect_audio(std::string_view head);

std::string_view name(AudioFormat format);  // "flac", "mp3", …
std::string_view mime(AudioFormat format);  // "audio/flac", …
std::optional<AudioFormat> audio_format_named(std::string_view name);
// The names of all formats, for error messages.
std::string_view audio_format_names();

}  // namespace millrace::schemas
