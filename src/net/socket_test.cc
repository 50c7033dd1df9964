#include "net/socket.h"

#include <gtest/gtest.h>

#include <array>
#include <fmt/format.h>
#include <optional>

#include "base/env_posix.h"
#include "testing/listener.h"

namespace dunlin::net {
namespace {

Instant soon() { return posix_clock().now() + Millis(10'000); }

std::string read(Socket& socket) {
  if (!socket.wait(false, soon(), posix_clock()).to_read) return "nothing came";
  std::array<char, 100> bytes{};
  auto size = socket.read_some(bytes);
  return size.ok() ? std::string(bytes.data(), size.value()) : size.error().what;
}

TEST(Socket, CarriesBytesAndTellsTheEnd) {
  const TestListener listener;
  auto socket = Socket::connect("localhost", listener.port(), soon(), posix_clock());
  ASSERT_TRUE(socket.ok()) << socket.error().what;
  Socket client = std::move(socket).value();
  std::optional<TestConnection> server(listener.accept());

  EXPECT_EQ(client.write_some("ping").value(), 4U);
  EXPECT_EQ(server->read(), "ping");
  server->write("pong");
  EXPECT_EQ(read(client), "pong");
  server.reset();
  EXPECT_EQ(read(client),
            fmt::format("localhost:{}: the other side closed the connection", listener.port()));
}

TEST(Socket, DoesNotBlockWhenTheOtherSideDoesNotRead) {
  const TestListener listener;
  Socket client = Socket::connect("127.0.0.1", listener.port(), soon(), posix_clock()).value();
  const TestConnection server = listener.accept();
  std::array<char, 10> none{};
  EXPECT_EQ(client.read_some(none).value(), 0U);
  const std::string bytes(1 << 20, 'x');
  size_t total = 0;
  while (const size_t size = client.write_some(bytes).value()) {
    total += size;
    ASSERT_LT(total, size_t{1} << 30);
  }
  const Socket::Ready ready = client.wait(true, posix_clock().now(), posix_clock());
  EXPECT_FALSE(ready.to_read);
  EXPECT_FALSE(ready.to_write);
}

TEST(Socket, AsksWhetherTheHubRunsIfNothingListens) {
  uint16_t port = 0;
  {
    const TestListener listener;
    port = listener.port();
  }
  const auto socket = Socket::connect("127.0.0.1", port, soon(), posix_clock());
  ASSERT_FALSE(socket.ok());
  EXPECT_EQ(socket.error().code, Code::unavailable);
  EXPECT_EQ(socket.error().what,
            fmt::format("127.0.0.1:{}: connection refused: nothing listens there, is the hub "
                        "running?",
                        port));
}

TEST(Socket, NamesAHostThatCannotBeFound) {
  const auto socket = Socket::connect("no-such-host.invalid", 1, soon(), posix_clock());
  ASSERT_FALSE(socket.ok());
  EXPECT_EQ(socket.error().code, Code::unavailable);
  EXPECT_NE(socket.error().what.find("'no-such-host.invalid'"), std::string::npos)
      << socket.error().what;
}

TEST(Socket, PutsBracketsAroundIpv6) {
  EXPECT_EQ(host_port("::1", 80), "[::1]:80");
  EXPECT_EQ(host_port("hub", 80), "hub:80");
}

}  // namespace
}  // namespace dunlin::net
