// What each request is in SQL.

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "stores/postgres/pg_store.h"

namespace dunlin::postgres {
namespace {

using Texts = std::vector<std::string_view>;
using Numbers = std::vector<int64_t>;

int64_t signed_of(uint64_t number) { return static_cast<int64_t>(number); }
uint64_t unsigned_of(int64_t number) { return static_cast<uint64_t>(number); }

// The smallest text that is greater than all that begin with the prefix; none if there is no such.
std::string end_of(const std::string& prefix) {
  std::string end = prefix;
  if (!end.empty()) ++end.back();  // Visible ASCII, so there is a next character.
  return end;
}

// The writes of a commit, as columns.
struct Columns {
  Texts put_tab, put_key, put_value, erase_tab, erase_key;
  Numbers put_version, erase_version;
  Texts push_queue, push_id, push_body, finish_queue, finish_id;
  Numbers finish_token, finish_strict;
  bool finish_first = false;
  Texts keep_queue, keep_id, keep_note;
  Numbers keep_token, keep_step, keep_hold;

  void add(const Put& put) {
    put_tab.push_back(put.table);
    put_key.push_back(put.key);
    put_value.push_back(put.value);
    put_version.push_back(signed_of(put.version));
  }
  void add(const Erase& erase) {
    erase_tab.push_back(erase.table);
    erase_key.push_back(erase.key);
    erase_version.push_back(signed_of(erase.version));
  }
  void add(const Push& push) {
    for (const Message& message : push.messages) {
      push_queue.push_back(push.queue);
      push_id.push_back(message.id);
      push_body.push_back(message.body);
    }
  }
  void add(const Finish& finish) {
    finish_first = finish_first || push_id.empty();
    for (const Lease& lease : finish.leases) {
      finish_queue.push_back(finish.queue);
      finish_id.push_back(lease.id);
      finish_token.push_back(signed_of(lease.token));
      finish_strict.push_back(finish.strict ? 1 : 0);
    }
  }
  void add(const Keep& keep) {
    keep_queue.push_back(keep.queue);
    keep_id.push_back(keep.lease.id);
    keep_token.push_back(signed_of(keep.lease.token));
    keep_step.push_back(signed_of(keep.step));
    keep_note.push_back(keep.note);
    keep_hold.push_back(keep.hold.count());
  }
};

Error forgotten(uint64_t upload) {
  return {Code::not_found, fmt::format("upload {} was forgotten: send it again", upload)};
}

// Rows of key, value and version until an answer is full; the first always fits.
Rows fitting(const PgRows& rows) {
  Rows answer;
  size_t bytes = 0;
  for (int i = 0; i < rows.size(); ++i) {
    bytes += rows.text(i, 0).size() + rows.text(i, 1).size();
    if (bytes > kBatchBytesMax && !answer.rows.empty()) break;
    answer.rows.push_back({std::string(rows.text(i, 0)), std::string(rows.text(i, 1)),
                           unsigned_of(rows.number(i, 2))});
  }
  return answer;
}

}  // namespace

Answer PgEngine::on(const Commit& commit, Instant deadline) {
  Columns all;
  for (const Write& write : commit.writes) {
    std::visit([&](const auto& kind) { all.add(kind); }, write);
  }
  static constexpr const char* kCommit =
      "select commit($1::bigint, $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::text[], "
      "$7::text[], $8::bigint[], $9::text[], $10::text[], $11::bytea[], $12::text[], $13::text[], "
      "$14::bigint[], $15::bigint = 1, "
      "(select coalesce(array_agg(s = 1 order by i), '{}') "
      " from unnest($16::bigint[]) with ordinality u(s, i)), "
      "$17::text[], $18::text[], $19::bigint[], $20::bigint[], $21::bytea[], $22::bigint[])";
  PgParams params;
  params.number(signed_of(commit.nonce))
      .texts(all.put_tab)
      .texts(all.put_key)
      .bytes(all.put_value)
      .numbers(all.put_version)
      .texts(all.erase_tab)
      .texts(all.erase_key)
      .numbers(all.erase_version)
      .texts(all.push_queue)
      .texts(all.push_id)
      .bytes(all.push_body)
      .texts(all.finish_queue)
      .texts(all.finish_id)
      .numbers(all.finish_token)
      .number(all.finish_first ? 1 : 0)
      .numbers(all.finish_strict)
      .texts(all.keep_queue)
      .texts(all.keep_id)
      .numbers(all.keep_token)
      .numbers(all.keep_step)
      .bytes(all.keep_note)
      .numbers(all.keep_hold);
  const auto rows = link_.run(kCommit, params, deadline);
  if (!rows.ok()) return rows.error();
  const std::string_view said = rows.value().text(0, 0);
  const auto version = parse_number("version", said);
  if (!version.ok()) return Error{Code::conflict, std::string(said)};
  return Committed{version.value()};
}

Answer PgEngine::on(const Pull& pull, Instant deadline) {
  static constexpr const char* kPull =
      "select id, token, attempt::bigint, body, note "
      "from pull($1::text, $2::bigint, $3::bigint, $4::bigint)";
  const auto rows = link_.run(kPull,
                              PgParams()
                                  .text(pull.queue)
                                  .number(signed_of(pull.max))
                                  .number(kBatchBytesMax)
                                  .number(pull.hold.count()),
                              deadline);
  if (!rows.ok()) return rows.error();
  Deliveries answer;
  for (int i = 0; i < rows.value().size(); ++i) {
    answer.deliveries.push_back(
        {{std::string(rows.value().text(i, 0)), unsigned_of(rows.value().number(i, 1))},
         std::string(rows.value().text(i, 3)),
         static_cast<uint32_t>(rows.value().number(i, 2)),
         std::string(rows.value().text(i, 4))});
  }
  return answer;
}

Answer PgEngine::on(const Renew& renew, Instant deadline) {
  Texts ids;
  Numbers tokens;
  for (const Lease& lease : renew.leases) {
    ids.push_back(lease.id);
    tokens.push_back(signed_of(lease.token));
  }
  static constexpr const char* kRenew =
      "select renew($1::text, $2::text[], $3::bigint[], $4::bigint)";
  const auto rows = link_.run(
      kRenew, PgParams().text(renew.queue).texts(ids).numbers(tokens).number(renew.hold.count()),
      deadline);
  if (!rows.ok()) return rows.error();
  std::set<std::string_view> gone;
  for (int i = 0; i < rows.value().size(); ++i) gone.insert(rows.value().text(i, 0));
  Lost lost;
  for (const Lease& lease : renew.leases) {
    if (gone.contains(lease.id)) lost.leases.push_back(lease);
  }
  return lost;
}

Answer PgEngine::on(const AskDepth& ask, Instant deadline) {
  static constexpr const char* kDepth =
      "select count(*) filter (where until is null or until <= clock_timestamp()), "
      "count(*) filter (where until > clock_timestamp()) from messages where queue = $1::text";
  const auto rows = link_.run(kDepth, PgParams().text(ask.queue), deadline);
  if (!rows.ok()) return rows.error();
  return Depth{unsigned_of(rows.value().number(0, 0)), unsigned_of(rows.value().number(0, 1))};
}

Answer PgEngine::on(const Get& get, Instant deadline) {
  static constexpr const char* kGet =
      "select w.key, coalesce(r.value, ''), coalesce(r.version, 0) "
      "from unnest($2::text[]) with ordinality w(key, place) "
      "left join records r on r.tab = $1::text and r.key = w.key order by w.place";
  const auto rows = link_.run(
      kGet, PgParams().text(get.table).texts({get.keys.begin(), get.keys.end()}), deadline);
  if (!rows.ok()) return rows.error();
  return fitting(rows.value());
}

Answer PgEngine::on(const Scan& scan, Instant deadline) {
  // Bounded by bytes on the server, too: rows may be large.
  static constexpr const char* kScan =
      "select key, value, version from ("
      "  select key, value, version, sum(length(value) + length(key)) over (order by key) as "
      "bytes, "
      "         row_number() over (order by key) as place from ("
      "    select key, value, version from records where tab = $1::text and key > $2::text "
      "      and key >= $3::text and ($4::text = '' or key < $4::text) order by key limit "
      "$5::bigint"
      "  ) found) sized where bytes <= $6::bigint or place = 1 order by key";
  const auto rows = link_.run(kScan,
                              PgParams()
                                  .text(scan.table)
                                  .text(scan.after)
                                  .text(scan.prefix)
                                  .text(end_of(scan.prefix))
                                  .number(signed_of(scan.max))
                                  .number(kBatchBytesMax),
                              deadline);
  if (!rows.ok()) return rows.error();
  return fitting(rows.value());
}

Answer PgEngine::on(const EraseAll& erase, Instant deadline) {
  static constexpr const char* kErase =
      "with gone as (delete from records where tab = $1::text and key in ("
      "  select key from records where tab = $1::text and key >= $2::text and key < $3::text "
      "    order by key limit $4::bigint) returning 1) select count(*) from gone";
  const auto rows = link_.run(
      kErase,
      PgParams().text(erase.table).text(erase.prefix).text(end_of(erase.prefix)).number(kBatchMax),
      deadline);
  if (!rows.ok()) return rows.error();
  return Erased{unsigned_of(rows.value().number(0, 0))};
}

Answer PgEngine::on(const BlobPart& part, Instant deadline) {
  if (part.bytes.empty()) {
    // Unless it has become a blob: the request may be a late one.
    static constexpr const char* kGiveUp =
        "delete from parts p where upload = $1::bigint"
        " and not exists (select from blobs b where b.upload = p.upload)";
    const auto gone = link_.run(kGiveUp, PgParams().number(signed_of(part.upload)), deadline);
    if (!gone.ok()) return gone.error();
    return Done{};
  }
  static constexpr const char* kPart =
      "select add_part($1::bigint, $2::bigint, $3::bigint, $4::bytea)::int::bigint";
  const auto rows = link_.run(kPart,
                              PgParams()
                                  .number(signed_of(part.upload))
                                  .number(signed_of(part.offset))
                                  .number(kBlobPart)
                                  .text(part.bytes),
                              deadline);
  if (!rows.ok()) return rows.error();
  if (rows.value().number(0, 0) == 0) return forgotten(part.upload);
  return Done{};
}

Answer PgEngine::on(const BlobEnd& end, Instant deadline) {
  static constexpr const char* kEnd = "select end_blob($1::text, $2::bigint, $3::bigint)::bigint";
  const auto rows = link_.run(
      kEnd, PgParams().text(end.name).number(signed_of(end.upload)).number(signed_of(end.size)),
      deadline);
  if (!rows.ok()) return rows.error();
  if (rows.value().number(0, 0) != 0) return forgotten(end.upload);
  return Done{};
}

Answer PgEngine::on(const BlobGet& get, Instant deadline) {
  static constexpr const char* kFind = "select upload, size from blobs where name = $1::text";
  const auto found = link_.run(kFind, PgParams().text(get.name), deadline);
  if (!found.ok()) return found.error();
  if (found.value().size() == 0) {
    return Error{Code::not_found, fmt::format("blob {}", get.name)};
  }
  const uint64_t size = unsigned_of(found.value().number(0, 1));
  if (get.offset >= size) return Bytes{};
  const uint64_t end = get.offset + std::min<uint64_t>(get.max, size - get.offset);
  static constexpr const char* kParts =
      "select substring(bytes from greatest($2::bigint - start, 0)::int + 1 "
      "for (least($3::bigint - start, length(bytes)) - greatest($2::bigint - start, 0))::int) "
      "from parts where upload = $1::bigint and start > $2::bigint - $4::bigint "
      "and start < $3::bigint order by start";
  const auto parts = link_.run(kParts,
                               PgParams()
                                   .number(found.value().number(0, 0))
                                   .number(signed_of(get.offset))
                                   .number(signed_of(end))
                                   .number(kBlobPart),
                               deadline);
  if (!parts.ok()) return parts.error();
  Bytes answer;
  for (int i = 0; i < parts.value().size(); ++i) answer.bytes += parts.value().text(i, 0);
  if (answer.bytes.size() != end - get.offset) {  // Erased between the two looks.
    return Error{Code::not_found, fmt::format("blob {}", get.name)};
  }
  return answer;
}

Answer PgEngine::on(const BlobErase& erase, Instant deadline) {
  static constexpr const char* kErase = "select erase_blob($1::text)";
  const auto rows = link_.run(kErase, PgParams().text(erase.name), deadline);
  if (!rows.ok()) return rows.error();
  return Done{};
}

Answer PgEngine::on(const BlobList& list, Instant deadline) {
  static constexpr const char* kList =
      "select name, size from blobs where name > $1::text and name >= $2::text "
      "and ($3::text = '' or name < $3::text) order by name limit $4::bigint";
  const auto rows = link_.run(kList,
                              PgParams()
                                  .text(list.after)
                                  .text(list.prefix)
                                  .text(end_of(list.prefix))
                                  .number(signed_of(list.max)),
                              deadline);
  if (!rows.ok()) return rows.error();
  BlobNames answer;
  for (int i = 0; i < rows.value().size(); ++i) {
    answer.blobs.push_back(
        {std::string(rows.value().text(i, 0)), unsigned_of(rows.value().number(i, 1))});
  }
  return answer;
}

Answer PgEngine::on(const AskInfo& /*ask*/, Instant deadline) {
  Info info;
  const PgParams most = PgParams().number(kBatchMax);
  static constexpr const char* kQueues =
      "select queue, count(*) filter (where until is null or until <= clock_timestamp()), "
      "count(*) filter (where until > clock_timestamp()) from messages group by queue "
      "order by queue limit $1::bigint";
  const auto queues = link_.run(kQueues, most, deadline);
  if (!queues.ok()) return queues.error();
  for (int i = 0; i < queues.value().size(); ++i) {
    info.queues.push_back(
        {std::string(queues.value().text(i, 0)),
         {unsigned_of(queues.value().number(i, 1)), unsigned_of(queues.value().number(i, 2))}});
  }
  static constexpr const char* kRecords =
      "select tab, count(*) from records group by tab order by tab limit $1::bigint";
  const auto tables = link_.run(kRecords, most, deadline);
  if (!tables.ok()) return tables.error();
  for (int i = 0; i < tables.value().size(); ++i) {
    info.tables.push_back(
        {std::string(tables.value().text(i, 0)), unsigned_of(tables.value().number(i, 1))});
  }
  static constexpr const char* kSizes =
      "select (select count(*) from blobs), (select coalesce(sum(size), 0) from blobs)::bigint, "
      "(select coalesce(sum(length(value) + length(key)), 0) from records)::bigint + "
      "(select coalesce(sum(length(body) + length(id)), 0) from messages)::bigint, "
      "(select sum(pg_total_relation_size(oid)) from pg_class where relkind = 'r' "
      " and relnamespace = current_schema()::regnamespace)::bigint";
  const auto sizes = link_.run(kSizes, {}, deadline);
  if (!sizes.ok()) return sizes.error();
  info.blobs = unsigned_of(sizes.value().number(0, 0));
  info.blob_bytes = unsigned_of(sizes.value().number(0, 1));
  info.live_bytes = unsigned_of(sizes.value().number(0, 2));
  info.disk_bytes = unsigned_of(sizes.value().number(0, 3));
  return info;
}

}  // namespace dunlin::postgres
