#include "api/webhooks/webhook_sender.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "api/webhooks/webhook_signature.h"
#include "platform/base/log.h"
#include "platform/net/http/http_client.h"
#include "schemas/webhooks/webhook.h"
#include "storage/webhooks/webhook_deliveries.h"

namespace millrace::api {
namespace {

using std::chrono::milliseconds;
using storage::ClaimedDelivery;
using storage::DeliveryOutcome;

constexpr int kDueEndpointsMax = 4'096;  // read at once
constexpr int kGone = 410;
constexpr std::size_t kErrorMax = 512;  // bytes of an error in the log of deliveries

// ± 10 %, so that endpoints that failed together are not all tried again at the same moment.
milliseconds with_jitter(milliseconds pause) {
  static thread_local std::minstd_rand random(std::random_device{}());
  const double factor = std::uniform_real_distribution<double>(0.9, 1.1)(random);
  return milliseconds(static_cast<milliseconds::rep>(static_cast<double>(pause.count()) * factor));
}

// A receiver that is too slow for all attempts is given up after this time, as one that refuses them.
milliseconds longest_retries(const WebhookSender::Options& options) {
  constexpr std::chrono::minutes kSlack{1};
  milliseconds all = kSlack + options.timeout;
  for (const milliseconds pause : options.retries) all += pause + pause / 10 + options.timeout;
  return all;
}

bool is_success(int status) { return status >= 200 && status < 300; }

DeliveryOutcome failed_attempt(std::string why) {
  if (why.size() > kErrorMax) why.resize(kErrorMax);
  return {.delivered = false, .error = std::move(why)};
}

DeliveryOutcome outcome_of_status(int status) {
  if (is_success(status)) return {.delivered = true, .http_status = status};
  std::string why = "the receiver answered " + std::to_string(status);
  if (status >= 300 && status < 400) why += "; redirects are not followed";
  DeliveryOutcome outcome = failed_attempt(std::move(why));
  outcome.http_status = status;
  outcome.is_gone = status == kGone;
  return outcome;
}

}  // namespace

// Used on the loop's thread, except where a function says otherwise.
class WebhookSender::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Dependencies dependencies, Options options)
      : with_(std::move(dependencies)),
        options_(std::move(options)),
        deliveries_(with_.store),
        client_(std::make_unique<net::HttpClient>(with_.loop)),
        delivered_(attempts("delivered")),
        failed_(attempts("failed")) {}

  void start() {
    post([this] { look(); });
  }
  // Any thread.
  void notify() {
    if (!notified_.exchange(true))
      post([this] {
        notified_ = false;
        look();
      });
  }
  // Any thread but the loop's.
  void stop() {
    if (stopped_.exchange(true)) return;
    {
      const std::lock_guard lock(timer_mutex_);
      timer_.cancel();
    }
    std::promise<void> last_task;  // a task that has begun may still use the client
    with_.loop.post([&last_task] { last_task.set_value(); });
    last_task.get_future().wait();
    client_.reset();
  }

 private:
  struct Load {
    int running = 0;
    bool is_failing = false;  // the last attempt failed
  };
  // An attempt that is being sent.
  struct Attempt {
    ClaimedDelivery delivery;
    std::optional<int> status{};  // of the head of the answer
  };

  base::Counter attempts(const char* outcome) {
    return with_.metrics.counter("millrace_webhook_attempts_total", "Attempts to deliver a webhook",
                                 {{"outcome", outcome}});
  }

  // Any thread.
  void post(std::function<void()> task) {
    with_.loop.post([self = shared_from_this(), task = std::move(task)] {
      if (!self->stopped_) task();
    });
  }

  void plan() {
    const std::lock_guard lock(timer_mutex_);
    if (stopped_) return;
    timer_ = with_.loop.after(options_.poll, [self = weak_from_this()] {
      if (const auto there = self.lock(); there && !there->stopped_) there->look();
    });
  }

  // At most one look at a time.
  void look() {
    if (is_looking_) {
      look_again_ = true;
      return;
    }
    is_looking_ = true;
    const bool posted = with_.pool.post(base::Pool::Queue::kQuick, [self = shared_from_this()] {
      if (self->stopped_) return;
      auto due = self->deliveries_.due(kDueEndpointsMax);
      self->post([impl = self.get(), due = due ? *std::move(due) : std::vector<base::Uuid>()]() mutable {
        impl->on_due(std::move(due));
      });
    });
    if (!posted) end_look();
  }

  void end_look() {
    is_looking_ = false;
    if (std::exchange(look_again_, false)) return look();
    plan();
  }

  int free_slots(const base::Uuid& endpoint) const {
    const auto found = load_.find(endpoint);
    if (found == load_.end()) return options_.parallel_per_endpoint;
    return (found->second.is_failing ? 1 : options_.parallel_per_endpoint) - found->second.running;
  }

  void on_due(std::vector<base::Uuid> due) {
    std::shuffle(due.begin(), due.end(), random_);  // none is always the last
    std::vector<storage::DeliveryClaim> claims;
    int left = options_.parallel - running_;
    for (const base::Uuid& endpoint : due) {
      const int count = std::min(left, free_slots(endpoint));
      if (count <= 0) continue;
      claims.push_back({endpoint, count});
      left -= count;
    }
    if (claims.empty()) return end_look();
    deliveries_.claim(std::move(claims), options_.timeout + options_.lease_margin,
                      [self = shared_from_this()](base::Result<std::vector<ClaimedDelivery>> claimed) {
                        auto taken = claimed ? *std::move(claimed) : std::vector<ClaimedDelivery>();
                        self->post([impl = self.get(), taken = std::move(taken)]() mutable {
                          impl->on_claimed(std::move(taken));
                        });
                      });
  }

  void on_claimed(std::vector<ClaimedDelivery> claimed) {
    for (ClaimedDelivery& each : claimed) {
      ++load_[each.endpoint].running;
      ++running_;
      send(std::move(each));
    }
    end_look();
  }

  // The signatures of the present secret and, during a rotation, of the one before. nullopt: secret.key is
  // another one.
  std::optional<std::string> signatures(const ClaimedDelivery& delivery, const SignedMessage& message) const {
    const std::string endpoint = schemas::webhook_id(delivery.endpoint);
    const auto keys = unseal_keys(with_.secret_key, endpoint, delivery.secret);
    if (!keys) return std::nullopt;
    std::string text = webhook_signatures(*keys, message);
    if (delivery.previous_secret.empty()) return text;
    if (const auto previous = unseal_keys(with_.secret_key, endpoint, delivery.previous_secret))
      text.append(" ").append(webhook_signatures(*previous, message));
    return text;
  }

  base::Result<net::HttpRequest> request_of(const ClaimedDelivery& delivery) const {
    auto target = with_.guard->check_url(delivery.url, "url");
    if (!target) return target.error();
    const std::string id = schemas::delivery_id(delivery.id);
    const auto now = with_.store.clock().wall().time_since_epoch();
    const SignedMessage message{.id = id,
                                .timestamp = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                                .body = delivery.payload};
    auto signature = signatures(delivery, message);
    if (!signature)
      return base::error(base::Code::kInternal, "its secret was sealed with another secret.key; rotate it");
    net::HttpRequest request;
    request.method = "POST";
    request.url = target->url;
    request.headers = {{"content-type", "application/json"},
                       {"user-agent", "Millrace-Webhooks"},
                       {"webhook-id", id},
                       {"webhook-timestamp", std::to_string(message.timestamp)},
                       {"webhook-signature", *std::move(signature)}};
    request.body = delivery.payload;
    request.connect_timeout = options_.timeout;
    request.total_timeout = options_.timeout;
    request.stall_timeout = std::chrono::seconds(0);
    request.body_bytes_max = options_.answer_bytes_max;
    request.address_filter = [guard = with_.guard, target = *std::move(target)](const sockaddr& address) {
      return guard->check_address(target, address);
    };
    return request;
  }

  void send(ClaimedDelivery delivery) {
    auto attempt = std::make_shared<Attempt>(Attempt{std::move(delivery)});
    auto request = request_of(attempt->delivery);
    if (!request) return end_attempt(*attempt, failed_attempt(request.error().message));
    net::HttpClient::Handlers handlers;
    handlers.on_head = [attempt](const net::HttpReply& head) { attempt->status = head.status; };
    handlers.on_data = [](std::string_view) { return true; };
    handlers.on_done = [self = shared_from_this(), attempt](base::Result<net::HttpReply> reply) {
      self->on_reply(*attempt, reply);
    };
    client_->start(*std::move(request), std::move(handlers));
  }

  void on_reply(const Attempt& attempt, const base::Result<net::HttpReply>& reply) {
    if (reply) return end_attempt(attempt, outcome_of_status(reply->status));
    const bool is_long = reply.error().code == base::Code::kTooLarge && attempt.status;
    end_attempt(attempt,
                is_long ? outcome_of_status(*attempt.status) : failed_attempt(reply.error().message));
  }

  void end_attempt(const Attempt& attempt, DeliveryOutcome outcome) {
    (outcome.delivered ? delivered_ : failed_).add();
    const ClaimedDelivery& delivery = attempt.delivery;
    const auto tried = static_cast<std::size_t>(delivery.attempt);
    if (!outcome.delivered && !outcome.is_gone && tried <= options_.retries.size())
      outcome.retry_in = with_jitter(options_.retries[tried - 1]);
    outcome.retry_for = longest_retries(options_);
    if (!outcome.delivered && !outcome.retry_in) {
      base::log_warn("webhook_delivery_failed", {{"webhook", schemas::webhook_id(delivery.endpoint)},
                                                 {"delivery", schemas::delivery_id(delivery.id)},
                                                 {"error", outcome.error}});
    }
    const bool failed = !outcome.delivered;
    deliveries_.settle(
        delivery, std::move(outcome),
        [self = shared_from_this(), endpoint = delivery.endpoint, failed](auto&&) {
          self->post([impl = self.get(), endpoint, failed] { impl->on_settled(endpoint, failed); });
        });
  }

  // If the outcome could not be recorded, the lease ends and the delivery is sent again.
  void on_settled(const base::Uuid& endpoint, bool failed) {
    --running_;
    Load& load = load_[endpoint];
    --load.running;
    load.is_failing = failed;
    if (load.running == 0 && !failed) load_.erase(endpoint);
    forget_failing();
    look();
  }

  // Endpoints that failed may have been deleted since.
  void forget_failing() {
    constexpr std::size_t kKnownMax = 4'096;
    if (load_.size() > kKnownMax)
      std::erase_if(load_, [](const auto& each) { return each.second.running == 0; });
  }

  const Dependencies with_;
  const Options options_;
  storage::WebhookDeliveries deliveries_;
  std::unique_ptr<net::HttpClient> client_;
  base::Counter delivered_, failed_;
  std::atomic<bool> stopped_{false}, notified_{false};
  bool is_looking_ = false, look_again_ = false;
  std::map<base::Uuid, Load> load_;  // of endpoints with running or failed attempts
  int running_ = 0;
  std::minstd_rand random_{std::random_device{}()};
  std::mutex timer_mutex_;
  net::Loop::Timer timer_;
};

WebhookSender::WebhookSender(Dependencies dependencies, Options options)
    : impl_(std::make_shared<Impl>(std::move(dependencies), std::move(options))) {}
WebhookSender::~WebhookSender() { stop(); }
void WebhookSender::start() { impl_->start(); }
std::function<void()> WebhookSender::on_recorded() const {
  return [impl = std::weak_ptr<Impl>(impl_)] {
    if (const auto there = impl.lock()) there->notify();
  };
}
void WebhookSender::stop() { impl_->stop(); }

}  // namespace millrace::api
