#include "stores/postgres/schema.h"

#include <fmt/format.h>

namespace dunlin::postgres {
namespace {

// "rows" are known by the version of the commit that wrote them and by its nonce, so that a commit
// that is repeated is recognised. A message is ready while `until` is null; `number` is its place
// in the queue, which it keeps when it comes back. `step` counts the keeps under its lease, `note`
// is what the last of them left, `nonce` and `kept` are of that commit. Keys compare by their
// bytes.
constexpr const char* kTables = R"sql(
create table meta (version int not null);
create sequence versions cache 1;
create sequence tokens cache 1;
create table records (
  tab text collate "C" not null, key text collate "C" not null,
  version bigint not null, nonce bigint not null, value bytea not null,
  primary key (tab, key)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
alter table records alter value set storage external;
create table messages (
  queue text collate "C" not null, id text collate "C" not null,
  number bigint not null generated always as identity, body bytea not null,
  token bigint not null default 0, attempt int not null default 0, until timestamptz,
  step bigint not null default 0, note bytea not null default '', nonce bigint not null default 0,
  kept bigint not null default 0,
  primary key (queue, id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index messages_ready on messages (queue, number) where until is null;
create index messages_leased on messages (queue, until) where until is not null;
create table blobs (
  name text collate "C" primary key, upload bigint not null, size bigint not null,
  digest bytea not null
);
create table parts (
  upload bigint not null, start bigint not null, made timestamptz not null default now(),
  digest bytea not null, bytes bytea not null,
  primary key (upload, start)
);
alter table parts alter bytes set storage external;
)sql";

// The bell of a queue: whoever waits for its messages listens there.
constexpr const char* kBell = R"sql(
create function bell(queue text) returns text language sql stable as
$$ select 'dunlin.' || md5(current_schema() || ' ' || queue) $$;
)sql";

// All or nothing. Existing rows are locked in the order of their keys, new ones inserted in that
// order, so two commits never wait for each other. That a row must not exist is held until the end,
// too: by inserting it and deleting it again. What appears between two statements of ours is seen
// by the later one, so each of them compares versions again. A conflict is looked at twice, because
// the first try of this same commit may still have been on its way when we began. Returns the
// version; or what is in the way, if nothing was changed yet: errors would fill the server's log.
constexpr const char* kCommit = R"sql(
create function commit(
  my_nonce bigint, put_tab text[], put_key text[], put_value bytea[], put_version bigint[],
  erase_tab text[], erase_key text[], erase_version bigint[],
  push_queue text[], push_id text[], push_body bytea[],
  finish_queue text[], finish_id text[], finish_token bigint[], finish_first boolean,
  finish_strict boolean[], keep_queue text[], keep_id text[], keep_token bigint[],
  keep_step bigint[], keep_note bytea[], keep_hold bigint[]
) returns text language plpgsql as $$
declare
  mine bigint := 0;
  found_at bigint;
  expected bigint;
  made bigint;
  clash record;
begin
  if cardinality(keep_id) > 0 and my_nonce <> 0 then
    select m.kept into found_at from messages m
      join unnest(keep_queue, keep_id, keep_token) w(queue, id, token) using (queue, id, token)
      where m.nonce = my_nonce limit 1;
    if found then return found_at; end if;
  end if;
  if cardinality(put_key) + cardinality(erase_key) > 0 then
    perform 1 from records r
      join (select * from unnest(put_tab || erase_tab, put_key || erase_key) u(tab, key)) w
      using (tab, key) order by tab, key for update of r;
    if my_nonce <> 0 then
      select r.version into found_at from records r
        join unnest(put_tab, put_key) w(tab, key) using (tab, key)
        where r.nonce = my_nonce limit 1;
      if found then return found_at; end if;
    end if;
    select w.tab, w.key, w.version, coalesce(r.version, 0) as stored into clash
      from (select *, true as put from unnest(put_tab, put_key, put_version) p(tab, key, version)
            union all
            select *, false from unnest(erase_tab, erase_key, erase_version) e(tab, key, version)) w
      left join records r using (tab, key)
      where w.version <> -1 and coalesce(r.version, 0) <> w.version
        and (w.put or r.version is not null)
      limit 1;
    if found then
      return format('row %s of table %s has version %s, not %s: read it again', clash.key,
                    clash.tab, clash.stored, clash.version);
    end if;
    if cardinality(put_key) > 0 then mine := nextval('versions'); end if;
    with wanted as (
      select tab, key, value, true as put
        from unnest(put_tab, put_key, put_value) p(tab, key, value)
      union all
      select tab, key, ''::bytea, false
        from unnest(erase_tab, erase_key, erase_version) e(tab, key, version) where version = 0
    ), missing as (
      select * from wanted w
        where not exists (select from records r where r.tab = w.tab and r.key = w.key)
    ), inserted as (
      insert into records (tab, key, version, nonce, value)
        select tab, key, mine, my_nonce, value from missing order by tab, key
        on conflict do nothing returning 1
    )
    select (select count(*) from missing), (select count(*) from inserted) into expected, made;
    if made <> expected then
      raise exception using errcode = '40001', message = 'a row was made by another one';
    end if;
    if cardinality(put_key) > 0 then
      select count(*) into made from records r join unnest(put_tab, put_key) w(tab, key)
        using (tab, key) where r.version = mine;
      update records r set value = w.value, version = mine, nonce = my_nonce
        from unnest(put_tab, put_key, put_value, put_version) w(tab, key, value, version)
        where r.tab = w.tab and r.key = w.key and r.version <> mine
          and (w.version = -1 or r.version = w.version);
      get diagnostics expected = row_count;
      if made + expected <> cardinality(put_key) then
        raise exception using errcode = '40001', message = 'a row was made by another one';
      end if;
    end if;
    if cardinality(erase_key) > 0 then
      delete from records r using unnest(erase_tab, erase_key, erase_version) w(tab, key, version)
        where r.tab = w.tab and r.key = w.key
          and (w.version = -1 or r.version = w.version or r.version = mine);
      if exists (select from records r join unnest(erase_tab, erase_key) w(tab, key)
                   using (tab, key)) then
        raise exception using errcode = '40001', message = 'a row was made by another one';
      end if;
    end if;
  end if;
  if cardinality(keep_id) > 0 then
    perform 1 from messages m
      join (select * from unnest(finish_queue || keep_queue, finish_id || keep_id) u(queue, id)) w
      using (queue, id) order by queue, id for update of m;
    perform keep(my_nonce, mine, keep_queue, keep_id, keep_token, keep_step, keep_note, keep_hold);
  end if;
  if finish_first then
    perform finish(finish_queue, finish_id, finish_token, finish_strict);
  end if;
  if cardinality(push_id) > 0 then
    insert into messages (queue, id, body)
      select queue, id, body
        from unnest(push_queue, push_id, push_body) with ordinality w(queue, id, body, place)
        order by place
      on conflict do nothing;
    perform pg_notify(bell(queue), '')
      from (select distinct queue from unnest(push_queue) q(queue)) d;
  end if;
  if not finish_first then
    perform finish(finish_queue, finish_id, finish_token, finish_strict);
  end if;
  return mine;
end $$;
)sql";

constexpr const char* kQueue = R"sql(
create function finish(queues text[], ids text[], their_tokens bigint[], stricts boolean[])
returns void language plpgsql as $$
declare
  clash record;
begin
  if cardinality(ids) = 0 then return; end if;
  perform 1 from messages m join unnest(queues, ids) w(queue, id) using (queue, id)
    order by queue, id for update of m;
  select w.queue, w.id into clash
    from unnest(queues, ids, their_tokens, stricts) w(queue, id, token, strict)
    left join messages m using (queue, id)
    where (m.id is null and w.strict) or m.token <> w.token or (m.id is not null and w.token = 0)
    limit 1;
  if found then
    raise exception using errcode = 'DU001', message = format(
      'lease on message %s in queue %s is stale: the message was not handed to you last',
      clash.id, clash.queue);
  end if;
  delete from messages m using unnest(queues, ids) w(queue, id)
    where m.queue = w.queue and m.id = w.id;
end $$;

-- Whoever calls it has locked the messages.
create function keep(my_nonce bigint, mine bigint, queues text[], ids text[], their_tokens bigint[],
                     steps bigint[], notes bytea[], holds bigint[])
returns void language plpgsql as $$
declare
  clash record;
begin
  select w.queue, w.id into clash
    from unnest(queues, ids, their_tokens, steps) w(queue, id, token, step)
    left join messages m using (queue, id)
    where m.id is null or m.token <> w.token or w.token = 0 or m.step <> w.step limit 1;
  if found then
    raise exception using errcode = 'DU001', message = format(
      'lease on message %s in queue %s is stale: the message was not handed to you last, or you '
      'have gone on since', clash.id, clash.queue);
  end if;
  update messages m
    set step = m.step + 1, note = w.note, nonce = my_nonce, kept = mine,
        until = clock_timestamp() + w.hold * interval '1 ms'
    from unnest(queues, ids, notes, holds) w(queue, id, note, hold)
    where m.queue = w.queue and m.id = w.id;
  perform pg_notify(bell(queue), '')
    from (select distinct queue from unnest(queues, holds) w(queue, hold) where hold = 0) d;
end $$;

create function pull(from_queue text, most bigint, most_bytes bigint, hold_ms bigint)
returns table (id text, token bigint, attempt int, body bytea, note bytea)
language plpgsql as $$
#variable_conflict use_column
declare
  mine bigint;
begin
  update messages m set until = null
    from (select queue, id from messages
            where queue = from_queue and until <= clock_timestamp()
            order by queue, id for update skip locked) over
    where m.queue = over.queue and m.id = over.id;
  mine := nextval('tokens');
  return query
    with next as materialized (
      select queue, id, number, body from messages where queue = from_queue and until is null
        order by number limit most for update skip locked
    ), sized as (
      select queue, id, number, sum(length(body)) over (order by number) as bytes from next
    ), taken as (
      update messages m
        set until = clock_timestamp() + hold_ms * interval '1 ms', token = mine,
            attempt = m.attempt + 1, step = 0
        from sized s
        where m.queue = s.queue and m.id = s.id
          and (s.bytes <= most_bytes or s.number = (select min(number) from sized))
        returning m.id, m.number, m.attempt, m.body, m.note
    )
    select t.id, mine, t.attempt, t.body, t.note from taken t order by t.number;
end $$;

create function renew(in_queue text, ids text[], their_tokens bigint[], hold_ms bigint)
returns setof text language plpgsql as $$
begin
  perform 1 from messages m join unnest(ids) w(id) on m.id = w.id and m.queue = in_queue
    order by m.id for update of m;
  update messages m set until = clock_timestamp() + hold_ms * interval '1 ms'
    from unnest(ids, their_tokens) w(id, token)
    where m.queue = in_queue and m.id = w.id and m.token = w.token and w.token <> 0;
  if hold_ms = 0 then perform pg_notify(bell(in_queue), ''); end if;
  return query select w.id from unnest(ids, their_tokens) w(id, token)
    where w.token = 0 or not exists (select from messages m
      where m.queue = in_queue and m.id = w.id and m.token = w.token);
end $$;
)sql";

// Uploads that nobody ended are removed by whoever comes by, after two days.
constexpr const char* kBlobs = R"sql(
create function add_part(my_upload bigint, my_start bigint, part_size bigint, my_bytes bytea)
returns boolean language plpgsql as $$
begin
  if my_start > 0 and not exists (
      select from parts where upload = my_upload and start = my_start - part_size) then
    return false;
  end if;
  insert into parts (upload, start, digest, bytes)
    values (my_upload, my_start, sha256(my_bytes), my_bytes)
    on conflict (upload, start) do update set digest = excluded.digest, bytes = excluded.bytes;
  if my_start = 0 and my_upload % 64 = 0 then
    delete from parts p where made < now() - interval '2 days'
      and not exists (select from blobs b where b.upload = p.upload);
  end if;
  return true;
end $$;

create function erase_blob(blob text) returns void language plpgsql as $$
declare
  gone bigint;
begin
  delete from blobs where name = blob returning upload into gone;
  if found then delete from parts where upload = gone; end if;
end $$;

create function end_blob(blob text, my_upload bigint, full_size bigint) returns int
language plpgsql as $$
declare
  have bigint;
  mine bytea;
  old record;
begin
  select coalesce(sum(length(bytes)), 0), coalesce(string_agg(digest, ''::bytea order by start), '')
    into have, mine from parts where upload = my_upload;
  if have <> full_size then return 1; end if;
  insert into blobs values (blob, my_upload, full_size, mine) on conflict do nothing;
  if found then return 0; end if;
  select * into old from blobs where name = blob;
  if old.upload = my_upload then return 0; end if;
  if old.size <> full_size or old.digest <> mine then
    raise exception using errcode = 'DU001',
      message = format('blob %s exists with other bytes: choose another name', blob);
  end if;
  delete from parts where upload = my_upload;
  return 0;
end $$;
)sql";

// From the first version: messages had no notes.
constexpr const char* kUpgrade = R"sql(
alter table messages add column if not exists step bigint not null default 0,
  add column if not exists note bytea not null default '',
  add column if not exists nonce bigint not null default 0,
  add column if not exists kept bigint not null default 0;
do $$ declare each record; begin
  for each in select oid::regprocedure as name from pg_proc
      where pronamespace = current_schema()::regnamespace and prokind = 'f' loop
    execute 'drop function ' || each.name || ' cascade';
  end loop;
end $$;
)sql";

std::string upgrade() {
  return fmt::format(
      "begin; select pg_advisory_xact_lock(7238110); {} {} {} {} {} update meta set version = {}; "
      "commit;",
      kUpgrade, kBell, kQueue, kCommit, kBlobs, kPgSchemaVersion);
}

std::string creation(const std::string& schema) {
  return fmt::format(
      "begin; select pg_advisory_xact_lock(7238110); create schema if not exists \"{}\"; {} {} {} "
      "{} {} insert into meta values ({}); commit;",
      schema, kTables, kBell, kQueue, kCommit, kBlobs, kPgSchemaVersion);
}

struct Found {
  bool schema = false;
  bool empty = true;
  int64_t version = -1;  // -1: there is no table of ours.
};

Result<Found> look(PgLink& link, Instant deadline) {
  static constexpr const char* kLook =
      "select (select count(*) from pg_namespace where nspname = $1::text), "
      "(select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace "
      " where n.nspname = $1::text), "
      "(select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace "
      " where n.nspname = $1::text and c.relname = 'meta'), "
      "(select bool_and(has_schema_privilege(oid, 'usage')) from pg_namespace "
      " where nspname = $1::text)::int::bigint";
  const PgRows rows = TRY(link.run(kLook, PgParams().text(link.address().schema), deadline));
  Found found{.schema = rows.number(0, 0) > 0, .empty = rows.number(0, 1) == 0};
  if (found.schema && rows.number(0, 3) == 0) {
    return Error{Code::denied, fmt::format("the URL's user may not use the schema {}: let its "
                                           "owner grant access, or use the owner's name",
                                           link.address().schema)};
  }
  if (rows.number(0, 2) == 0) return found;
  static constexpr const char* kVersion = "select max(version)::bigint from meta";
  const PgRows version = TRY(link.run(kVersion, {}, deadline));
  if (version.size() == 1 && !version.null(0, 0)) found.version = version.number(0, 0);
  return found;
}

Error foreign(const std::string& schema) {
  return {Code::conflict, fmt::format("the schema {} belongs to another program: name another one "
                                      "after '#' at the end of the URL",
                                      schema)};
}

}  // namespace

Result<bool> init_schema(PgLink& link, Instant deadline) {
  const std::string& schema = link.address().schema;
  const Found found = TRY(look(link, deadline));
  if (found.version == kPgSchemaVersion) return false;
  if (found.version > kPgSchemaVersion) {
    return Error{Code::conflict,
                 fmt::format("the schema {} has version {}, and this Dunlin knows {}: use a newer "
                             "Dunlin",
                             schema, found.version, kPgSchemaVersion)};
  }
  if (found.version == 1) {
    TRY(link.run_script(upgrade(), deadline));
    return true;
  }
  if (found.version >= 0 || !found.empty) return foreign(schema);
  TRY(link.run_script(creation(schema), deadline));
  return true;
}

Result<void> check_schema(PgLink& link, Instant deadline) {
  const std::string& schema = link.address().schema;
  const Found found = TRY(look(link, deadline));
  if (found.version == kPgSchemaVersion) return {};
  if (found.version < 0 && !found.empty) return foreign(schema);
  if (found.version < 0) {
    return Error{Code::invalid, fmt::format("the database has no store in the schema {}: `dunlin "
                                            "store init --at URL` makes it",
                                            schema)};
  }
  return Error{
      Code::invalid,
      fmt::format("the schema {} has version {}, and this Dunlin needs {}: {}", schema,
                  found.version, kPgSchemaVersion,
                  found.version > kPgSchemaVersion ? "use a newer Dunlin"
                                                   : "`dunlin store init --at URL` migrates it")};
}

Result<void> destroy_schema(PgLink& link, Instant deadline) {
  const Found found = TRY(look(link, deadline));
  if (!found.schema) return {};
  if (found.version < 0 && !found.empty) return foreign(link.address().schema);
  return link.run_script(fmt::format("drop schema \"{}\" cascade", link.address().schema),
                         deadline);
}

}  // namespace dunlin::postgres
