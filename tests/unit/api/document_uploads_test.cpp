#include <gtest/gtest.h>

#include "schemas/media/ocr.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/audio.h"

namespace millrace::api::test {
namespace {

// POST /v1/ocr with a form, or with the document as the body.
class DocumentUploads : public Served {
 protected:
  Answer send_form(const FormText& form, const std::string& headers = kAsync) {
    return send({.method = "POST",
                 .path = "/v1/ocr",
                 .key = owner,
                 .headers = headers,
                 .body = form.text(),
                 .type = form.type()});
  }
  Answer send_document(const std::string& document, const std::string& query = {},
                       const std::string& type = "application/pdf", const std::string& headers = kAsync) {
    return send({.method = "POST",
                 .path = "/v1/ocr" + query,
                 .key = owner,
                 .headers = headers,
                 .body = document,
                 .type = type});
  }
  schemas::OcrSpec expect_job(std::string_view document) {
    std::optional<storage::ClaimedJob> job;
    EXPECT_TRUE(support::wait_until([&] { return (job = claim()).has_value(); }));
    EXPECT_EQ(*store->blobs().read(job->input.value()), document);
    return schemas::unpack_ocr_spec(job->spec).value();
  }
};

TEST_F(DocumentUploads, AFormIsAJob) {
  start();
  const std::string document = pdf_of(100'000);
  const Answer answer = send_form(FormText()
                                      .field("model", "millrace/ocr")
                                      .field("pages", "0-2,5")
                                      .field("include_image_base64", "true")
                                      .field("metadata", R"({"batch":"b7"})")
                                      .field("table_format", "html")
                                      .file(document, "C:\\scans\\may.pdf"));
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(answer.header("x-millrace-dropped-params"), "table_format");
  EXPECT_EQ(answer.json()["name"], "may.pdf");
  EXPECT_EQ(answer.json()["metadata"]["batch"], "b7");
  const schemas::OcrSpec spec = expect_job(document);
  EXPECT_EQ(spec.model, "millrace/ocr");
  EXPECT_EQ(spec.pages, (schemas::PageList{0, 1, 2, 5}));
  EXPECT_TRUE(spec.include_image_base64);
}

TEST_F(DocumentUploads, TheBodyMayBeTheDocument) {
  start();
  for (const std::size_t size : {std::size_t{9}, std::size_t{1500}, std::size_t{3'000'000}}) {
    const std::string document = pdf_of(size);
    ASSERT_EQ(send_document(document).status, 202) << size;
    EXPECT_EQ(expect_job(document).model, "vendor-ocr-latest");
  }
  const std::string png = "\x89PNG\r\n\x1a\n and so on";
  ASSERT_EQ(send_document(png, "", "application/octet-stream").status, 202);
  expect_job(png);
}

TEST_F(DocumentUploads, TheQueryHasTheParametersOfADocument) {
  start();
  const Answer answer = send_document(
      pdf_of(9), "?pages=1&document_name=may.pdf&metadata=%7B%22a%22%3A%22b%22%7D&table_format=html");
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(answer.header("x-millrace-dropped-params"), "table_format");
  EXPECT_EQ(answer.json()["name"], "may.pdf");
  EXPECT_EQ(answer.json()["metadata"]["a"], "b");
  EXPECT_EQ(expect_job(pdf_of(9)).pages, schemas::PageList{1});
}

TEST_F(DocumentUploads, ParametersOfTheQueryThatBelongToADocumentAreNamedWithOtherBodies) {
  start();
  const Answer answer = post("/v1/ocr?pages=1", ocr_body(pdf_of(9)), kAsync);
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(answer.header("x-millrace-dropped-params"), "pages");
}

TEST_F(DocumentUploads, BadParametersAreRefusedWhereTheyAreAndNothingIsKept) {
  start();
  EXPECT_EQ(send_document(pdf_of(2000), "?pages=last").json()["error"]["param"], "pages");
  EXPECT_EQ(send_document(pdf_of(2000), "?model=none").status, 404);
  EXPECT_EQ(send_document(pdf_of(2000), "?metadata=%5B%5D").status, 422);
  EXPECT_EQ(send_form(FormText().field("pages", "7-1").file(pdf_of(2000))).status, 422);
  EXPECT_EQ(send_form(FormText().field("model", "millrace/ocr")).json()["error"]["param"], "file");
  EXPECT_EQ(send_form(FormText().file(pdf_of(9)).file(pdf_of(9))).status, 422);
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(DocumentUploads, WhatIsNoDocumentIsRefused) {
  start();
  EXPECT_EQ(code(send_document("plain text")), "422 document_unsupported");
  EXPECT_EQ(code(send_form(FormText().file("plain text"))), "422 document_unsupported");
  EXPECT_EQ(code(send_form(FormText().file(""))), "422 document_empty");
  EXPECT_EQ(code(send({.method = "POST",
                       .path = "/v1/ocr",
                       .key = owner,
                       .headers = "Content-Type: application/pdf\r\nContent-Length: 0\r\n"})),
            "422 document_empty");
  Connection client(server->port());
  client.send_text("POST /v1/ocr HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + owner +
                   "\r\nContent-Type: application/pdf\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(code(client.answer()), "422 document_empty");
  EXPECT_EQ(code(send_document(pdf_of((50u << 20) + 1))), "413 document_too_large");
  EXPECT_EQ(send_document(pdf_of(50u << 20)).status, 202);
  EXPECT_EQ(send_document(pdf_of(9), "", "text/plain").status, 415);
  EXPECT_EQ(send_document(pdf_of(9), "", "multipart/form-data").status, 400);
}

TEST_F(DocumentUploads, TheIdempotencyKeyCoversTheDocumentAndItsParameters) {
  start();
  const std::string headers = std::string(kAsync) + "Idempotency-Key: may\r\n";
  const auto job = [&](const std::string& document, const std::string& query) {
    const Answer answer = send_document(document, query, "application/pdf", headers);
    return answer.status == 202 ? answer.header("x-millrace-job") : std::to_string(answer.status);
  };
  const std::string first = job(pdf_of(5000), "?pages=1");
  EXPECT_EQ(job(pdf_of(5000), "?pages=1"), first);
  EXPECT_EQ(job(pdf_of(5001), "?pages=1"), "409");
  EXPECT_EQ(job(pdf_of(5000), "?pages=2"), "409");
}

TEST_F(DocumentUploads, AnUnknownKeyStoresNothing) {
  start();
  EXPECT_EQ(send({.method = "POST",
                  .path = "/v1/ocr",
                  .key = schemas::make_key_text(),
                  .body = pdf_of(3'000'000),
                  .type = "application/pdf"})
                .status,
            401);
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(DocumentUploads, ADocumentIsRefusedWhileItStillComes) {
  start();
  EXPECT_EQ(get("/v1/jobs").status, 200);  // the key is known from now on
  Connection client(server->port());
  client.send_text("POST /v1/ocr HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + owner +
                   "\r\nContent-Type: application/pdf\r\nContent-Length: 20000000\r\n\r\n" +
                   std::string(100'000, 'x'));
  const std::jthread sender([&client] { client.send_text(std::string(19'000'000, 'x')); });
  EXPECT_EQ(code(client.answer()), "422 document_unsupported");
}

}  // namespace
}  // namespace millrace::api::test
