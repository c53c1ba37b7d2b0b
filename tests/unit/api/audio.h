#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "schemas/media/transcription.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {

// Builds a multipart form as a client sends it.
class FormText {
 public:
  explicit FormText(std::string boundary = "form-boundary") : boundary_(std::move(boundary)) {}
  FormText& field(std::string_view name, std::string_view value);
  FormText& file(std::string_view content, std::string_view file_name = "a.wav",
                 std::string_view name = "file");
  std::string text() const { return text_ + "--" + boundary_ + "--\r\n"; }
  std::string open() const { return text_; }  // without the final boundary
  std::string type() const { return "multipart/form-data; boundary=" + boundary_; }

 private:
  std::string boundary_, text_;
};

// Bytes with the first bytes of a WAV file.
std::string wav_of(std::size_t bytes);
// A valid form with a recording of `bytes` bytes.
FormText good_form(std::size_t bytes = 10'000);

// The result that a worker stores for a job, and the partial result for a piece.
std::string result_text(schemas::TranscriptFormat form = schemas::TranscriptFormat::kJson);
std::string piece_text(const std::string& text);

// The API for recordings. The test acts as the worker.
class Audio : public Served {
 protected:
  Answer transcribe(const FormText& form, const std::string& headers = {}, const std::string& query = {}) {
    return send_form("/v1/audio/transcriptions" + query, form, headers);
  }
  Answer translate(const FormText& form, const std::string& headers = {}) {
    return send_form("/v1/audio/translations", form, headers);
  }
  Answer send_form(const std::string& path, const FormText& form, const std::string& headers);
  // Sends one request, so the key is in the cache. Before that, the server also keeps the request body in
  // memory while it looks up the key.
  void know_key() { EXPECT_EQ(get("/v1/jobs").status, 200); }
  // Waits for a job of kind stt and claims it.
  storage::ClaimedJob claimed();
};

}  // namespace millrace::api::test
