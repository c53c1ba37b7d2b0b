#pragma once
#include <string>
#include <string_view>

namespace millrace::schemas {

// The media type of an image, recording, video or PDF, by its first bytes; empty: unknown. It never depends
// on a name or a declared type. An ISO or WebM file whose kind of content does not show is a video.
std::string_view detect_media_type(std::string_view head);
// The same for bytes in base64. Decodes only the first of them.
std::string_view detect_base64_media_type(std::string_view base64);

// The media type of a base64 data URI, in lower case; empty: none. REQUIRES: data_uri_base64.
std::string data_uri_media_type(std::string_view uri);
// Writes the beginning of a base64 data URI as "data:TYPE;base64,". TYPE is what the first bytes show, or the
// declared type if they show nothing. The bytes stay. Other text is left unchanged.
void correct_data_uri(std::string& uri);
// The `format` of recorded bytes: what the first bytes show, or `declared` if that is a name of the same
// format or they show nothing.
std::string_view corrected_audio_format(std::string_view declared, std::string_view base64);

}  // namespace millrace::schemas
