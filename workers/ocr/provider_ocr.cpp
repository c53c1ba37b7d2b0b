#include "workers/ocr/provider_ocr.h"

#include <set>
#include <utility>

#include "ai/inference/media/media.h"
#include "ai/inference/routing/routing.h"
#include "workers/payload.h"
#include "workers/runner.h"

namespace millrace::workers {
namespace {

using engines::EngineResult;

base::Result<std::string> whole_bytes(const engines::Document& document) {
  std::string bytes;
  if (auto read = append_file(bytes, document.fd(), document.size_bytes()); !read) return read.error();
  return bytes;
}

EngineResult cancelled_end() {
  EngineResult end;
  end.kind = EngineResult::Kind::kCancelled;
  return end;
}

EngineResult failed_end(base::Error error) {
  EngineResult end;
  end.kind = EngineResult::Kind::kFailed;
  end.error = std::move(error);
  return end;
}

using OnPage = std::function<void(schemas::OcrPage)>;

void deliver(const std::vector<int>& requested, std::vector<schemas::OcrPage> pages, const OnPage& on_page) {
  std::set<int> left(requested.begin(), requested.end());
  schemas::OcrMembers document;
  for (schemas::OcrPage& page : pages) {
    if (!page.document.empty()) document = std::exchange(page.document, {});
    if (left.erase(page.index) == 0) continue;
    page.document = std::exchange(document, {});
    on_page(std::move(page));
  }
  for (const int index : left) {
    schemas::OcrPage missing;
    missing.index = index;
    missing.error = base::error(base::Code::kPageFailed, "the provider did not return this page");
    on_page(std::move(missing));
  }
}

// One call in progress. Used on the source's loop only. The ChatRun owns it; it does not own the ChatRun.
struct RemoteCall : std::enable_shared_from_this<RemoteCall> {
  RemoteCall(ChatSource the_source, base::Pool& the_pool) : source(the_source), pool(the_pool) {}

  const ChatSource source;
  base::Pool& pool;
  ProviderOcr::Selection selection;
  OnPage on_page;
  std::function<void(EngineResult)> done;
  std::weak_ptr<inference::ChatRun> run;
  bool over = false;

  void end(EngineResult how) {
    if (std::exchange(over, true)) return;
    report_charged();
    if (const auto left = run.lock()) left->cancel();
    selection = {};
    on_page = {};
    std::exchange(done, {})(std::move(how));
  }
  // Once, while the run lives: it is gone when the pages of a good answer have been read.
  void report_charged() {
    const auto on_charged = std::exchange(selection.billing.on_charged, {});
    const auto running = run.lock();
    if (on_charged && running) on_charged(running->charged());
  }
  void on_reply(base::Result<inference::OcrResult> answer) {
    if (over) return;
    report_charged();
    if (answer) return notify_on_pool(std::move(answer->pages));
    const bool cancelled = answer.error().code == base::Code::kJobCancelled;
    end(cancelled ? cancelled_end() : failed_end(std::move(answer.error())));
  }
  // The receiver of pages serialises them to JSON, with images: this must not block the shared loop.
  void notify_on_pool(std::vector<schemas::OcrPage> pages) {
    auto read_pages = std::make_shared<std::vector<schemas::OcrPage>>(std::move(pages));
    auto work = [self = shared_from_this(), read_pages, requested = selection.pages, deliver_page = on_page] {
      auto status = guarded("ocr_pages", [&]() -> base::Status {
        deliver(requested, std::move(*read_pages), deliver_page);
        return {};
      });
      self->source.loop.post([self, status = std::move(status)] {
        self->end(status ? EngineResult() : failed_end(status.error()));
      });
    };
    if (!pool.post_reply(base::Pool::Queue::kLarge, work)) work();
  }
};

providers::OcrCall order_of(const ProviderOcr::Selection& selection) {
  providers::OcrCall order;
  order.media_type = schemas::mime(selection.document->media());
  order.bytes = [document = selection.document] { return whole_bytes(*document); };
  order.pages = selection.pages;
  order.image_data = selection.image_data;
  order.options = selection.options;
  return order;
}

}  // namespace

ProviderOcr::Cancel ProviderOcr::recognise(Selection selection, std::function<void(schemas::OcrPage)> on_page,
                                           std::function<void(EngineResult)> done) const {
  auto call = std::make_shared<RemoteCall>(source_, pool_);
  call->selection = std::move(selection);
  call->on_page = std::move(on_page);
  call->done = std::move(done);
  source_.loop.post([call] {
    if (call->over) return;
    const inference::Chat& chat = call->source.chat;
    const auto model = inference::ocr_model(*chat.registry(), call->selection.model);
    if (!model) return call->end(failed_end(no_remote_model(call->selection.model)));
    call->run =
        inference::MediaClient(chat, call->pool, call->selection.tenant,
                               on_chat_loop(call->source.loop, call->selection.billing.before_sending))
            .read(*model, call->selection.allowed_models, order_of(call->selection),
                  [call](base::Result<inference::OcrResult> answer) { call->on_reply(std::move(answer)); });
  });
  return [call, &loop = source_.loop] { loop.post([call] { call->end(cancelled_end()); }); };
}

}  // namespace millrace::workers
