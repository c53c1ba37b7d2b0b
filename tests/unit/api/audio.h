#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "schemas/media/transcription.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {

// A form as a client writes it.
class FormText {
 public:
  explicit FormText(std::string boundary = "form-boundary") : boundary_(std::move(boundary)) {}
  FormText& field(std::string_view name, std::string_view value);
  FormText& file(std::string_view content, std::string_view file_name = "a.wav",
                 std::string_view name = "file");
  std::string text() const { return text_ + "--" + boundary_ + "--\r\n"; }
  std::string open() const { return text_; }  // its last boundary is missing
  std::string type() const { return "multipart/form-data; boundary=" + boundary_; }

 private:
  std::string boundary_, text_;
};

// Bytes that begin as a WAV does.
std::string wav_of(std::size_t bytes);
// A form that is taken, with a recording of so many bytes.
FormText good_form(std::size_t bytes = 10'000);

// What a worker ends a job with, and stores of a piece.
std::string result_text(schemas::TranscriptForm form = schemas::TranscriptForm::kJson);
std::string piece_text(const std::string& text);

// The API with recordings: the test is the worker.
class Audio : public Served {
 protected:
  Answer transcribe(const FormText& form, const std::string& headers = {}, const std::string& query = {}) {
    return send_form("/v1/audio/transcriptions" + query, form, headers);
  }
  Answer translate(const FormText& form, const std::string& headers = {}) {
    return send_form("/v1/audio/translations", form, headers);
  }
  Answer send_form(const std::string& path, const FormText& form, const std::string& headers);
  // Looked up once, the key is in memory: before, a body waits for that in memory, too.
  void know_key() { EXPECT_EQ(get("/v1/jobs").status, 200); }
  // "422 audio_empty"
  static std::string code(const Answer& answer);
  // A job of kind stt, as soon as there is one.
  storage::Claimed claimed();
  // Files under the blob folder.
  std::vector<std::string> files() const;
  bool leaves_nothing() const;
};

}  // namespace millrace::api::test
