#include "tests/unit/api/audio.h"

#include "tests/support/wait_until.h"

namespace millrace::api::test {

FormText& FormText::field(std::string_view name, std::string_view value) {
  text_.append("--").append(boundary_).append("\r\nContent-Disposition: form-data; name=\"").append(name);
  text_.append("\"\r\n\r\n").append(value).append("\r\n");
  return *this;
}

FormText& FormText::file(std::string_view content, std::string_view file_name, std::string_view name) {
  text_.append("--").append(boundary_).append("\r\nContent-Disposition: form-data; name=\"").append(name);
  text_.append("\"; filename=\"").append(file_name);
  text_.append("\"\r\nContent-Type: application/octet-stream\r\n\r\n").append(content).append("\r\n");
  return *this;
}

std::string wav_of(std::size_t bytes) {
  std::string out("RIFF\x24\0\0\0WAVEfmt ", 16);
  for (std::size_t at = out.size(); at < bytes; ++at) out += static_cast<char>(at * 7919 >> 3);
  out.resize(bytes);
  return out;
}

FormText good_form(std::size_t bytes) { return FormText().field("model", "whisper-1").file(wav_of(bytes)); }

std::string result_text(schemas::TranscriptFormat form) {
  schemas::Transcript said;
  said.language = "english";
  said.seconds = 2.5;
  said.text = "The mill turns. It never stops.";
  said.segments.emplace_back().text = " The mill turns.";
  said.segments.back().end = 1.25;
  return schemas::to_json(said, {.form = form});
}

std::string piece_text(const std::string& text) {
  schemas::TranscriptPiece piece;
  piece.segments.emplace_back().text = text;
  return schemas::to_json(piece);
}

Answer Audio::send_form(const std::string& path, const FormText& form, const std::string& headers) {
  return send({.method = "POST",
               .path = path,
               .key = owner,
               .headers = headers,
               .body = form.text(),
               .type = form.type()});
}

storage::ClaimedJob Audio::claimed() {
  std::optional<storage::ClaimedJob> job;
  EXPECT_TRUE(support::wait_until([&] { return (job = claim(schemas::Kind::kStt)).has_value(); }));
  return job.value();
}

}  // namespace millrace::api::test
