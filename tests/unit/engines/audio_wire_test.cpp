#include <gtest/gtest.h>

#include "ai/engines/protocol/wire.h"

namespace millrace::engines {
namespace {

using base::Code;
using schemas::SpeechEncoding;

TEST(AudioWire, RequestsSurviveTheRoundTrip) {
  Request request;
  request.kind = Request::Kind::kTranscribe;
  request.pieces = {{3, 60'000, 110'000}};
  auto back = decode_request(encode(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->pieces.at(0).index, 3);
  EXPECT_EQ(back->pieces.at(0).end_ms, 110'000);
  request.kind = Request::Kind::kSpeak;
  request.speech = {"caf\u00e9", "rms", SpeechEncoding::kFlac, 1.5, true, 7, true};
  back = decode_request(encode(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->speech.text, "caf\u00e9");
  EXPECT_EQ(back->speech.encoding, SpeechEncoding::kFlac);
  EXPECT_EQ(back->speech.speed, 1.5);
  EXPECT_TRUE(back->speech.with_model && back->speech.is_english);
  EXPECT_EQ(back->speech.speaker, 7);
  request.kind = Request::Kind::kOpenRecording;
  request.format = schemas::AudioFormat::kWebm;
  request.size_bytes = 77;
  back = decode_request(encode(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->format, schemas::AudioFormat::kWebm);
  EXPECT_EQ(back->size_bytes, 77U);
}

TEST(AudioWire, RequestsForAModelSurviveTheRoundTrip) {
  Request request;
  request.kind = Request::Kind::kOpenModel;
  request.layout = SpeechModelLayout::kNemoCtc;
  auto back = decode_request(encode(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, Request::Kind::kOpenModel);
  EXPECT_EQ(back->layout, SpeechModelLayout::kNemoCtc);
  request.kind = Request::Kind::kModelFile;
  request.role = "encoder";
  request.path = "/models/encoder.ort";
  request.file_is_sent = true;
  back = decode_request(encode(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->role, "encoder");
  EXPECT_EQ(back->path, "/models/encoder.ort");
  EXPECT_TRUE(back->file_is_sent);
  request.kind = Request::Kind::kListen;
  request.piece_ms_max = kModelPieceMsMax;
  back = decode_request(encode(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->piece_ms_max, kModelPieceMsMax);
  request.kind = Request::Kind::kTranscribe;
  request.with_model = true;
  request.options = {"de", true, SpeakerTask::kOneVoice};
  back = decode_request(encode(request));
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->with_model);
  EXPECT_EQ(back->options, request.options);
  EXPECT_FALSE(decode_request(R"({"op":"open_model","layout":9})"));
  EXPECT_FALSE(decode_request(R"({"op":"transcribe","pieces":[],"with_model":true,"language":"",)"
                              R"("translate":false,"speakers":3})"));
  EXPECT_FALSE(decode_request(R"({"op":"open_model","layout":-1})"));
}

TEST(AudioWire, APieceWithTooManyVoicesIsNotAccepted) {
  const auto is_accepted = [](std::size_t voices, std::size_t dimensions) {
    Event event;
    event.kind = Event::Kind::kPiece;
    event.piece.piece.voices.resize(voices, {std::vector<float>(dimensions, 0.5F), 1});
    return decode_event(encode(event)).has_value();
  };
  EXPECT_TRUE(is_accepted(kPieceVoicesMax, 4));
  EXPECT_FALSE(is_accepted(kPieceVoicesMax + 1, 4));
  EXPECT_TRUE(is_accepted(1, kVoiceDimensionsMax));
  EXPECT_FALSE(is_accepted(1, kVoiceDimensionsMax + 1));
}

TEST(AudioWire, TranscriptsSurviveTheRoundTrip) {
  Event event;
  event.kind = Event::Kind::kPiece;
  event.piece.index = 5;
  event.piece.piece.words = {{"hello", 60.25, 60.75}};
  schemas::TranscriptSegment& segment = event.piece.piece.segments.emplace_back();
  segment.text = "Hello \xff";
  segment.seek = 6'025;
  event.cpu = std::chrono::milliseconds(1'234);
  auto back = decode_event(encode(event));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->piece.index, 5);
  EXPECT_EQ(back->cpu, event.cpu);
  EXPECT_EQ(back->piece.piece.words.at(0).start, 60.25);
  EXPECT_EQ(back->piece.piece.segments.at(0).seek, 6'025);
  EXPECT_FALSE(back->piece.voices_error);
  event.piece.voices_error = base::error(Code::kOutOfMemory, "raise stt.memory");
  event.piece.voices_error->details = "bad_alloc";
  back = decode_event(encode(event));
  ASSERT_TRUE(back && back->piece.voices_error);
  EXPECT_EQ(back->piece.voices_error->code, Code::kOutOfMemory);
  EXPECT_EQ(back->piece.voices_error->details, "bad_alloc");
  event.piece.piece = {};
  event.piece.piece.error = base::error(Code::kPieceFailed, "deaf");
  back = decode_event(encode(event));
  ASSERT_TRUE(back && back->piece.piece.error);
  EXPECT_EQ(back->piece.piece.error->code, Code::kPieceFailed);
}

TEST(AudioWire, SoundCrossesAsItIs) {
  Event event;
  event.kind = Event::Kind::kAudio;
  for (int c = 0; c < 256; ++c) event.audio += static_cast<char>(c);
  const std::string frame = encode(event);
  EXPECT_EQ(frame.size(), 257U);
  auto back = decode_event(frame);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, Event::Kind::kAudio);
  EXPECT_EQ(back->audio, event.audio);
}

TEST(AudioWire, AReportedProcessorTimeIsNeitherNegativeNorEndless) {
  EXPECT_EQ(decode_event(R"({"ev":"done","cpu":-5})")->cpu, std::chrono::milliseconds(0));
  EXPECT_EQ(decode_event(R"({"ev":"done","cpu":9000000000000000000})")->cpu, std::chrono::hours(1));
  EXPECT_FALSE(decode_event(R"({"ev":"done","cpu":"x"})"));
}

TEST(AudioWire, WhatDoesNotParseIsAnError) {
  for (const std::string frame :
       {R"({"ev":"piece"})", R"({"ev":"piece","index":1,"outcome":"{"})",
        R"({"ev":"piece","index":1,"outcome":7})", R"({"ev":"recording","ms":"x","pieces":[]})",
        R"({"ev":"recording","ms":1,"pieces":[[1]]})"}) {
    EXPECT_FALSE(decode_event(frame)) << frame;
  }
  EXPECT_FALSE(decode_request(R"({"op":"speak","speech":{"text":"a","voice":"slt","encoding":9,"speed":1,)"
                              R"("with_model":false,"speaker":0,"is_english":false}})"));
  EXPECT_FALSE(decode_request(R"({"op":"open_recording","format":"m3u8","bytes":1})"));
}

}  // namespace
}  // namespace millrace::engines
