// Slots for tests: a folder that goes away, short ways to assign and to wait for endings. The slots
// are threads; the test uses this from one.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <list>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/check.h"
#include "testing/temp_folder.h"
#include "worker/slots/slots.h"

namespace dunlin {

class TestSlots {
 public:
  static constexpr int kPatienceMs = 60'000;

  explicit TestSlots(worker::SlotOptions options = {}) {
    options.folder = folder();
    if (options.worker_id.empty()) options.worker_id = "worker-1";
    Result<std::unique_ptr<worker::Slots>> started = worker::Slots::start(std::move(options));
    CHECK(started.ok());
    slots_ = std::move(started).value();
  }
  TestSlots(const TestSlots&) = delete;
  TestSlots& operator=(const TestSlots&) = delete;

  worker::Slots& operator*() { return *slots_; }
  worker::Slots* operator->() { return slots_.get(); }
  void stop() { slots_.reset(); }

  const std::string& root() const { return root_.path(); }  // For the test's own files.
  std::string folder() const { return root() + "/worker"; }

  // A spec that lives as long as this.
  model::Spec& spec() { return specs_.emplace_back(); }
  model::Spec& builtin(const std::string& name, int64_t argument = 0) {
    model::Spec& made = spec();
    made.mutable_command()->set_builtin(name);
    made.mutable_inputs()->set_first(argument);
    return made;
  }
  model::Spec& function(const std::string& name, int64_t argument = 0) {
    model::Spec& made = builtin("", argument);
    made.mutable_command()->set_function(name);
    return made;
  }
  model::Spec& command(const std::vector<std::string>& argv) {
    model::Spec& made = spec();
    for (const std::string& word : argv) made.mutable_command()->add_argv(word);
    return made;
  }
  model::Spec& shell(const std::string& line) { return command({"/bin/sh", "-c", line}); }

  uint64_t start(const model::Spec& what) {
    worker::Assignment assignment = {
        .ticket = ++ticket_,
        .job = std::make_shared<worker::JobText>(worker::JobText{"job-1", what}),
        .task = 0,
        .attempt = 2};
    std::vector<worker::Assignment> one;
    one.push_back(std::move(assignment));
    slots_->assign(std::move(one), 1);
    return ticket_;
  }

  bool wait(int timeout_ms = kPatienceMs) {
    pollfd ready = {.fd = slots_->descriptor(), .events = POLLIN, .revents = 0};
    return poll(&ready, 1, timeout_ms) == 1;
  }

  std::vector<worker::Ending> take(size_t count) {
    std::vector<worker::Ending> endings;
    while (endings.size() < count && wait()) {
      std::vector<worker::Ending> more = slots_->take();
      std::move(more.begin(), more.end(), std::back_inserter(endings));
    }
    return endings;
  }

  worker::Ending run(const model::Spec& what) {
    start(what);
    std::vector<worker::Ending> endings = take(1);
    CHECK(endings.size() == 1);
    return std::move(endings.front());
  }
  std::string out_of(const std::string& line) { return run(shell(line)).outcome.out().bytes(); }

  // A pipe with a name, through which a task tells that it has come so far.
  std::string fifo(const std::string& name) {
    std::string path = root() + "/" + name;
    CHECK(mkfifo(path.c_str(), 0600) == 0);
    return path;
  }
  static std::string hear(const std::string& fifo) {
    std::ifstream file(fifo);
    std::string line;
    std::getline(file, line);
    return line;
  }

 private:
  const TestFolder root_;  // Goes after the slots.
  std::list<model::Spec> specs_;
  std::unique_ptr<worker::Slots> slots_;
  uint64_t ticket_ = 0;
};

}  // namespace dunlin
