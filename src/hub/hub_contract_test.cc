// The store's contract, over the real client, real TCP and the real loop.

#include <memory>
#include <utility>

#include "hub/open_core.h"
#include "store/contract.h"
#include "stores/hub/hub_store.h"
#include "testing/certificate.h"
#include "testing/hub.h"
#include "testing/temp_folder.h"

namespace dunlin::hub {
namespace {

class HubSubject : public StoreSubject {
 public:
  explicit HubSubject(std::unique_ptr<Core> core) { start(nullptr, std::move(core)); }

  std::unique_ptr<Store> connect() override { return open(); }
  std::unique_ptr<Store> connect_twice() override { return twice(open()); }
  bool waits() const override { return true; }

  // The clock skips, and another connection makes the loop look at it.
  void wait(Millis time) override {
    hub_->skip(time);
    open();
  }

 protected:
  HubSubject() = default;
  void start(const net::TlsContext* tls, std::unique_ptr<Core> core) {
    hub_ = std::make_unique<TestHub>(net::ServerLimits(), tls, std::move(core));
  }
  void stop() { hub_.reset(); }

  std::string tls_ca;  // Given if the hub speaks TLS.

 private:
  std::unique_ptr<stores::HubStore> open() const {
    const stores::HubAddress address = {"127.0.0.1", hub_->address().port(), !tls_ca.empty()};
    const stores::HubOptions options = {.token = std::string(TestHub::kToken), .tls_ca = tls_ca};
    Result<std::unique_ptr<stores::HubStore>> store =
        stores::open_hub(address, options, posix_clock());
    CHECK(store.ok());
    return std::move(store).value();
  }

  std::unique_ptr<TestHub> hub_;
};

class TlsHubSubject final : public HubSubject {
 public:
  TlsHubSubject() {
    tls_ca = certificate_.cert_file();
    start(&context_, memory_core());
  }
  ~TlsHubSubject() override { stop(); }

 private:
  TestCertificate certificate_{"IP:127.0.0.1"};
  net::TlsContext context_ =
      net::TlsContext::server(certificate_.cert_file(), certificate_.key_file()).value();
};

// The hub that users run: the durable engine on a real disk.
class DurableHubSubject final : public HubSubject {
 public:
  DurableHubSubject() : DurableHubSubject(std::make_unique<TestFolder>()) {}
  ~DurableHubSubject() override { stop(); }

 private:
  explicit DurableHubSubject(std::unique_ptr<TestFolder> folder)
      : HubSubject(open_core({.folder = folder->path()}, posix_clock().now()).value()),
        folder_(std::move(folder)) {}

  const std::unique_ptr<TestFolder> folder_;
};

std::unique_ptr<StoreSubject> hub() { return std::make_unique<HubSubject>(memory_core()); }
std::unique_ptr<StoreSubject> tls_hub() { return std::make_unique<TlsHubSubject>(); }
std::unique_ptr<StoreSubject> durable_hub() { return std::make_unique<DurableHubSubject>(); }

INSTANTIATE_TEST_SUITE_P(Hub, StoreContract, testing::Values(&hub));
INSTANTIATE_TEST_SUITE_P(Hub, WaitingContract, testing::Values(&hub));
INSTANTIATE_TEST_SUITE_P(TlsHub, StoreContract, testing::Values(&tls_hub));
INSTANTIATE_TEST_SUITE_P(TlsHub, WaitingContract, testing::Values(&tls_hub));
INSTANTIATE_TEST_SUITE_P(DurableHub, StoreContract, testing::Values(&durable_hub));
INSTANTIATE_TEST_SUITE_P(DurableHub, WaitingContract, testing::Values(&durable_hub));

}  // namespace
}  // namespace dunlin::hub
