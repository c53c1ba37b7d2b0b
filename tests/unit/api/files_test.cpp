#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "schemas/machines/machine_file.h"
#include "storage/jobs/job_maintenance.h"
#include "storage/jobs/job_queries.h"
#include "tests/support/answer.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/executions.h"

namespace millrace::api::test {
namespace {

using base::Code;
using schemas::FileAction;
using schemas::FileExit;
using schemas::Kind;

constexpr const char* kAnyType = "application/octet-stream";

// Files of one machine. The test acts as its worker.
class Files : public Executions {
 protected:
  void begin_files(Options options = {}) {
    begin(std::move(options));
    files_ = "/v1/machines/" + id_ + "/files/";
  }
  TestRequest call(const std::string& method, const std::string& path, const std::string& body = {},
                   const std::string& headers = {}) {
    return {.method = method,
            .path = files_ + path,
            .key = owner,
            .headers = headers,
            .body = body,
            .type = kAnyType};
  }
  storage::ClaimedJob wait_for_job() {
    std::optional<storage::ClaimedJob> job;
    EXPECT_TRUE(support::wait_until([&] { return (job = claim(Kind::kExec)).has_value(); }));
    return job.value_or(storage::ClaimedJob{});
  }
  // Sends the call, and ends its execution with this exit code.
  Answer exits(const TestRequest& request, int code, std::int64_t bytes = 0) {
    Connection client(server->port());
    client.send(request);
    const storage::Lease lease = wait_for_job().lease;
    if (code == 0) {
      finish(lease, exit(0, bytes));
    } else {
      fail(lease, Code::kCommandFailed, "exit", exit(code));
    }
    return client.answer();
  }
  bool has_executions(std::size_t count) {
    return support::wait_until([&] { return executions() == count; });
  }
  // The execution did not begin before its deadline.
  void expire(const storage::Lease& lease) {
    support::Answer<storage::ReportResult> done;
    storage::JobOutcomes(*store).expired(lease, {.code = Code::kJobExpired, .message = "too late"}, {},
                                         done.take());
    EXPECT_TRUE(done.wait().has_value());
  }
  std::size_t executions() { return get(root_).json()["items"].size(); }

  std::string files_;
};

TEST_F(Files, ANewFileIsCreatedAndAnExistingOneReplaced) {
  begin_files();
  Connection client(server->port());
  client.send(call("PUT", "data/in%20put.csv", "hello"));
  const storage::ClaimedJob job = wait_for_job();
  const auto spec = schemas::execution_spec_from_json(job.spec).value();
  EXPECT_EQ(spec.file, FileAction::kPut);
  EXPECT_EQ(spec.command, (std::vector<std::string>{"put", "data/in put.csv"}));
  EXPECT_EQ(job.rerun, schemas::Rerun::kAtLeastOnce);
  ASSERT_TRUE(job.input.has_value());
  EXPECT_EQ(store->blobs().read(*job.input).value(), "hello");
  finish(job.lease, exit(0, 1));
  const Answer created = client.answer();
  EXPECT_EQ(created.status, 201) << created.body;
  EXPECT_EQ(created.json()["path"], "data/in put.csv");
  EXPECT_EQ(created.json()["size_bytes"], 5);
  EXPECT_EQ(created.json()["sha256"], "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
  EXPECT_EQ(created.header("x-millrace-job"), job.lease.job.str());
  EXPECT_EQ(exits(call("PUT", "data/in.csv", "hello"), 0).status, 200);
}

TEST_F(Files, AFileMayBeEmpty) {
  begin_files();
  Connection client(server->port());
  client.send(call("PUT", "empty"));
  const storage::ClaimedJob job = wait_for_job();
  EXPECT_FALSE(job.input.has_value());
  finish(job.lease, exit(0, 1));
  EXPECT_EQ(client.answer().json()["size_bytes"], 0);
}

TEST_F(Files, AFileIsReadFromTheArtifactOfItsExecution) {
  begin_files();
  Connection client(server->port());
  client.send(call("GET", "out/table.html"));
  const storage::ClaimedJob job = wait_for_job();
  leave(job.lease, id_, "table.html", "<table>");
  finish(job.lease, exit(0));
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "<table>");
  EXPECT_EQ(answer.header("content-type"), "text/html");
  EXPECT_EQ(answer.header("content-length"), "7");
  EXPECT_EQ(answer.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(answer.header("content-disposition").substr(0, 10), "attachment");
  EXPECT_FALSE(answer.has("accept-ranges")) << "a range would copy the whole file again";
}

TEST_F(Files, ADeletedFileHasNoContent) {
  begin_files();
  const Answer answer = exits(call("DELETE", "a"), 0);
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.body, "");
}

TEST_F(Files, TheExecutionIsDeletedWithTheResponse) {
  begin_files();
  EXPECT_EQ(exits(call("PUT", "a", "x"), 0, 1).status, 201);
  EXPECT_EQ(exits(call("GET", "a"), static_cast<int>(FileExit::kAbsent)).status, 404);
  EXPECT_TRUE(support::wait_until([&] { return executions() == 0; }));
}

TEST_F(Files, AnExecutionThatItsHostFailedIsKept) {
  begin_files();
  Connection client(server->port());
  client.send(call("PUT", "a", "x"));
  fail(wait_for_job().lease, Code::kMachineNotRoutable, "the machine cannot be reached");
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 500);
  EXPECT_NE(answer.body.find("the machine cannot be reached"), std::string::npos);
  EXPECT_EQ(executions(), 1u);
}

TEST_F(Files, AReadThatNobodyWaitsForIsCancelledAndDeleted) {
  begin_files();
  Connection waiting(server->port());
  waiting.send(call("GET", "a"));
  ASSERT_TRUE(has_executions(1));
  waiting.close();
  EXPECT_TRUE(has_executions(0));
  EXPECT_FALSE(claim(Kind::kExec).has_value());

  Connection running(server->port());
  running.send(call("GET", "a"));
  const storage::Lease lease = wait_for_job().lease;
  running.close();
  EXPECT_TRUE(support::wait_until([&] {
    const auto job = storage::JobQueries(*store).job("default", lease.job);
    return !job || job->cancel_requested;
  }));
  finish(lease, exit(0));
  support::Answer<int> dropped;
  storage::JobMaintenance(*store).drop_removed(10, dropped.take());
  EXPECT_GE(dropped.wait().value(), 1) << "rows";
  EXPECT_EQ(executions(), 0u);
}

TEST_F(Files, AWriteIsFinishedWithoutItsClientAndThenDeleted) {
  begin_files();
  for (const char* method : {"PUT", "DELETE"}) {
    Connection client(server->port());
    client.send(call(method, "a"));
    const storage::Lease lease = wait_for_job().lease;
    client.close();
    EXPECT_EQ(send({.path = "/health"}).status, 200);
    EXPECT_FALSE(storage::JobQueries(*store).job("default", lease.job)->cancel_requested);
    finish(lease, exit(0));
    EXPECT_TRUE(has_executions(0)) << method;
  }
}

TEST_F(Files, AShutdownEndsAReadAndKeepsAWrite) {
  begin_files();
  Connection reading(server->port()), writing(server->port());
  reading.send(call("GET", "a"));
  ASSERT_TRUE(has_executions(1));
  writing.send(call("PUT", "b", "x"));
  ASSERT_TRUE(has_executions(2));
  service->drain();
  const Answer refused = reading.answer();
  EXPECT_EQ(refused.status, 503);
  const auto id = schemas::JobId::parse(refused.header("x-millrace-job"));
  ASSERT_TRUE(id.has_value());
  EXPECT_TRUE(
      support::wait_until([&] { return !storage::JobQueries(*store).job("default", *id).has_value(); }));
  EXPECT_EQ(writing.answer().status, 504) << "it names the execution, which goes on";
  const auto left = [&] { return claim(Kind::kExec); };
  const auto job = left();
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(schemas::execution_spec_from_json(job->spec)->file, FileAction::kPut);
  EXPECT_FALSE(left().has_value());
}

TEST_F(Files, AnExecutionThatNeverBeganLeavesNothingAndItsKeyIsFree) {
  begin_files();
  for (const char* headers : {"", "Idempotency-Key: put-1\r\n"}) {
    for (int i = 0; i < 2; ++i) {
      Connection client(server->port());
      client.send(call("PUT", "a", "x", headers));
      expire(wait_for_job().lease);
      const Answer busy = client.answer();
      EXPECT_EQ(busy.status, 503) << headers;
      EXPECT_TRUE(busy.has("retry-after")) << headers;
      EXPECT_FALSE(busy.has("idempotent-replayed")) << headers;
      EXPECT_TRUE(has_executions(0)) << "its record is of no more use";
    }
    EXPECT_EQ(exits(call("PUT", "a", "x", headers), 0, 1).status, 201) << headers;
  }
}

TEST_F(Files, AShutdownKeepsAWriteWithoutItsClientAndItIsDeletedWhenItHasEnded) {
  begin_files();
  Connection writing(server->port());
  writing.send(call("PUT", "a", "x"));
  const storage::Lease lease = wait_for_job().lease;
  writing.close();
  EXPECT_EQ(send({.path = "/health"}).status, 200);
  service->drain();
  storage::JobMaintenance maintenance(*store);
  const auto dropped = [&] {
    support::Answer<int> rows;
    maintenance.drop_removed(10, rows.take());
    return rows.wait().value();
  };
  EXPECT_EQ(dropped(), 0) << "it goes on";
  EXPECT_FALSE(storage::JobQueries(*store).job("default", lease.job)->cancel_requested);
  finish(lease, exit(0));
  EXPECT_TRUE(support::wait_until([&] { return dropped() > 0 || executions() == 0; }));
  EXPECT_EQ(executions(), 0u);
}

TEST_F(Files, TheLimitsOfItsOwnerAreNamedWithTheirStatus) {
  begin_files();
  const std::tuple<Code, int, const char*> table[] = {{Code::kQuotaFull, 409, "stored_bytes"},
                                                      {Code::kTooLarge, 413, "100MiB"}};
  for (const auto& [code, status, text] : table) {
    Connection client(server->port());
    client.send(call("GET", "a"));
    fail(wait_for_job().lease, code, text);
    const Answer answer = client.answer();
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_NE(answer.body.find(text), std::string::npos) << answer.body;
    EXPECT_TRUE(has_executions(0));
  }
}

TEST_F(Files, AHeadCopiesNothing) {
  begin_files();
  TestRequest request = call("HEAD", "a");
  const Answer answer = send(request);
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.header("allow").find("HEAD"), std::string::npos) << answer.header("allow");
  EXPECT_EQ(executions(), 0u);
}

TEST_F(Files, EachExitCodeHasItsStatus) {
  begin_files();
  struct Row {
    const char* method;
    FileExit code;
    int status;
    const char* text;
  };
  const Row table[] = {{"GET", FileExit::kLeadsOut, 409, "symbolic link"},
                       {"GET", FileExit::kAbsent, 404, "does not exist"},
                       {"GET", FileExit::kIsFolder, 409, "is a folder"},
                       {"GET", FileExit::kNotAFolder, 409, "not a folder"},
                       {"GET", FileExit::kRefused, 409, "may not read"},
                       {"PUT", FileExit::kRefused, 409, "may not write"},
                       {"DELETE", FileExit::kRefused, 409, "may not write"},
                       {"PUT", FileExit::kIncomplete, 409, "disk is full (storage_gib)"},
                       {"PUT", FileExit::kCutOff, 500, "did not receive all of its bytes"},
                       {"GET", FileExit::kNotRead, 409, "could not be read to its end"},
                       {"GET", FileExit::kSpecial, 409, "regular file"},
                       {"GET", FileExit::kTooLarge, 413, "100MiB"}};
  for (const auto& [method, code, status, text] : table) {
    const Answer answer = exits(call(method, "dir/a"), static_cast<int>(code));
    EXPECT_EQ(answer.status, status) << text;
    EXPECT_NE(answer.body.find(text), std::string::npos) << answer.body;
    EXPECT_NE(answer.body.find("dir/a"), std::string::npos) << answer.body;
    EXPECT_EQ(answer.header("x-should-retry"), "false");
  }
}

TEST_F(Files, AFullDiskSaysSo) {
  begin_files();
  Connection client(server->port());
  client.send(call("PUT", "a", "x"));
  fail(wait_for_job().lease, Code::kOutOfDisk, "the disk is full", exit(75));
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.json()["error_code"], "QUOTA_EXCEEDED");
  EXPECT_NE(answer.body.find("storage_gib"), std::string::npos);
  client.send(call("GET", "a"));
  fail(wait_for_job().lease, Code::kOutOfDisk, "the disk is full",
       exit(static_cast<int>(FileExit::kRefused)));
  EXPECT_EQ(client.answer().body.find("storage_gib"), std::string::npos) << "reading fills no disk";
}

TEST_F(Files, WrongCallsRunNothing) {
  begin_files();
  const auto status = [this](const TestRequest& request) { return send(request).status; };
  for (const char* path :
       {"..%2Fa", "a/../../b", "a%00b", "a/", "/etc/passwd", "%2Fworkspace%2F..%2Fa", "a//b"}) {
    EXPECT_EQ(status(call("PUT", path, "x")), 422) << path;
    EXPECT_EQ(status(call("GET", path)), 422) << path;
    EXPECT_EQ(status(call("DELETE", path)), 422) << path;
  }
  EXPECT_EQ(status(call("PUT", "%ff", "x")), 400) << "not UTF-8";
  EXPECT_EQ(status(call("PUT", "", "x")), 404);
  EXPECT_EQ(status(call("POST", "a", "x")), 405);
  TestRequest form = call("PUT", "a", "--b\r\n");
  form.type = "multipart/form-data; boundary=b";
  const Answer refused = send(form);
  EXPECT_EQ(refused.status, 415);
  EXPECT_NE(refused.body.find("curl -T"), std::string::npos);
  TestRequest elsewhere = call("PUT", "a", "x");
  elsewhere.path = "/v1/machines/dm-01932b6c-8a00-7000-8000-0000000000ff/files/a";
  EXPECT_EQ(status(elsewhere), 404);
  Connection large(server->port());
  large.send_text("PUT " + files_ + "a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + owner +
                  "\r\nContent-Length: 104857601\r\n\r\n");
  EXPECT_EQ(large.answer().status, 413);
  EXPECT_FALSE(claim(Kind::kExec).has_value());
}

TEST_F(Files, ReadingNeedsTheScopeThatRunsCommands) {
  begin_files();
  TestRequest request = call("GET", "a");
  request.key = key({schemas::Scope::kExecRead});
  EXPECT_EQ(send(request).status, 403);
}

TEST_F(Files, ARepeatWithTheSameKeyGetsTheFirstResult) {
  begin_files();
  const std::string again = "Idempotency-Key: put-1\r\n";
  EXPECT_EQ(exits(call("PUT", "a", "x", again), 0, 1).status, 201);
  const Answer repeated = send(call("PUT", "a", "x", again));
  EXPECT_EQ(repeated.status, 201) << repeated.body;
  EXPECT_EQ(repeated.header("idempotent-replayed"), "true");
  EXPECT_EQ(send(call("PUT", "a", "y", again)).status, 409) << "other bytes";
  EXPECT_EQ(executions(), 1u);
}

TEST_F(Files, ARepeatThatComesWhileTheFirstRunsWaitsForIt) {
  begin_files();
  const std::string again = "Idempotency-Key: put-1\r\n";
  Connection first(server->port()), second(server->port());
  first.send(call("PUT", "a", "x", again));
  const storage::Lease lease = wait_for_job().lease;
  second.send(call("PUT", "a", "x", again));
  finish(lease, exit(0, 1));
  EXPECT_EQ(first.answer().status, 201);
  EXPECT_EQ(second.answer().status, 201);
}

}  // namespace
}  // namespace millrace::api::test
