#include "store_cli/store_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

#include "cli/verb_adder.h"

namespace dunlin::store_cli {
namespace {

void add_queue_verbs(CLI::App& store, StoreOptions& options, cli::VerbAdder& adder) {
  PushVerb& push = options.push;
  CLI::App& push_command = adder.add(store, "push", "Put a message into a queue, and print its id",
                                     "dunlin store push jobs --body 'hello'", push);
  push_command.add_option("QUEUE", push.queue)->required();
  push_command.add_option("--body", push.body, "The message");
  push_command.add_option("--body-file", push.body_file,
                          "File with the message; - is standard input");
  push_command.add_flag("--lines", push.lines, "Push each line of standard input as a message");
  push_command.add_option("--id", push.id,
                          "Id of the message (with --lines ID.1, ID.2, ...); a queue ignores an id "
                          "that it still holds");

  PullVerb& pull = options.pull;
  CLI::App& pull_command = adder.add(store, "pull", "Take messages from a queue, under a lease",
                                     "dunlin store pull jobs --max 10 --hold 60s --wait 5s", pull);
  pull_command.add_option("QUEUE", pull.queue)->required();
  pull_command.add_option("--max", pull.max, "The most messages to take")->capture_default_str();
  pull_command.add_option("--hold", pull.hold, "How long the lease lasts")->capture_default_str();
  pull_command.add_option("--wait", pull.wait, "How long to wait for the first message")
      ->capture_default_str();

  FinishVerb& finish = options.finish;
  CLI::App& finish_command = adder.add(store, "finish", "Remove messages whose work is done",
                                       "dunlin store finish jobs 8c5d03a1b7f2e946:17", finish);
  finish_command.add_option("QUEUE", finish.queue)->required();
  finish_command.add_option("LEASE", finish.leases, "ID:TOKEN..., or ID TOKEN")->required();

  RenewVerb& renew = options.renew;
  CLI::App& renew_command =
      adder.add(store, "renew", "Extend leases; --hold 0 gives the messages back",
                "dunlin store renew jobs --hold 60s 8c5d03a1b7f2e946:17", renew);
  renew_command.add_option("QUEUE", renew.queue)->required();
  renew_command.add_option("LEASE", renew.leases, "ID:TOKEN..., or ID TOKEN")->required();
  renew_command.add_option("--hold", renew.hold, "How long the lease lasts from now")->required();

  CLI::App& depth_command = adder.add(store, "depth", "Count the messages of a queue",
                                      "dunlin store depth jobs", options.depth);
  depth_command.add_option("QUEUE", options.depth.queue)->required();
}

void add_table_verbs(CLI::App& store, StoreOptions& options, cli::VerbAdder& adder) {
  GetVerb& get = options.get;
  CLI::App& get_command =
      adder.add(store, "get", "Show rows of a table", "dunlin store get settings colour", get);
  get_command.add_option("TABLE", get.table)->required();
  get_command.add_option("KEY", get.keys)->required();

  PutVerb& put = options.put;
  CLI::App& put_command = adder.add(store, "put", "Write a row, and print its new version",
                                    "dunlin store put settings colour green --version 17", put);
  put_command.add_option("TABLE", put.table)->required();
  put_command.add_option("KEY", put.key)->required();
  put_command.add_option("VALUE", put.value);
  put_command.add_option("--value-file", put.value_file,
                         "File with the value; - is standard input");
  CLI::Option* version =
      put_command.add_option("--version", put.version, "Only if the row has this version");
  put_command.add_flag("--new", put.fresh, "Only if the row does not exist")->excludes(version);

  EraseVerb& erase = options.erase;
  CLI::App& erase_command =
      adder.add(store, "erase", "Remove a row", "dunlin store erase settings colour", erase);
  erase_command.add_option("TABLE", erase.table)->required();
  erase_command.add_option("KEY", erase.key)->required();
  erase_command.add_option("--version", erase.version, "Only if the row has this version");

  ScanVerb& scan = options.scan;
  CLI::App& scan_command = adder.add(store, "scan", "List the rows of a table by key",
                                     "dunlin store scan settings col --max 100", scan);
  scan_command.add_option("TABLE", scan.table)->required();
  scan_command.add_option("PREFIX", scan.prefix, "Only keys that begin with this prefix");
  scan_command.add_option("--max", scan.max, "The most rows to list (default: all)");
}

void add_blob_verbs(CLI::App& store, StoreOptions& options, cli::VerbAdder& adder) {
  CLI::App& blob = *store.add_subcommand("blob", "Large bytes: put, get, erase, list");
  blob.require_subcommand(1);

  BlobPutVerb& put = options.blob_put;
  CLI::App& put_command = adder.add(blob, "put", "Store a file as a blob; a name is written once",
                                    "dunlin store blob put data/input.bin input.bin", put);
  put_command.add_option("NAME", put.name)->required();
  put_command.add_option("FILE", put.file, "- is stdin")->required();

  BlobGetVerb& get = options.blob_get;
  CLI::App& get_command =
      adder.add(blob, "get", "Read a blob", "dunlin store blob get data/input.bin copy.bin", get);
  get_command.add_option("NAME", get.name)->required();
  get_command.add_option("FILE", get.file, "File to write to (default: standard output)");

  CLI::App& erase_command = adder.add(blob, "erase", "Remove a blob",
                                      "dunlin store blob erase data/input.bin", options.blob_erase);
  erase_command.add_option("NAME", options.blob_erase.name)->required();

  CLI::App& list_command =
      adder.add(blob, "list", "List the blobs", "dunlin store blob list data/", options.blob_list);
  list_command.add_option("PREFIX", options.blob_list.prefix,
                          "Only names that begin with this prefix");
}

}  // namespace

void add_store_command(CLI::App& app, StoreOptions& options, int& exit_code) {
  CLI::App& store = *app.add_subcommand("store", "Inspect a store, or change it by hand");
  store.require_subcommand(1);
  cli::VerbAdder adder(options.targets, exit_code);
  add_queue_verbs(store, options, adder);
  add_table_verbs(store, options, adder);
  add_blob_verbs(store, options, adder);
  adder.add(store, "info", "Show what is in the store", "dunlin store info", options.info);
  adder.add(store, "init", "Make the tables of a store in a database or in AWS, or migrate them",
            "dunlin store init --at postgres://me@db.example.org/lab", options.init);
  CLI::App& keep = adder.add(store, "keep", "Show or change how long jobs are kept after their end",
                             "dunlin store keep 30d --failed 90d", options.keep);
  keep.add_option("TIME", options.keep.keep, "12h, 30d, forever");
  keep.add_option("--failed", options.keep.failed,
                  "How long to keep jobs that failed, were cancelled or were skipped");
  CLI::App& destroy = adder.add(
      store, "destroy", "Remove a store from a database or from AWS, with everything in it",
      "dunlin store destroy --at postgres://me@db.example.org/lab", options.destroy);
  destroy.add_flag("--yes", options.destroy.yes, "Do not ask for confirmation");
  CLI::App& check = adder.add(store, "check", "Read all of a store's files and report damage",
                              "dunlin store check ~/.local/state/dunlin/hub", options.check,
                              /*in_store=*/false);
  check.add_option("DIR", options.check.folder, "Data folder of a store that no process has open")
      ->required();
}

}  // namespace dunlin::store_cli
