// Requests as messages of wire/dunlin.proto and back.
#include <utility>

#include "wire/convert.h"

namespace dunlin {
namespace {

// One overload for each kind of write: what std::visit calls.
struct WriteWriter {
  wire::Write& to;

  void operator()(const Put& put) const {
    wire::Put& one = *to.mutable_put();
    one.set_table(put.table);
    one.set_key(put.key);
    one.set_value(put.value);
    one.set_version(put.version);
  }
  void operator()(const Erase& erase) const {
    wire::Erase& one = *to.mutable_erase();
    one.set_table(erase.table);
    one.set_key(erase.key);
    one.set_version(erase.version);
  }
  void operator()(const Push& push) const {
    wire::Push& one = *to.mutable_push();
    one.set_queue(push.queue);
    one.mutable_messages()->Reserve(static_cast<int>(push.messages.size()));
    for (const Message& message : push.messages) {
      wire::Message& next = *one.add_messages();
      next.set_id(message.id);
      next.set_body(message.body);
    }
  }
  void operator()(const Finish& finish) const {
    to.mutable_finish()->set_queue(finish.queue);
    to.mutable_finish()->set_strict(finish.strict);
    put_leases(finish.leases, *to.mutable_finish()->mutable_leases());
  }
  void operator()(const Keep& keep) const {
    wire::Keep& one = *to.mutable_keep();
    one.set_queue(keep.queue);
    one.mutable_lease()->set_id(keep.lease.id);
    one.mutable_lease()->set_token(keep.lease.token);
    one.set_step(keep.step);
    one.set_note(keep.note);
    one.set_hold_ms(keep.hold.count());
  }
};

Result<Write> write_from(wire::Write& from) {
  switch (from.op_case()) {
    case wire::Write::kPut: {
      wire::Put& put = *from.mutable_put();
      return Write(Put{.table = std::move(*put.mutable_table()),
                       .key = std::move(*put.mutable_key()),
                       .value = std::move(*put.mutable_value()),
                       .version = put.version()});
    }
    case wire::Write::kErase: {
      wire::Erase& erase = *from.mutable_erase();
      return Write(Erase{.table = std::move(*erase.mutable_table()),
                         .key = std::move(*erase.mutable_key()),
                         .version = erase.version()});
    }
    case wire::Write::kPush: {
      wire::Push& push = *from.mutable_push();
      TRY(check_count(push.messages_size(), "messages"));
      return Write(Push{.queue = std::move(*push.mutable_queue()),
                        .messages = take_all(*push.mutable_messages(), [](wire::Message& one) {
                          return Message{.id = std::move(*one.mutable_id()),
                                         .body = std::move(*one.mutable_body())};
                        })});
    }
    case wire::Write::kFinish: {
      wire::Finish& finish = *from.mutable_finish();
      return Write(Finish{.queue = std::move(*finish.mutable_queue()),
                          .leases = TRY(leases_from(*finish.mutable_leases())),
                          .strict = finish.strict()});
    }
    case wire::Write::kKeep: {
      wire::Keep& keep = *from.mutable_keep();
      return Write(Keep{.queue = std::move(*keep.mutable_queue()),
                        .lease = lease_from(*keep.mutable_lease()),
                        .step = keep.step(),
                        .note = std::move(*keep.mutable_note()),
                        .hold = Millis(keep.hold_ms())});
    }
    case wire::Write::OP_NOT_SET:
      break;
  }
  return Error{Code::invalid, "a write of a kind that this release does not know"};
}

Result<Request> commit_from(wire::Commit& from) {
  TRY(check_count(from.writes_size(), "writes"));
  Commit commit{.nonce = from.nonce(), .writes = {}};
  commit.writes.reserve(static_cast<size_t>(from.writes_size()));
  for (wire::Write& write : *from.mutable_writes()) commit.writes.push_back(TRY(write_from(write)));
  return Request(std::move(commit));
}

Result<Request> get_from(wire::Get& from) {
  TRY(check_count(from.keys_size(), "keys"));
  return Request(
      Get{.table = std::move(*from.mutable_table()),
          .keys = take_all(*from.mutable_keys(), [](std::string& key) { return std::move(key); })});
}

// One overload for each operation: what std::visit calls.
struct RequestWriter {
  wire::Request& to;

  void operator()(const Commit& commit) const {
    wire::Commit& one = *to.mutable_commit();
    one.set_nonce(commit.nonce);
    one.mutable_writes()->Reserve(static_cast<int>(commit.writes.size()));
    for (const Write& write : commit.writes) std::visit(WriteWriter{*one.add_writes()}, write);
  }
  void operator()(const Pull& pull) const {
    wire::Pull& one = *to.mutable_pull();
    one.set_queue(pull.queue);
    one.set_max(pull.max);
    one.set_hold_ms(pull.hold.count());
    one.set_wait_ms(pull.wait.count());
  }
  void operator()(const Renew& renew) const {
    wire::Renew& one = *to.mutable_renew();
    one.set_queue(renew.queue);
    put_leases(renew.leases, *one.mutable_leases());
    one.set_hold_ms(renew.hold.count());
  }
  void operator()(const AskDepth& depth) const { to.mutable_depth()->set_queue(depth.queue); }
  void operator()(const Get& get) const {
    wire::Get& one = *to.mutable_get();
    one.set_table(get.table);
    one.mutable_keys()->Reserve(static_cast<int>(get.keys.size()));
    for (const std::string& key : get.keys) one.add_keys(key);
  }
  void operator()(const Scan& scan) const {
    wire::Scan& one = *to.mutable_scan();
    one.set_table(scan.table);
    one.set_prefix(scan.prefix);
    one.set_after(scan.after);
    one.set_max(scan.max);
  }
  void operator()(const BlobPart& part) const {
    wire::BlobPart& one = *to.mutable_blob_part();
    one.set_upload(part.upload);
    one.set_offset(part.offset);
    one.set_bytes(part.bytes);
  }
  void operator()(const BlobEnd& end) const {
    wire::BlobEnd& one = *to.mutable_blob_end();
    one.set_upload(end.upload);
    one.set_name(end.name);
    one.set_size(end.size);
  }
  void operator()(const BlobGet& get) const {
    wire::BlobGet& one = *to.mutable_blob_get();
    one.set_name(get.name);
    one.set_offset(get.offset);
    one.set_max(get.max);
  }
  void operator()(const BlobErase& erase) const { to.mutable_blob_erase()->set_name(erase.name); }
  void operator()(const BlobList& list) const {
    wire::BlobList& one = *to.mutable_blob_list();
    one.set_prefix(list.prefix);
    one.set_after(list.after);
    one.set_max(list.max);
  }
  void operator()(const AskInfo&) const { to.mutable_info(); }
  void operator()(const EraseAll& erase) const {
    to.mutable_erase_all()->set_table(erase.table);
    to.mutable_erase_all()->set_prefix(erase.prefix);
  }
};

}  // namespace

void to_proto(const Request& request, wire::Request& to) { std::visit(RequestWriter{to}, request); }

Result<Request> request_from(wire::Request& from) {
  switch (from.op_case()) {
    case wire::Request::kCommit:
      return commit_from(*from.mutable_commit());
    case wire::Request::kPull: {
      wire::Pull& pull = *from.mutable_pull();
      return Request(Pull{.queue = std::move(*pull.mutable_queue()),
                          .max = pull.max(),
                          .hold = Millis(pull.hold_ms()),
                          .wait = Millis(pull.wait_ms())});
    }
    case wire::Request::kRenew: {
      wire::Renew& renew = *from.mutable_renew();
      return Request(Renew{.queue = std::move(*renew.mutable_queue()),
                           .leases = TRY(leases_from(*renew.mutable_leases())),
                           .hold = Millis(renew.hold_ms())});
    }
    case wire::Request::kDepth:
      return Request(AskDepth{std::move(*from.mutable_depth()->mutable_queue())});
    case wire::Request::kGet:
      return get_from(*from.mutable_get());
    case wire::Request::kScan: {
      wire::Scan& scan = *from.mutable_scan();
      return Request(Scan{.table = std::move(*scan.mutable_table()),
                          .prefix = std::move(*scan.mutable_prefix()),
                          .after = std::move(*scan.mutable_after()),
                          .max = scan.max()});
    }
    case wire::Request::kBlobPart: {
      wire::BlobPart& part = *from.mutable_blob_part();
      return Request(BlobPart{.upload = part.upload(),
                              .offset = part.offset(),
                              .bytes = std::move(*part.mutable_bytes())});
    }
    case wire::Request::kBlobEnd: {
      wire::BlobEnd& end = *from.mutable_blob_end();
      return Request(BlobEnd{
          .upload = end.upload(), .name = std::move(*end.mutable_name()), .size = end.size()});
    }
    case wire::Request::kBlobGet: {
      wire::BlobGet& get = *from.mutable_blob_get();
      return Request(BlobGet{
          .name = std::move(*get.mutable_name()), .offset = get.offset(), .max = get.max()});
    }
    case wire::Request::kBlobErase:
      return Request(BlobErase{std::move(*from.mutable_blob_erase()->mutable_name())});
    case wire::Request::kBlobList: {
      wire::BlobList& list = *from.mutable_blob_list();
      return Request(BlobList{.prefix = std::move(*list.mutable_prefix()),
                              .after = std::move(*list.mutable_after()),
                              .max = list.max()});
    }
    case wire::Request::kInfo:
      return Request(AskInfo{});
    case wire::Request::kEraseAll: {
      wire::EraseAll& erase = *from.mutable_erase_all();
      return Request(EraseAll{.table = std::move(*erase.mutable_table()),
                              .prefix = std::move(*erase.mutable_prefix())});
    }
    case wire::Request::OP_NOT_SET:
      break;
  }
  return Error{Code::invalid, "a request of a kind that this release does not know"};
}

}  // namespace dunlin
