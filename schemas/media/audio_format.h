#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::schemas {

// The recordings that transcription takes (docs/design/http-contract.md §5). Told from their bytes, never
// from a name or a declared type. kMpeg is an MPEG program stream, kMp4 everything in an ISO media file (mp4,
// m4a), kMp3 also stands for mpga.
enum class AudioFormat : std::uint8_t { kFlac, kMp3, kMp4, kMpeg, kOgg, kWav, kWebm };

// How much of a file's beginning `detect_audio` looks at.
inline constexpr std::size_t kAudioHeadBytes = 4096;

// `head`: the first bytes of the file (all of it if it is shorter). nullopt: none of ours.
std::optional<AudioFormat> detect_audio(std::string_view head);

std::string_view name(AudioFormat format);  // "flac", "mp3", …
std::string_view mime(AudioFormat format);  // "audio/flac", …
std::optional<AudioFormat> audio_format_named(std::string_view name);
// The names of all of them, as an error lists them.
std::string_view audio_format_names();

}  // namespace millrace::schemas
