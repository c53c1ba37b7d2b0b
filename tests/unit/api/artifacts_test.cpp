#include <filesystem>

#include <gtest/gtest.h>

#include "platform/base/crypto.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using nlohmann::json;
using schemas::Kind;

// Files that commands left. The test acts as the worker.
class ArtifactsApi : public Served {
 protected:
  void begin(Options options = {}) {
    start(std::move(options));
    machine_ = machine();
    root_ = "/v1/machines/" + machine_;
    execution_ = execute();
    lease_ = claim(Kind::kExec)->lease;
  }
  std::string execute() {
    return post(root_ + "/executions", R"({"command":["true"]})",
                "Idempotency-Key: k" + std::to_string(++keys_) + "\r\n")
        .json()
        .value("execution_id", "");
  }
  // Leaves one file. Returns its path.
  std::string leave_one(const std::string& name, const std::string& content) {
    leave(lease_, machine_, name, content);
    return root_ + "/artifacts/" + get(root_ + "/artifacts").json()["items"][0].value("artifact_id", "");
  }
  Answer content(const std::string& path, const std::string& headers = {}) {
    return get(path + "/content", headers);
  }

  std::string machine_, root_, execution_;
  storage::Lease lease_;
  int keys_ = 0;
};

std::string large_text(std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += std::to_string(out.size()) + "\n";
  out.resize(bytes);
  return out;
}

// Truncates every file of `size` bytes to `left` bytes. Returns their number.
int cut_files(const std::string& folder, std::uintmax_t size, std::uintmax_t left) {
  int cut = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.file_size() != size) continue;
    std::filesystem::resize_file(entry.path(), left);
    ++cut;
  }
  return cut;
}

TEST_F(ArtifactsApi, OneHasItsFieldsAndStandsInItsExecution) {
  begin({.public_url = "https://gw.example"});
  const std::string path = leave_one("report/index.html", "hello");
  finish(
      lease_,
      R"({"exit_code":0,"stdout_bytes":0,"stderr_bytes":0,"stdout_truncated":false,"stderr_truncated":false})");
  const json artifact = get(path).json();
  EXPECT_EQ(artifact["machine_id"], machine_);
  EXPECT_EQ(artifact["execution_id"], execution_);
  EXPECT_EQ(artifact["name"], "report/index.html");
  EXPECT_EQ(artifact["size_bytes"], 5);
  EXPECT_EQ(artifact["mime_type"], "text/html");
  EXPECT_EQ(artifact["sha256"], base::hex(base::sha256("hello")));
  EXPECT_EQ(artifact["download_url"], "https://gw.example" + path + "/content");
  EXPECT_TRUE(artifact.contains("expires_at"));
  const json listed = get(root_ + "/executions/" + execution_).json()["artifacts"];
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["artifact_id"], artifact["artifact_id"]);
  EXPECT_EQ(listed[0]["name"], "report/index.html");
}

TEST_F(ArtifactsApi, AreListedNewestFirstAndByTheirExecution) {
  begin();
  for (const char* name : {"a", "b", "c"}) leave(lease_, machine_, name, name);
  const std::string second = execute();
  leave(claim(Kind::kExec)->lease, machine_, "d", "d");
  const json page = get(root_ + "/artifacts?limit=3").json();
  ASSERT_EQ(page["items"].size(), 3u);
  EXPECT_EQ(page["items"][0]["name"], "d");
  EXPECT_EQ(page["items"][1]["name"], "c");
  const json rest = get(root_ + "/artifacts?cursor=" + page["next_cursor"].get<std::string>()).json();
  EXPECT_EQ(rest["items"].size(), 1u);
  EXPECT_EQ(get(root_ + "/artifacts?execution_id=" + execution_).json()["items"].size(), 3u);
  EXPECT_EQ(get(root_ + "/artifacts?execution_id=" + second).json()["items"].size(), 1u);
  EXPECT_EQ(get(root_ + "/artifacts?execution_id=x").status, 422);
}

TEST_F(ArtifactsApi, TheBytesComeWithTheirTypeAndAsAnAttachment) {
  begin();
  const std::string path = leave_one("a/bericht \"ü\".html", "<script>");
  const Answer answer = content(path);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "<script>");
  EXPECT_EQ(answer.header("content-type"), "text/html");
  EXPECT_EQ(answer.header("content-length"), "8");
  EXPECT_EQ(answer.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(answer.header("content-disposition"),
            "attachment; filename=\"bericht_____.html\"; filename*=UTF-8''bericht%20%22%C3%BC%22.html");
  EXPECT_EQ(answer.header("etag"), '"' + base::hex(base::sha256("<script>")) + '"');
  EXPECT_EQ(answer.header("accept-ranges"), "bytes");
}

TEST_F(ArtifactsApi, EveryAnswerWithBytesOfOneIsAudited) {
  begin();
  const std::string path = leave_one("a.txt", "hello"), id = path.substr(path.rfind('/') + 1);
  const std::string etag = content(path).header("etag");
  EXPECT_EQ(audited(id), std::vector<std::string>{"artifact.download"});
  EXPECT_EQ(content(path, "If-None-Match: " + etag + "\r\n").status, 304);
  EXPECT_EQ(content(path, "Range: bytes=9-\r\n").status, 416);
  Connection request(server->port());
  request.send({.method = "HEAD", .path = path + "/content", .key = owner});
  EXPECT_EQ(request.answer(true).status, 200);
  get(path);
  EXPECT_EQ(audited(id).size(), 1u) << "a response without a body is not audited";
  EXPECT_EQ(content(path, "Range: bytes=0-1\r\n").status, 206);
  remove(path);
  EXPECT_EQ(audited(id),
            (std::vector<std::string>{"artifact.download", "artifact.download", "artifact.delete"}));
}

TEST_F(ArtifactsApi, UnchangedBytesAreNotSentAgain) {
  begin();
  const std::string path = leave_one("a.txt", "hello");
  const std::string etag = content(path).header("etag");
  for (const std::string& sent : {etag, "W/" + etag, "\"x\", " + etag, std::string("*")}) {
    const Answer answer = content(path, "If-None-Match: " + sent + "\r\n");
    EXPECT_EQ(answer.status, 304) << sent;
    EXPECT_EQ(answer.header("etag"), etag);
    EXPECT_TRUE(answer.body.empty());
  }
  EXPECT_EQ(content(path, "If-None-Match: \"x\"\r\n").status, 200);
}

TEST_F(ArtifactsApi, APartIsSentWhereOneIsAskedFor) {
  begin();
  const std::string path = leave_one("a.txt", "0123456789");
  const std::string etag = content(path).header("etag");
  const std::tuple<std::string, std::string, std::string> table[] = {
      {"bytes=0-3", "0123", "bytes 0-3/10"},        {"bytes=8-", "89", "bytes 8-9/10"},
      {"bytes=-3", "789", "bytes 7-9/10"},          {"bytes=5-500", "56789", "bytes 5-9/10"},
      {"bytes=-500", "0123456789", "bytes 0-9/10"},
  };
  for (const auto& [range, bytes, told] : table) {
    const Answer answer = content(path, "Range: " + range + "\r\n");
    EXPECT_EQ(answer.status, 206) << range;
    EXPECT_EQ(answer.body, bytes);
    EXPECT_EQ(answer.header("content-range"), told);
  }
  for (const char* range : {"bytes=3-1", "bytes=0-1,3-4", "lines=0-1", "bytes=a-b", "bytes=-"})
    EXPECT_EQ(content(path, "Range: " + std::string(range) + "\r\n").body, "0123456789") << range;
  EXPECT_EQ(content(path, "Range: bytes=0-1\r\nIf-Range: " + etag + "\r\n").status, 206);
  EXPECT_EQ(content(path, "Range: bytes=0-1\r\nIf-Range: \"x\"\r\n").status, 200);
}

TEST_F(ArtifactsApi, ARangePastTheEndIsRefusedWithTheSize) {
  begin();
  const std::string path = leave_one("a.txt", "0123456789"), empty = leave_one("empty", "");
  for (const auto& [of, size] : {std::pair(path, "10"), std::pair(empty, "0")}) {
    const Answer answer = content(of, "Range: bytes=10-\r\n");
    EXPECT_EQ(answer.status, 416);
    EXPECT_EQ(answer.header("content-range"), "bytes */" + std::string(size));
    EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  }
  EXPECT_EQ(content(empty).status, 200);
  EXPECT_EQ(content(empty).body, "");
}

TEST_F(ArtifactsApi, ALargeOneIsStreamedWholeAndInPart) {
  begin();
  const std::string text = large_text(3'000'000), path = leave_one("large.txt", text);
  const Answer whole = content(path);
  EXPECT_EQ(whole.status, 200);
  EXPECT_TRUE(whole.body == text);
  EXPECT_EQ(whole.header("content-length"), "3000000");
  EXPECT_EQ(whole.header("accept-ranges"), "bytes");
  const Answer part = content(path, "Range: bytes=1000000-2999999\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_TRUE(part.body == text.substr(1'000'000));
  EXPECT_EQ(part.header("content-length"), "2000000");
  EXPECT_EQ(part.header("content-range"), "bytes 1000000-2999999/3000000");
}

TEST_F(ArtifactsApi, AClientThatLeavesMidwayHoldsNothingUp) {
  begin();
  const std::string text = large_text(20'000'000), path = leave_one("large.txt", text);
  for (int i = 0; i < 3; ++i) {
    Connection client(server->port());
    client.send({.path = path + "/content", .key = owner});
    ASSERT_TRUE(client.saw("1000\n"));
  }
  Connection patient(server->port());
  patient.send({.path = path + "/content", .key = owner});
  EXPECT_EQ(get(path).status, 200);  // while the other client has not read a byte
  EXPECT_TRUE(patient.answer().body == text);
}

TEST_F(ArtifactsApi, ALargeOneIsKnownByItsLengthAlsoToHttp10) {
  begin();
  const std::string text = large_text(1'000'000), path = leave_one("large.txt", text);
  const std::string send_request =
      "GET " + path + "/content HTTP/1.0\r\nAuthorization: Bearer " + owner + "\r\n";
  Connection client(server->port());
  client.send_text(send_request + "Connection: keep-alive\r\n\r\n");
  const Answer first = client.answer();
  EXPECT_EQ(first.header("content-length"), "1000000");
  EXPECT_EQ(first.header("connection"), "keep-alive");
  EXPECT_TRUE(first.body == text);
  client.send_text(send_request + "\r\n");
  EXPECT_TRUE(client.answer().body == text);
}

TEST_F(ArtifactsApi, OneWhoseFileIsCutIsRefusedBeforeAByteOfIt) {
  begin();
  const std::string path = leave_one("large.txt", large_text(1'000'000));
  ASSERT_EQ(cut_files(folder.str(), 1'000'000, 300'000), 1);
  EXPECT_EQ(get(path + "/content").status, 500);
}

TEST_F(ArtifactsApi, ALargeOneWhoseFileEndsEarlyCutsTheConnection) {
  constexpr std::size_t kMoreThanSocketsHold = 40'000'000;
  begin();
  const std::string text = large_text(kMoreThanSocketsHold), path = leave_one("large.txt", text);
  Connection client(server->port());
  client.send({.path = path + "/content", .key = owner});
  ASSERT_TRUE(client.saw("1000\n"));  // the file is open and the response is being sent
  ASSERT_EQ(cut_files(folder.str(), kMoreThanSocketsHold, 300'000), 1);
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("content-length"), std::to_string(kMoreThanSocketsHold));
  EXPECT_LT(answer.body.size(), text.size());
  EXPECT_TRUE(text.starts_with(answer.body));
  client.send({.path = path, .key = owner});
  EXPECT_EQ(client.answer().status, 0) << "the connection is closed";
}

TEST_F(ArtifactsApi, AHeadHasTheHeadersOfAGetAndNoBody) {
  begin();
  for (const std::string& path : {leave_one("a.txt", "hello"), leave_one("b.txt", large_text(200'000))}) {
    Connection client(server->port());
    client.send({.method = "HEAD", .path = path + "/content", .key = owner});
    Answer head = client.answer(true);
    client.send({.path = path + "/content", .key = owner});
    Answer whole = client.answer();
    EXPECT_EQ(head.status, 200);
    for (const char* of_its_own : {"date", "x-request-id"}) {
      head.headers.erase(of_its_own);
      whole.headers.erase(of_its_own);
    }
    EXPECT_EQ(head.headers, whole.headers);
    EXPECT_EQ(head.header("content-length"), std::to_string(whole.body.size()));
    EXPECT_EQ(head.header("accept-ranges"), "bytes");
  }
}

TEST_F(ArtifactsApi, ARemovedOneIsGoneAndItsReplyIsKeptForItsKey) {
  begin();
  const std::string path = leave_one("a.txt", "hello"), once = "Idempotency-Key: once\r\n";
  const Answer removed = remove(path, once);
  EXPECT_EQ(removed.status, 200);
  EXPECT_EQ(removed.json()["name"], "a.txt");
  EXPECT_EQ(get(path).status, 404);
  EXPECT_EQ(content(path).status, 404);
  EXPECT_EQ(remove(path, once).body, removed.body);
  EXPECT_EQ(remove(path).status, 404);
}

TEST_F(ArtifactsApi, AreThoseOfTheirMachineAndTenantAlone) {
  begin();
  const std::string path = leave_one("a.txt", "hello"),
                    unknown_client = key(schemas::ScopeSet::all(), "other");
  const std::string id = path.substr(path.rfind('/') + 1);
  const std::string neighbour = "/v1/machines/" + machine() + "/artifacts";
  EXPECT_EQ(get(neighbour).json()["items"].size(), 0u);
  for (const std::string& other : {neighbour + "/" + id, root_ + "/artifacts/art-x"}) {
    EXPECT_EQ(get(other).status, 404) << other;
    EXPECT_EQ(content(other).status, 404) << other;
    EXPECT_EQ(remove(other).status, 404) << other;
  }
  for (const std::string& below : {std::string(), std::string("/content")})
    EXPECT_EQ(send({.path = path + below, .key = unknown_client}).status, 404);
  EXPECT_EQ(send({.method = "DELETE", .path = path, .key = unknown_client}).status, 404);
  EXPECT_EQ(send({.path = root_ + "/artifacts", .key = unknown_client}).status, 404);
  EXPECT_EQ(content(path).status, 200);
}

}  // namespace
}  // namespace millrace::api::test
