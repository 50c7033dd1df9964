// Hints over a real RabbitMQ, at $DUNLIN_TEST_AMQP (tests/e2e/engine_rabbit.sh starts it).

#include <gtest/gtest.h>

#include <algorithm>
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <cstdlib>
#include <fmt/format.h>
#include <thread>

#include "base/env_posix.h"
#include "stores/amqp/amqp_hints.h"

namespace dunlin {
namespace {

constexpr Millis kLong = std::chrono::seconds(20);  // Far more than what is waited for should take.

std::string url() {
  const char* const said = std::getenv("DUNLIN_TEST_AMQP");
  CHECK(said != nullptr);
  return said;
}

amqp::AmqpAddress address_of(const std::string& text) {
  Result<amqp::AmqpAddress> address = amqp::parse_amqp_url(text);
  CHECK(address.ok());
  return std::move(address).value();
}

std::unique_ptr<mixed::Hints> connect() {
  return amqp::amqp_hints(address_of(url()), posix_clock());
}

// A queue that no other test has used.
std::string fresh(std::string_view name) { return fmt::format("{}.{:016x}", name, random_seed()); }

std::string why(const Result<void>& result) { return result.ok() ? "" : result.error().what; }

std::vector<mixed::Hint> take(mixed::Hints& hints, const std::string& queue, size_t max,
                              Millis wait = Millis(0)) {
  Result<std::vector<mixed::Hint>> got = hints.receive(queue, max, wait);
  EXPECT_TRUE(got.ok()) << (got.ok() ? "" : got.error().what);
  return got.ok() ? std::move(got).value() : std::vector<mixed::Hint>{};
}

std::vector<std::string> bytes_of(const std::vector<mixed::Hint>& hints) {
  std::vector<std::string> bytes;
  for (const mixed::Hint& hint : hints) bytes.push_back(hint.bytes);
  std::sort(bytes.begin(), bytes.end());
  return bytes;
}

std::vector<std::string> receipts_of(const std::vector<mixed::Hint>& hints) {
  std::vector<std::string> receipts;
  for (const mixed::Hint& hint : hints) receipts.push_back(hint.receipt);
  return receipts;
}

void send(mixed::Hints& hints, const std::string& queue, const std::vector<std::string>& bytes) {
  const Result<void> sent = hints.send(queue, bytes);
  ASSERT_TRUE(sent.ok()) << why(sent);
}

// As much as another program can do with a queue.
class OtherProgram {
 public:
  OtherProgram() {
    const amqp::AmqpAddress address = address_of(url());
    amqp_socket_t* const socket = amqp_tcp_socket_new(connection_);
    CHECK(amqp_socket_open(socket, address.hosts[0].name.c_str(), address.hosts[0].port) == 0);
    check(amqp_login(connection_, address.vhost.c_str(), 0, 131072, 0, AMQP_SASL_METHOD_PLAIN,
                     address.user.c_str(), address.password.c_str()));
    amqp_channel_open(connection_, 1);
    check(amqp_get_rpc_reply(connection_));
  }
  ~OtherProgram() {
    amqp_connection_close(connection_, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(connection_);
  }
  OtherProgram(const OtherProgram&) = delete;
  OtherProgram& operator=(const OtherProgram&) = delete;

  void declare_classic(const std::string& name) {
    amqp_queue_declare(connection_, 1, amqp_cstring_bytes(name.c_str()), 0, 1, 0, 0,
                       amqp_empty_table);
    check(amqp_get_rpc_reply(connection_));
  }
  void remove(const std::string& name) {
    amqp_queue_delete(connection_, 1, amqp_cstring_bytes(name.c_str()), 0, 0);
    check(amqp_get_rpc_reply(connection_));
  }
  // Of this object only the last call: the channel is closed if there is no such queue.
  bool has_consumer(const std::string& name) {
    const amqp_queue_declare_ok_t* const ok = amqp_queue_declare(
        connection_, 1, amqp_cstring_bytes(name.c_str()), 1, 1, 0, 0, amqp_empty_table);
    return amqp_get_rpc_reply(connection_).reply_type == AMQP_RESPONSE_NORMAL &&
           ok->consumer_count > 0;
  }

 private:
  static void check(const amqp_rpc_reply_t& reply) {
    CHECK(reply.reply_type == AMQP_RESPONSE_NORMAL);
  }
  amqp_connection_state_t connection_ = amqp_new_connection();
};

// There is no event for this.
void wait_for_consumer(const std::string& name) {
  const Instant give_up = posix_clock().now() + kLong;
  while (!OtherProgram().has_consumer(name)) CHECK(posix_clock().now() < give_up);
}

TEST(Amqp, WhatIsSentComesAndSettledIsGone) {
  const std::string queue = fresh("basic");
  {
    const auto hints = connect();
    EXPECT_TRUE(take(*hints, queue, 10).empty());
    send(*hints, queue, {"a", std::string("\0b\xff", 3), ""});
    const std::vector<mixed::Hint> got = take(*hints, queue, 10);
    EXPECT_EQ(bytes_of(got), (std::vector<std::string>{"", std::string("\0b\xff", 3), "a"}));
    EXPECT_TRUE(take(*hints, queue, 10).empty());
    EXPECT_TRUE(hints->settle(queue, receipts_of(got)).ok());
    EXPECT_TRUE(hints->settle(queue, receipts_of(got)).ok());  // Twice is fine.
  }
  EXPECT_TRUE(take(*connect(), queue, 10, Millis(300)).empty());
}

TEST(Amqp, NoMoreThanAskedFor) {
  const std::string queue = fresh("max");
  const auto hints = connect();
  std::vector<std::string> all;
  for (int i = 0; i < 50; ++i) all.push_back(std::to_string(1000 + i));
  send(*hints, queue, all);
  EXPECT_TRUE(take(*hints, queue, 0, kLong).empty());
  EXPECT_EQ(take(*hints, queue, 1).size(), 1U);
  EXPECT_EQ(take(*hints, queue, 7).size(), 7U);
  EXPECT_EQ(take(*hints, queue, 40).size(), 40U);
  EXPECT_EQ(take(*hints, queue, 40).size(), 2U);
}

TEST(Amqp, ManyAndLarge) {
  const std::string queue = fresh("many");
  const auto hints = connect();
  std::vector<std::string> all;
  for (int i = 0; i < 1000; ++i) all.push_back(std::to_string(1000 + i));
  all.insert(all.end(), 20, std::string(hints->bytes_max(), 'x'));
  send(*hints, queue, all);
  std::vector<mixed::Hint> got;
  while (got.size() < all.size()) {
    const std::vector<mixed::Hint> more = take(*hints, queue, 64);
    ASSERT_FALSE(more.empty());
    ASSERT_TRUE(hints->settle(queue, receipts_of(more)).ok());
    got.insert(got.end(), more.begin(), more.end());
  }
  EXPECT_EQ(bytes_of(got), all);
  EXPECT_TRUE(take(*hints, queue, 1).empty());

  const std::vector<std::string> huge = {std::string(hints->bytes_max() + 1, 'x')};
  EXPECT_EQ(hints->send(queue, huge).error().code, Code::invalid);
}

TEST(Amqp, SettledInAnyOrderOthersComeBack) {
  const std::string queue = fresh("order");
  {
    const auto hints = connect();
    send(*hints, queue, {"0", "1", "2", "3", "4", "5"});
    const std::vector<mixed::Hint> got = take(*hints, queue, 6);
    ASSERT_EQ(got.size(), 6U);
    const auto settle = [&](const std::vector<size_t>& which) {
      std::vector<std::string> receipts;
      for (const size_t i : which) receipts.push_back(got[i].receipt);
      EXPECT_TRUE(hints->settle(queue, receipts).ok());
    };
    settle({4, 1});
    settle({2, 0});
    EXPECT_EQ(hints->settle(queue, std::vector<std::string>{"nonsense"}).error().code,
              Code::invalid);
  }
  const auto other = connect();
  std::vector<std::string> back;
  while (back.size() < 2) {
    const std::vector<std::string> more = bytes_of(take(*other, queue, 6, kLong));
    ASSERT_FALSE(more.empty());
    back.insert(back.end(), more.begin(), more.end());
  }
  std::sort(back.begin(), back.end());
  EXPECT_EQ(back, (std::vector<std::string>{"3", "5"}));
  EXPECT_TRUE(take(*other, queue, 6).empty());
}

TEST(Amqp, AWaitingReceiveIsAnsweredByASend) {
  const std::string queue = fresh("waiting");
  for (int round = 0; round < 3; ++round) {
    std::vector<mixed::Hint> got;
    const auto waiting = connect();
    std::thread waiter([&] { got = take(*waiting, queue, 10, kLong); });
    const auto sender = connect();
    send(*sender, "elsewhere", {"no"});  // It is connected, so that only the send is measured.
    const auto quick = connect();
    EXPECT_TRUE(take(*quick, queue, 1).empty());
    wait_for_consumer("dunlin." + queue);
    const Instant began = posix_clock().now();
    send(*sender, queue, {"hello"});
    waiter.join();
    EXPECT_LT(posix_clock().now() - began, Millis(3000));
    ASSERT_EQ(bytes_of(got), std::vector<std::string>{"hello"});
    EXPECT_TRUE(waiting->settle(queue, receipts_of(got)).ok());
    // Nobody waits any more: what is sent now is for whoever asks.
    send(*sender, queue, {"later"});
    const std::vector<mixed::Hint> later = take(*quick, queue, 10);
    EXPECT_EQ(bytes_of(later), std::vector<std::string>{"later"});
    EXPECT_TRUE(quick->settle(queue, receipts_of(later)).ok());
  }
}

TEST(Amqp, AWaitEnds) {
  const auto hints = connect();
  const std::string queue = fresh("patience");
  EXPECT_TRUE(take(*hints, queue, 1).empty());
  const Instant began = posix_clock().now();
  EXPECT_TRUE(take(*hints, queue, 1, Millis(400)).empty());
  EXPECT_GE(posix_clock().now() - began, Millis(400));
  EXPECT_LT(posix_clock().now() - began, Millis(4000));
}

TEST(Amqp, StopWakesWhoWaits) {
  const std::string queue = fresh("stop");
  const auto hints = connect();
  EXPECT_TRUE(take(*hints, queue, 1).empty());
  const Instant began = posix_clock().now();
  std::thread waiter([&] { EXPECT_TRUE(take(*hints, queue, 1, kLong).empty()); });
  wait_for_consumer("dunlin." + queue);
  hints->stop();
  waiter.join();
  EXPECT_TRUE(take(*hints, queue, 1, kLong).empty());
  EXPECT_LT(posix_clock().now() - began, Millis(5000));
  send(*hints, queue, {"still"});
  EXPECT_EQ(take(*hints, queue, 1, kLong).size(), 1U);
}

TEST(Amqp, AnUnsettledHintComesBackWhenItsHolderIsGone) {
  const std::string queue = fresh("holder");
  auto holder = connect();
  send(*holder, queue, {"once"});
  const std::vector<mixed::Hint> held = take(*holder, queue, 1);
  ASSERT_EQ(held.size(), 1U);
  const auto other = connect();
  EXPECT_TRUE(take(*other, queue, 1).empty());
  holder.reset();
  const std::vector<mixed::Hint> back = take(*other, queue, 1, kLong);
  ASSERT_EQ(bytes_of(back), std::vector<std::string>{"once"});
  EXPECT_TRUE(other->settle(queue, receipts_of(back)).ok());
}

TEST(Amqp, NamesWithDotsAndPrefixesAreApart) {
  const std::string queue = fresh("a.b-c_d");
  const auto hints = connect();
  const auto lab = amqp::amqp_hints(address_of(url() + "?prefix=lab.1"), posix_clock());
  send(*lab, queue, {"lab"});
  EXPECT_TRUE(take(*hints, queue, 1).empty());
  send(*hints, queue, {"main"});
  EXPECT_EQ(bytes_of(take(*hints, queue, 9)), std::vector<std::string>{"main"});
  EXPECT_EQ(bytes_of(take(*lab, queue, 9)), std::vector<std::string>{"lab"});
  const auto vhost = amqp::amqp_hints(address_of(url() + "lab.2"), posix_clock());
  EXPECT_TRUE(take(*vhost, queue, 9).empty());
  EXPECT_EQ(hints->send(std::string(300, 'q'), {}).error().code, Code::invalid);
}

TEST(Amqp, ADeletedQueueIsMadeAgain) {
  const std::string queue = fresh("deleted");
  const auto hints = connect();
  OtherProgram other;
  send(*hints, queue, {"gone"});
  other.remove("dunlin." + queue);
  send(*hints, queue, {"x", "y"});
  EXPECT_EQ(bytes_of(take(*hints, queue, 9)), (std::vector<std::string>{"x", "y"}));
  other.remove("dunlin." + queue);
  EXPECT_TRUE(take(*hints, queue, 9).empty());
}

TEST(Amqp, AQueueThatIsDeletedUnderAWaitIsMadeAgain) {
  const std::string queue = fresh("deleted");
  const auto hints = connect();
  std::thread waiter([&] { EXPECT_EQ(take(*hints, queue, 9, kLong).size(), 1U); });
  wait_for_consumer("dunlin." + queue);
  OtherProgram().remove("dunlin." + queue);
  wait_for_consumer("dunlin." + queue);
  send(*connect(), queue, {"z"});
  waiter.join();
}

TEST(Amqp, WhatIsWrongIsSaid) {
  const auto check = [](const std::string& text) {
    const Result<void> checked = amqp::check_amqp(address_of(text), posix_clock());
    EXPECT_EQ(why(checked).find("secret"), std::string::npos) << why(checked);
    return checked;
  };
  const auto with = [](std::string_view user, std::string_view path) {
    const std::string right = url();
    const size_t at = right.find('@');
    return fmt::format("amqp://{}{}{}", user, right.substr(at, right.size() - at - 1), path);
  };
  const auto says = [](const Result<void>& result, Code code, std::string_view words) {
    ASSERT_FALSE(result.ok()) << words;
    EXPECT_EQ(result.error().code, code) << result.error().what;
    EXPECT_NE(result.error().what.find(words), std::string::npos) << result.error().what;
  };
  EXPECT_TRUE(check(url()).ok()) << why(check(url()));
  says(check(with("dunlin:wrong", "/")), Code::denied, "check user and password");
  says(check(with("nobody:secret", "/")), Code::denied, "nobody");
  says(check(with("dunlin:secret", "/no-such")), Code::invalid, "add_vhost no-such");
  says(check(with("poor:secret", "/lab.2")), Code::denied, "set_permissions -p lab.2 poor");
  says(check(with("poor:secret", "/")), Code::denied, "set_permissions -p / poor");
  // After a refusal the channel is opened again.
  const auto poor = amqp::amqp_hints(address_of(with("poor:secret", "/")), posix_clock());
  for (int i = 0; i < 2; ++i) {
    const std::vector<std::string> one = {"x"};
    says(poor->send("q", one), Code::denied, "dunlin.q");
  }
  const std::string queue = fresh("theirs");
  OtherProgram().declare_classic("dunlin." + queue);
  const auto hints = connect();
  for (int i = 0; i < 2; ++i) {
    const std::vector<std::string> one = {"x"};
    says(hints->send(queue, one), Code::invalid, "belongs to another program");
  }
  send(*hints, fresh("ours"), {"x"});
}

TEST(Amqp, AServerThatIsNotThere) {
  const amqp::AmqpAddress nowhere = address_of("amqp://127.0.0.1:1/");
  const Instant began = posix_clock().now();
  const Result<void> checked = amqp::check_amqp(nowhere, posix_clock());
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::unavailable);
  EXPECT_NE(checked.error().what.find("127.0.0.1:1"), std::string::npos);
  const auto hints = amqp::amqp_hints(nowhere, posix_clock());
  EXPECT_EQ(hints->receive("q", 1, Millis(0)).error().code, Code::unavailable);
  EXPECT_TRUE(hints->settle("q", std::vector<std::string>{"1-1"}).ok());
  EXPECT_LT(posix_clock().now() - began, Millis(9000));
  // One that is stopped does not try for long.
  hints->stop();
  const Instant stopped = posix_clock().now();
  EXPECT_EQ(hints->receive("q", 1, kLong).error().code, Code::unavailable);
  EXPECT_LT(posix_clock().now() - stopped, Millis(2000));
}

TEST(Amqp, AnotherHostIsTried) {
  amqp::AmqpAddress address = address_of(url());
  address.hosts.insert(address.hosts.begin(), {"127.0.0.1", 1});
  const auto hints = amqp::amqp_hints(address, posix_clock());
  send(*hints, fresh("failover"), {"x"});
}

// The command, which gets the queue's name, returns when the server was killed and started again.
TEST(AmqpRestart, TheSameObjectWorksAgain) {
  const char* const run = std::getenv("DUNLIN_TEST_RESTART");
  CHECK(run != nullptr);
  const std::string queue = fresh("restart");
  const auto hints = connect();
  send(*hints, queue, {"held", "kept"});
  const std::vector<mixed::Hint> held = take(*hints, queue, 1);
  ASSERT_EQ(held.size(), 1U);
  ASSERT_EQ(std::system(fmt::format("{} dunlin.{}", run, queue).c_str()), 0);
  // That receipt is of the old connection: it means nothing, and the hint comes back.
  static_cast<void>(hints->settle(queue, receipts_of(held)));
  EXPECT_TRUE(hints->settle(queue, receipts_of(held)).ok());
  send(*hints, queue, {"new"});
  std::vector<std::string> got;
  while (got.size() < 3) {
    const std::vector<std::string> more = bytes_of(take(*hints, queue, 9, kLong));
    ASSERT_FALSE(more.empty());
    got.insert(got.end(), more.begin(), more.end());
  }
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (std::vector<std::string>{"held", "kept", "new"}));
}

// At $DUNLIN_TEST_AMQPS, with a certificate of its own.
TEST(AmqpTls, OnlyWhoIsTrusted) {
  const char* const said = std::getenv("DUNLIN_TEST_AMQPS");
  CHECK(said != nullptr);
  const std::string text = said;
  const auto hints = amqp::amqp_hints(address_of(text), posix_clock());
  const std::string queue = fresh("tls");
  send(*hints, queue, {"x", std::string(hints->bytes_max(), 'y')});
  EXPECT_EQ(take(*hints, queue, 9, kLong).size(), 2U);
  EXPECT_TRUE(take(*hints, queue, 9, Millis(300)).empty());

  const std::string without = text.substr(0, text.find('?'));
  const Result<void> strange = amqp::check_amqp(address_of(without), posix_clock());
  ASSERT_FALSE(strange.ok());
  EXPECT_EQ(strange.error().code, Code::denied);
  EXPECT_NE(strange.error().what.find("ca=FILE"), std::string::npos) << strange.error().what;
  amqp::AmqpAddress other_name = address_of(text);
  other_name.hosts[0].name = "localhost";  // The certificate is for the number.
  EXPECT_EQ(amqp::check_amqp(other_name, posix_clock()).error().code, Code::denied);
  const Result<void> no_file =
      amqp::check_amqp(address_of(without + "?ca=/no/such/file"), posix_clock());
  EXPECT_EQ(no_file.error().code, Code::invalid);
  EXPECT_NE(no_file.error().what.find("/no/such/file"), std::string::npos);
  amqp::AmqpAddress plain = address_of(text);
  plain.tls = false;
  EXPECT_EQ(amqp::check_amqp(plain, posix_clock()).error().code, Code::unavailable);
}

}  // namespace
}  // namespace dunlin
