#include "api/front/multipart.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::front {
namespace {

using base::Code;

struct Part {
  PartHead head;
  std::string content;
  bool ended = false;
  friend bool operator==(const Part&, const Part&) = default;
};

// Records the parts of a form.
struct Kept : FormEvents {
  base::Status part_begins(PartHead head) override {
    parts.push_back({std::move(head), {}, false});
    return {};
  }
  base::Status part_bytes(std::string_view bytes) override {
    parts.back().content.append(bytes);
    return {};
  }
  base::Status part_ends() override {
    parts.back().ended = true;
    return {};
  }
  std::vector<Part> parts;
};

// The result of parsing a form: its parts. If parsing failed, the parts before the error and its message.
struct Read {
  std::vector<Part> parts;
  std::string error;
  friend bool operator==(const Read&, const Read&) = default;
};

Read read(const std::vector<std::string>& pieces, std::string_view boundary = "XX") {
  Kept kept;
  FormReader reader(boundary, kept);
  for (const std::string& piece : pieces) {
    if (const auto done = reader.feed(piece); !done) return {kept.parts, done.error().message};
  }
  const auto done = reader.finish();
  return {kept.parts, done ? "" : done.error().message};
}
Read read(const std::string& form) { return read(std::vector{form}); }

std::string part(const std::string& disposition, const std::string& content, const std::string& more = "") {
  return "--XX\r\nContent-Disposition: form-data; " + disposition + "\r\n" + more + "\r\n" + content + "\r\n";
}
const std::string kEnd = "--XX--\r\n";

PartHead part_head_of(const std::string& disposition) {
  const Read form = read(part(disposition, "x") + kEnd);
  EXPECT_EQ(form.error, "") << disposition;
  return form.parts.empty() ? PartHead{} : form.parts.front().head;
}

std::string error_of(const std::string& form) { return read(form).error; }

TEST(Multipart, FieldsAndFilesComeInTheirOrder) {
  const Read form = read(part("name=\"model\"", "whisper-1") +
                         part("name=\"file\"; filename=\"a.wav\"", "RIFF", "Content-Type: audio/wav\r\n") +
                         part("name=\"empty\"", "") + kEnd);
  EXPECT_EQ(form.error, "");
  ASSERT_EQ(form.parts.size(), 3u);
  EXPECT_EQ(form.parts[0], (Part{{"model", std::nullopt, ""}, "whisper-1", true}));
  EXPECT_EQ(form.parts[1], (Part{{"file", "a.wav", "audio/wav"}, "RIFF", true}));
  EXPECT_EQ(form.parts[2], (Part{{"empty", std::nullopt, ""}, "", true}));
}

TEST(Multipart, ABoundaryCountsOnlyAtTheBeginningOfALineThatEndsBehindIt) {
  for (const std::string content :
       {"a--XX--b", "\r\n--X", "\r\n--XXY\r\n", "\n--XX\n", "\r\r\n-\r\n--\r\n--X", "\r\n--XX-\r\n",
        "\r\n--XX \t x", "\r\n--XX\r", "\r\n--XX\rx", "--XXY", "\r\n", "\r\n\r\n", "-", "\r"}) {
    const Read form = read(part("name=\"a\"", content) + kEnd);
    EXPECT_EQ(form.error, "") << content;
    ASSERT_EQ(form.parts.size(), 1u) << content;
    EXPECT_EQ(form.parts[0].content, content);
  }
}

TEST(Multipart, ABoundaryMayHaveBlanksBehindIt) {
  const Read form = read("--XX \t\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--XX--");
  EXPECT_EQ(form.error, "");
  EXPECT_EQ(form.parts.front().content, "x");
}

TEST(Multipart, APartWithoutContentMayShareItsEmptyLineWithTheBoundary) {
  const Read form = read(
      "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n--XX\r\n"
      "Content-Disposition: form-data; name=b\r\n\r\n\r\n--XX--");
  EXPECT_EQ(form.error, "");
  ASSERT_EQ(form.parts.size(), 2u);
  EXPECT_EQ(form.parts[0].content, "");
  EXPECT_EQ(form.parts[1].content, "");
}

TEST(Multipart, WhatStandsAroundTheFormIsDropped) {
  const std::string form = part("name=a", "x") + kEnd;
  EXPECT_EQ(read("hello\r\n" + form + "and more\r\n--XX\r\n").parts.size(), 1u);
  EXPECT_EQ(read("\r\n" + form).error, "");
  EXPECT_EQ(read("--XX--").error, "");
  EXPECT_EQ(read(std::string(kFormPreambleMax - 2, 'x') + "\r\n" + form).error, "");
  EXPECT_NE(error_of(std::string(kFormPreambleMax + 1, 'x') + "\r\n" + form).find("1024"), std::string::npos);
}

TEST(Multipart, NamesAreQuotedAsClientsQuoteThem) {
  EXPECT_EQ(part_head_of("name=\"a\\\"b\"").name, "a\"b");
  EXPECT_EQ(part_head_of("name=\"a%22b%41\"").name, "a\"b%41");
  EXPECT_EQ(part_head_of("name=plain").name, "plain");
  EXPECT_EQ(part_head_of("name=\"a; filename=b\"").name, "a; filename=b");
  EXPECT_EQ(part_head_of("name=\"a\"; filename=\"C:\\music\\b.mp3\"").file_name, "C:\\music\\b.mp3");
  EXPECT_EQ(part_head_of("name=\"a\"; filename=\"\"").file_name, "");
  EXPECT_EQ(part_head_of("name=\"a\"; filename*=UTF-8''na%C3%AFve.mp3; filename=\"x\"").file_name,
            "na\xc3\xafve.mp3");
  EXPECT_EQ(part_head_of("name=\"a\"; filename=\"x\"; filename*=UTF-8''%G1").file_name, "x");
  EXPECT_EQ(part_head_of("NAME = \"timestamp_granularities[]\"").name, "timestamp_granularities[]");
}

TEST(Multipart, WhatIsNoFormSaysWhy) {
  EXPECT_NE(error_of("").find("boundary is not in it"), std::string::npos);
  EXPECT_NE(error_of("hello").find("boundary is not in it"), std::string::npos);
  EXPECT_NE(error_of(part("name=a", "x")).find("form is incomplete"), std::string::npos);
  EXPECT_NE(error_of("--XX\r\nContent-Disposition: form-data; name=a\r\n").find("form is incomplete"),
            std::string::npos);
  EXPECT_NE(error_of("--XX\r\nContent-Disposition: form-data; name=a\n\nx\r\n" + kEnd).find("CR LF"),
            std::string::npos);
  EXPECT_NE(error_of("--XX\n\nx\n--XX--\n").find("boundary is not in it"), std::string::npos);
  EXPECT_NE(error_of(part("filename=\"a\"", "x") + kEnd).find("no name"), std::string::npos);
  EXPECT_NE(error_of(part("name=\"\"", "x") + kEnd).find("no name"), std::string::npos);
  EXPECT_NE(error_of("--XX\r\n\r\nx\r\n" + kEnd).find("no Content-Disposition"), std::string::npos);
  EXPECT_NE(error_of("--XX\r\nContent-Disposition: inline; name=a\r\n\r\nx\r\n" + kEnd).find("form-data"),
            std::string::npos);
  EXPECT_NE(error_of(part("name=\"a", "x") + kEnd).find("malformed"), std::string::npos);
  EXPECT_NE(error_of("--XX\r\nno colon\r\n\r\nx\r\n" + kEnd).find("malformed"), std::string::npos);
  EXPECT_NE(error_of("--XX\r\nContent-Disposition: form-data; name=a\r\n folded\r\n\r\nx\r\n" + kEnd)
                .find("malformed"),
            std::string::npos);
  EXPECT_NE(error_of(part("name=a", "eA==", "Content-Transfer-Encoding: base64\r\n") + kEnd).find("Encoding"),
            std::string::npos);
  EXPECT_NE(error_of(part("name=a", "x", "Content-Disposition: form-data; name=b\r\n") + kEnd).find("two"),
            std::string::npos);
}

TEST(Multipart, EveryBoundIsNamedByItsError) {
  std::string many;
  for (std::size_t i = 0; i <= kFormPartsMax; ++i) many += part("name=a", "x");
  EXPECT_NE(error_of(many + kEnd).find("32 parts"), std::string::npos);
  EXPECT_EQ(read(many.substr(part("name=a", "x").size()) + kEnd).parts.size(), kFormPartsMax);
  std::string headers;
  for (std::size_t i = 0; i < kPartHeadersMax; ++i) headers += "X-A: b\r\n";
  EXPECT_NE(error_of(part("name=a", "x", headers) + kEnd).find("16 headers"), std::string::npos);
  EXPECT_NE(error_of(part("name=a", "x", "X-A: " + std::string(kPartHeadBytesMax, 'b') + "\r\n") + kEnd)
                .find("8192"),
            std::string::npos);
  EXPECT_NE(error_of("--XX\r\n" + std::string(kPartHeadBytesMax + 1, 'b')).find("8192"), std::string::npos);
  EXPECT_NE(error_of(part("name=" + std::string(kPartNameMax + 1, 'n'), "x") + kEnd).find("256 bytes"),
            std::string::npos);
}

TEST(Multipart, AnErrorOfTheEventsEndsTheReading) {
  struct Refusing : Kept {
    base::Status part_bytes(std::string_view) override { return base::error(Code::kAudioTooLarge, "full"); }
  } events;
  FormReader reader("XX", events);
  const auto fed = reader.feed(part("name=a", "x") + kEnd);
  ASSERT_FALSE(fed.has_value());
  EXPECT_EQ(fed.error().code, Code::kAudioTooLarge);
  EXPECT_EQ(reader.feed("more").error().code, Code::kAudioTooLarge);
  EXPECT_EQ(reader.finish().error().code, Code::kAudioTooLarge);
}

TEST(Multipart, TheBoundaryIsTheContentTypes) {
  EXPECT_EQ(form_boundary("multipart/form-data; boundary=abc").value(), "abc");
  EXPECT_EQ(form_boundary("Multipart/Form-Data; charset=utf-8; Boundary=\"a b:c\"").value(), "a b:c");
  EXPECT_EQ(form_boundary("multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxk").value(),
            "----WebKitFormBoundary7MA4YWxk");
  EXPECT_EQ(form_boundary("application/json").error().code, Code::kUnsupportedType);
  EXPECT_EQ(form_boundary("").error().code, Code::kUnsupportedType);
  for (const std::string bad : {"", "; boundary=", "; boundary=\"\"", "; boundary=\"a", "; boundary=a\"b",
                                "; boundary=\"a \"", "; boundary=a@b"})
    EXPECT_EQ(form_boundary("multipart/form-data" + bad).error().code, Code::kBadRequest) << bad;
  EXPECT_EQ(form_boundary("multipart/form-data; boundary=" + std::string(71, 'a')).error().code,
            Code::kBadRequest);
  EXPECT_TRUE(form_boundary("multipart/form-data; boundary=" + std::string(70, 'a')).has_value());
}

// A random text of tokens that matter to the parser.
std::string random_form(std::mt19937& random) {
  const std::vector<std::string> words{
      "--XX",    "\r\n", "--XX--", "\r", "\n",           "-",
      "x",       "--",   "XX",     " ",  "\r\n--XX\r\n", "Content-Disposition: form-data; name=a",
      "\r\n\r\n"};
  std::string out = random() % 4 == 0 ? "" : part("name=a", "b");
  for (std::size_t count = random() % 24; count > 0; --count) out += words[random() % words.size()];
  return random() % 2 == 0 ? out : out + "\r\n" + part("name=\"z\"; filename=y", "c\r\n--XXd") + kEnd;
}

std::vector<std::string> cut(const std::string& text, std::mt19937& random) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = 1 + random() % (random() % 3 == 0 ? 40 : 3);
    pieces.push_back(text.substr(at, size));
    at += size;
  }
  return pieces;
}

TEST(Multipart, EveryCutOfAFormHasTheSameEvents) {
  std::mt19937 random(7578);
  for (int round = 0; round < 3000; ++round) {
    const std::string form = random_form(random);
    const Read whole = read(form);
    EXPECT_EQ(read(cut(form, random)), whole) << form;
    std::vector<std::string> bytes;
    for (const char c : form) bytes.emplace_back(1, c);
    EXPECT_EQ(read(bytes), whole) << form;
  }
}

TEST(Multipart, BytesOfAnySortAreContentOrAnError) {
  std::mt19937 random(2046);
  for (int round = 0; round < 2000; ++round) {
    std::string form = part("name=\"file\"; filename=a", "abc\r\n--XX", "Content-Type: a/b\r\n") + kEnd;
    for (std::size_t changes = 1 + random() % 6; changes > 0; --changes)
      form[random() % form.size()] = static_cast<char>(random());
    EXPECT_EQ(read(cut(form, random)), read(form)) << form;
  }
}

TEST(Multipart, HostileContentCostsNoMoreThanItsBytes) {
  constexpr std::size_t kBytes = 4u << 20;
  const std::string boundary(kBoundaryMax, '-');
  for (const std::string& repeated :
       {std::string("\r"), std::string("\r\n-"), "\r\n--" + boundary.substr(1)}) {
    std::string content;
    while (content.size() < kBytes) content += repeated;
    Kept kept;
    FormReader reader(boundary, kept);
    ASSERT_TRUE(
        reader.feed("--" + boundary + "\r\nContent-Disposition: form-data; name=a\r\n\r\n").has_value());
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t at = 0; at < content.size(); at += 4096)
      ASSERT_TRUE(reader.feed(std::string_view(content).substr(at, 4096)).has_value());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    ASSERT_TRUE(reader.feed("x\r\n--" + boundary + "--").has_value());
    EXPECT_EQ(kept.parts.front().content.size(), content.size() + 1);
  }
}

}  // namespace
}  // namespace millrace::front
