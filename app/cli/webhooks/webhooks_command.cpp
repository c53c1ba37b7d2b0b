#include "app/cli/webhooks/webhooks_command.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/cli/cut_off.h"
#include "app/cli/json_cells.h"

namespace millrace::cli {
namespace {

using nlohmann::json;

constexpr int kWebhookPage = 200;
constexpr std::array<std::size_t, 4> kWebhookColumns{39, 9, 8, 28};
constexpr std::array<std::size_t, 5> kDeliveryColumns{40, 20, 10, 9, 24};
constexpr std::chrono::milliseconds kTestPoll{100};
constexpr std::chrono::seconds kTestWait{90};  // longer than the longest webhooks.timeout

template <std::size_t N>
std::string columns(const std::array<std::size_t, N>& widths, std::array<std::string, N> cells,
                    const std::string& last) {
  std::string out;
  for (std::size_t i = 0; i < N; ++i) out += padded(std::move(cells.at(i)), widths.at(i)) + "  ";
  return out + last;
}

std::string joined(const json& of, const char* key) {
  std::string out;
  for (const json& each : of.value(key, json::array()))
    out.append(out.empty() ? "" : ",").append(plain(each));
  return out.empty() ? "all" : out;
}

std::string webhook_row(const json& webhook) {
  std::string status = text_at(webhook, "url");
  if (const std::string reason = text_at(webhook, "reason"); !reason.empty()) status += "  (" + reason + ")";
  return columns(kWebhookColumns,
                 {text_at(webhook, "id"), text_at(webhook, "status"),
                  std::to_string(webhook.value("pending", std::int64_t{0})),
                  webhook.value("on_request", false) ? "on request" : joined(webhook, "events")},
                 one_line(status));
}

std::string delivery_row(const json& delivery) {
  const auto status = delivery.find("http_status");
  std::string state = text_at(delivery, "state");
  if (status != delivery.end()) state += " " + plain(*status);
  return columns(kDeliveryColumns,
                 {text_at(delivery, "id"), text_at(delivery, "event"),
                  std::to_string(delivery.value("attempts", 0)), state, text_at(delivery, "created_at")},
                 or_dash(one_line(text_at(delivery, "error"))));
}

std::string webhook_path(const std::string& webhook) { return "/v1/webhooks/" + percent_encoded(webhook); }

int print_row(const Client& client, const json& object, std::string (*row)(const json&)) {
  std::cout << (client.options().json ? object.dump() : row(object)) << '\n';
  return finish_output();
}

int print_secret(const Client& client, const json& webhook) {
  if (client.options().json) return print_made(webhook.dump() + '\n', "the webhook exists");
  const std::string id = text_at(webhook, "id");
  return print_made("id:         " + id + "\nsecret:     " + text_at(webhook, "secret") +
                        "\npublic key: " + text_at(webhook, "public_key") + '\n',
                    "webhook " + id + " exists; `millrace webhooks rotate " + id + "` makes another secret");
}

// Prints all pages of a list, at most `limit` rows.
int print_pages(Client& client, const std::string& path, int limit, std::string (*row)(const json&)) {
  int left = limit;
  for (std::string cursor; left > 0;) {
    std::string page = path + "?limit=" + std::to_string(std::min(left, kWebhookPage));
    if (!cursor.empty()) page += "&cursor=" + percent_encoded(cursor);
    const auto answer = client.request("GET", page);
    if (!answer.ok) return fail(answer.error);
    const json items = answer.json->value("items", json::array());
    for (const json& each : items) std::cout << (client.options().json ? each.dump() : row(each)) << '\n';
    left -= static_cast<int>(items.size());
    cursor = text_at(*answer.json, "next_cursor");
    if (cursor.empty()) break;
  }
  return finish_output();
}

// Sends the same request for each webhook; returns the first failure.
int each_webhook(const std::vector<std::string>& webhooks, const char* method, const std::string& body,
                 ClientOptions options) {
  Client client(std::move(options));
  int first_failure = kOk;
  for (const std::string& webhook : webhooks) {
    const auto answer = client.request(method, webhook_path(webhook), body);
    if (!answer.ok) {
      const int code = fail(answer.error);
      if (first_failure == kOk) first_failure = code;
      if (code == kInterrupted || code == kNoConnection) break;
    } else if (client.options().json) {
      std::cout << answer.json->dump() << '\n';
    }
  }
  const int written = finish_output();
  return first_failure == kOk ? written : first_failure;
}

bool has_been_tried(const json& delivery) {
  return text_at(delivery, "state") != "pending" || !text_at(delivery, "error").empty();
}

}  // namespace

int webhooks_add(const WebhookAddRequest& request, ClientOptions options) {
  Client client(std::move(options));
  json body = {{"url", request.url}};
  if (!request.events.empty()) body["events"] = request.events;
  if (!request.kinds.empty()) body["kinds"] = request.kinds;
  const auto answer = client.request("POST", "/v1/webhooks", local_json(body));
  return answer.ok ? print_secret(client, *answer.json) : fail(answer.error);
}

int webhooks_ls(ClientOptions options) {
  Client client(std::move(options));
  if (!client.options().json)
    std::cout << columns(kWebhookColumns, {"ID", "STATUS", "PENDING", "EVENTS"}, "URL") << '\n';
  constexpr int kAll = 1'000'000;
  return print_pages(client, "/v1/webhooks", kAll, &webhook_row);
}

int webhooks_test(const std::string& webhook, ClientOptions options) {
  Client client(std::move(options));
  const auto sent = client.request("POST", webhook_path(webhook) + "/test");
  if (!sent.ok) return fail(sent.error);
  const std::string path =
      webhook_path(webhook) + "/deliveries/" + percent_encoded(text_at(*sent.json, "id"));
  json delivery = *sent.json;
  const auto until = std::chrono::steady_clock::now() + kTestWait;
  while (!has_been_tried(delivery) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kTestPoll);
    const auto answer = client.request("GET", path);
    if (!answer.ok) return fail(answer.error);
    delivery = *answer.json;
  }
  const int printed = print_row(client, delivery, &delivery_row);
  return text_at(delivery, "state") == "delivered" ? printed : kFailed;
}

int webhooks_rm(const std::vector<std::string>& webhooks, ClientOptions options) {
  return each_webhook(webhooks, "DELETE", "", std::move(options));
}

int webhooks_enable(const std::vector<std::string>& webhooks, ClientOptions options) {
  return each_webhook(webhooks, "PATCH", R"({"status":"enabled"})", std::move(options));
}

int webhooks_disable(const std::vector<std::string>& webhooks, ClientOptions options) {
  return each_webhook(webhooks, "PATCH", R"({"status":"disabled"})", std::move(options));
}

int webhooks_rotate(const std::string& webhook, ClientOptions options) {
  Client client(std::move(options));
  const auto answer = client.request("POST", webhook_path(webhook) + "/rotate");
  return answer.ok ? print_secret(client, *answer.json) : fail(answer.error);
}

int webhooks_deliveries(const std::string& webhook, int limit, ClientOptions options) {
  Client client(std::move(options));
  if (!client.options().json) {
    std::cout << columns(kDeliveryColumns, {"ID", "EVENT", "ATTEMPTS", "STATE", "CREATED"}, "ERROR") << '\n';
  }
  return print_pages(client, webhook_path(webhook) + "/deliveries", limit, &delivery_row);
}

int webhooks_redeliver(const std::string& webhook, const std::string& delivery, ClientOptions options) {
  Client client(std::move(options));
  const auto answer = client.request(
      "POST", webhook_path(webhook) + "/deliveries/" + percent_encoded(delivery) + "/redeliver");
  return answer.ok ? print_row(client, *answer.json, &delivery_row) : fail(answer.error);
}

}  // namespace millrace::cli
