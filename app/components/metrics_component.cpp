#include "app/components/metrics_component.h"

#include "api/admission/keys.h"
#include "platform/base/log.h"
#include "platform/base/net_address.h"

namespace millrace::app {

std::string listener_url(const std::string& host, std::uint16_t port) {
  const bool any = host == "0.0.0.0" || host == "::";
  return "http://" + base::NetAddress{any ? "127.0.0.1" : host, port}.str();
}

namespace {

// A scraper connects every few seconds, and few scrapers do so at the same time.
constexpr std::size_t kScrapersMax = 64;

front::Server::Options scraped_at(const Settings& settings) {
  front::Server::Options options;
  options.host = settings.metrics_listen->host;
  options.port = settings.metrics_listen->port;
  options.trusted_proxies = settings.http_trusted_proxies;
  if (settings.http_forwarded) options.forwarded_header = front::ForwardedHeader::kForwarded;
  options.limits.connections_max = kScrapersMax;
  return options;
}

}  // namespace

MetricsComponent::MetricsComponent(const Settings& settings,
                                   api::MetricsApplication::Dependencies dependencies,
                                   const std::string& pepper)
    : host_(settings.metrics_listen->host),
      access_(dependencies, settings.metrics_open, settings.http_hosts, pepper),
      server_(scraped_at(settings), access_) {}

base::Result<std::unique_ptr<MetricsComponent>> MetricsComponent::open(
    const Settings& settings, api::MetricsApplication::Dependencies dependencies) {
  auto pepper = api::pepper_of(dependencies.store);
  if (!pepper) return pepper.error();
  std::unique_ptr<MetricsComponent> component(new MetricsComponent(settings, dependencies, *pepper));
  if (base::Status started = component->server_.start(); !started) {
    base::Error error = started.error();
    error.param = "metrics.listen";
    return error;
  }
  base::log_info("metrics_listening", {{"url", component->url() + "/metrics"}});
  return component;
}

std::string MetricsComponent::url() const { return listener_url(host_, server_.port()); }

}  // namespace millrace::app
