// Answers as messages of wire/dunlin.proto and back.
#include <fmt/format.h>
#include <utility>

#include "wire/convert.h"

namespace dunlin {
namespace {

void put_depth(const Depth& depth, wire::Depth& to) {
  to.set_ready(depth.ready);
  to.set_leased(depth.leased);
}

Depth depth_from(const wire::Depth& from) {
  return {.ready = from.ready(), .leased = from.leased()};
}

void put_rows(const Rows& rows, wire::Rows& to) {
  to.mutable_rows()->Reserve(static_cast<int>(rows.rows.size()));
  for (const Row& row : rows.rows) {
    wire::Row& one = *to.add_rows();
    one.set_key(row.key);
    one.set_value(row.value);
    one.set_version(row.version);
  }
}

Result<Answer> rows_from(wire::Rows& from) {
  TRY(check_count(from.rows_size(), "rows"));
  return Answer(Rows{take_all(*from.mutable_rows(), [](wire::Row& row) {
    return Row{.key = std::move(*row.mutable_key()),
               .value = std::move(*row.mutable_value()),
               .version = row.version()};
  })});
}

void put_deliveries(const Deliveries& deliveries, wire::Deliveries& to) {
  to.mutable_deliveries()->Reserve(static_cast<int>(deliveries.deliveries.size()));
  for (const Delivery& delivery : deliveries.deliveries) {
    wire::Delivery& one = *to.add_deliveries();
    one.mutable_lease()->set_id(delivery.lease.id);
    one.mutable_lease()->set_token(delivery.lease.token);
    one.set_body(delivery.body);
    one.set_attempt(delivery.attempt);
    one.set_note(delivery.note);
  }
}

Result<Answer> deliveries_from(wire::Deliveries& from) {
  TRY(check_count(from.deliveries_size(), "deliveries"));
  return Answer(Deliveries{take_all(*from.mutable_deliveries(), [](wire::Delivery& one) {
    return Delivery{.lease = lease_from(*one.mutable_lease()),
                    .body = std::move(*one.mutable_body()),
                    .attempt = one.attempt(),
                    .note = std::move(*one.mutable_note())};
  })});
}

void put_info(const Info& info, wire::Info& to) {
  for (const Info::QueueInfo& queue : info.queues) {
    wire::QueueInfo& one = *to.add_queues();
    one.set_name(queue.name);
    put_depth(queue.depth, *one.mutable_depth());
  }
  for (const Info::TableInfo& table : info.tables) {
    wire::TableInfo& one = *to.add_tables();
    one.set_name(table.name);
    one.set_rows(table.rows);
  }
  to.set_blobs(info.blobs);
  to.set_blob_bytes(info.blob_bytes);
  to.set_live_bytes(info.live_bytes);
  to.set_disk_bytes(info.disk_bytes);
}

Result<Answer> info_from(wire::Info& from) {
  TRY(check_count(from.queues_size(), "queues"));
  TRY(check_count(from.tables_size(), "tables"));
  return Answer(
      Info{.queues = take_all(*from.mutable_queues(),
                              [](wire::QueueInfo& one) {
                                return Info::QueueInfo{.name = std::move(*one.mutable_name()),
                                                       .depth = depth_from(one.depth())};
                              }),
           .tables = take_all(*from.mutable_tables(),
                              [](wire::TableInfo& one) {
                                return Info::TableInfo{.name = std::move(*one.mutable_name()),
                                                       .rows = one.rows()};
                              }),
           .blobs = from.blobs(),
           .blob_bytes = from.blob_bytes(),
           .live_bytes = from.live_bytes(),
           .disk_bytes = from.disk_bytes()});
}

void put_blob_names(const BlobNames& names, wire::BlobNames& to) {
  for (const BlobInfo& blob : names.blobs) {
    wire::BlobInfo& one = *to.add_blobs();
    one.set_name(blob.name);
    one.set_size(blob.size);
  }
}

Result<Answer> blob_names_from(wire::BlobNames& from) {
  TRY(check_count(from.blobs_size(), "blobs"));
  return Answer(BlobNames{take_all(*from.mutable_blobs(), [](wire::BlobInfo& one) {
    return BlobInfo{.name = std::move(*one.mutable_name()), .size = one.size()};
  })});
}

// One overload for each kind: what std::visit calls.
struct AnswerWriter {
  wire::Answer& to;

  void operator()(const Error& error) const {
    to.set_status(status_of(error.code));
    to.set_what(error.what);
  }
  void operator()(const Done&) const { to.mutable_done(); }
  void operator()(const Committed& committed) const {
    to.mutable_committed()->set_version(committed.version);
  }
  void operator()(const Deliveries& deliveries) const {
    put_deliveries(deliveries, *to.mutable_deliveries());
  }
  void operator()(const Lost& lost) const {
    put_leases(lost.leases, *to.mutable_lost()->mutable_leases());
  }
  void operator()(const Depth& depth) const { put_depth(depth, *to.mutable_depth()); }
  void operator()(const Rows& rows) const { put_rows(rows, *to.mutable_rows()); }
  void operator()(const Bytes& bytes) const { to.mutable_bytes()->set_bytes(bytes.bytes); }
  void operator()(const BlobNames& names) const { put_blob_names(names, *to.mutable_blob_names()); }
  void operator()(const Info& info) const { put_info(info, *to.mutable_info()); }
  void operator()(const Erased& erased) const { to.mutable_erased()->set_rows(erased.rows); }
};

}  // namespace

void to_proto(const Answer& answer, wire::Answer& to) { std::visit(AnswerWriter{to}, answer); }

Result<Answer> answer_from(wire::Answer& from) {
  if (from.status() != wire::STATUS_OK) {
    const std::optional<Code> code = code_of(from.status());
    if (code) return Answer(Error{*code, std::move(*from.mutable_what())});
    return Error{Code::invalid, fmt::format("an answer with the unknown status {}",
                                            static_cast<int>(from.status()))};
  }
  switch (from.is_case()) {
    case wire::Answer::kDone:
      return Answer(Done{});
    case wire::Answer::kCommitted:
      return Answer(Committed{from.committed().version()});
    case wire::Answer::kDeliveries:
      return deliveries_from(*from.mutable_deliveries());
    case wire::Answer::kLost:
      return Answer(Lost{TRY(leases_from(*from.mutable_lost()->mutable_leases()))});
    case wire::Answer::kDepth:
      return Answer(depth_from(from.depth()));
    case wire::Answer::kRows:
      return rows_from(*from.mutable_rows());
    case wire::Answer::kBytes:
      return Answer(Bytes{std::move(*from.mutable_bytes()->mutable_bytes())});
    case wire::Answer::kBlobNames:
      return blob_names_from(*from.mutable_blob_names());
    case wire::Answer::kInfo:
      return info_from(*from.mutable_info());
    case wire::Answer::kErased:
      return Answer(Erased{from.erased().rows()});
    case wire::Answer::IS_NOT_SET:
      break;
  }
  return Error{Code::invalid, "an answer of a kind that this release does not know"};
}

}  // namespace dunlin
