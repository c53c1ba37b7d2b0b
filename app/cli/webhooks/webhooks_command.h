#pragma once
#include <string>
#include <vector>

#include "app/cli/client.h"

// `millrace webhooks …`: URLs that a gateway sends events to. Each function returns an ExitCode.
namespace millrace::cli {

struct WebhookAddRequest {
  std::string url;
  std::vector<std::string> events, kinds;  // empty: all
};

// Adds a webhook and prints its id, its secret and its public key; the secret is not shown again.
int webhooks_add(const WebhookAddRequest& request, ClientOptions options);
int webhooks_ls(ClientOptions options);
// Sends a test event and waits for the first attempt. kFailed: the receiver did not take it.
int webhooks_test(const std::string& webhook, ClientOptions options);
int webhooks_rm(const std::vector<std::string>& webhooks, ClientOptions options);
int webhooks_enable(const std::vector<std::string>& webhooks, ClientOptions options);
int webhooks_disable(const std::vector<std::string>& webhooks, ClientOptions options);
// Prints the new secret, as `add` does.
int webhooks_rotate(const std::string& webhook, ClientOptions options);
int webhooks_deliveries(const std::string& webhook, int limit, ClientOptions options);
int webhooks_redeliver(const std::string& webhook, const std::string& delivery, ClientOptions options);

}  // namespace millrace::cli
