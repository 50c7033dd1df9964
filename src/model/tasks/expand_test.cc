#include "model/tasks/expand.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <rapidcheck.h>

#include "model/keys.h"
#include "testing/temp_folder.h"

namespace dunlin {
namespace {

using Words = std::vector<std::string>;

model::Spec job_of(std::string line, int sources = 1) {
  model::Spec spec;
  spec.mutable_command()->set_line(std::move(line));
  for (int i = 0; i < sources; ++i) spec.mutable_inputs()->add_sources()->set_count(10);
  return spec;
}

model::Spec job_of(const Words& argv, int sources = 1) {
  model::Spec spec = job_of("", sources);
  for (const std::string& word : argv) spec.mutable_command()->add_argv(word);
  return spec;
}

std::string shown(const model::Spec& spec, const Words& values, uint64_t task = 0) {
  const auto expanded = expand(spec, task, values);
  return expanded.ok() ? shown_command(expanded.value()) : expanded.error().what;
}

Words argv_of(const model::Spec& spec, const Words& values, uint64_t task = 0) {
  return expand(spec, task, values).value().argv;
}

TEST(Expand, PlaceholdersAreThoseOfGnuParallel) {
  const auto one = [](std::string line) {
    return shown(job_of(std::move(line)), {"a/b.c/d.tar.gz"}, 4);
  };
  EXPECT_EQ(one("x {} y"), "x a/b.c/d.tar.gz y");
  EXPECT_EQ(one("x {.}"), "x a/b.c/d.tar");
  EXPECT_EQ(one("x {/}"), "x d.tar.gz");
  EXPECT_EQ(one("x {//}"), "x a/b.c");
  EXPECT_EQ(one("x {/.}"), "x d.tar");
  EXPECT_EQ(one("x {1/.}.{#}"), "x d.tar.5");
  EXPECT_EQ(one("x {1} {1.} {1/} {1//}"), "x a/b.c/d.tar.gz a/b.c/d.tar d.tar.gz a/b.c");
}

TEST(Expand, PathsAreCutAtTheirEdges) {
  using Cut = Placeholder::Cut;
  EXPECT_EQ(cut_path("a.d/b", Cut::extension), "a.d/b");
  EXPECT_EQ(cut_path(".profile", Cut::extension), "");
  EXPECT_EQ(cut_path("a.", Cut::extension), "a");
  EXPECT_EQ(cut_path("a", Cut::name), ".");
  EXPECT_EQ(cut_path("/a", Cut::name), "/");
  EXPECT_EQ(cut_path("/", Cut::name), "/");
  EXPECT_EQ(cut_path("a/b/", Cut::name), "a");
  EXPECT_EQ(cut_path("a//b", Cut::name), "a");
  EXPECT_EQ(cut_path("", Cut::name), ".");
  EXPECT_EQ(cut_path("", Cut::both), "");
}

TEST(Expand, UnknownBracesStay) {
  EXPECT_EQ(shown(job_of("awk '{print $1}' {}"), {"f"}), "awk '{print $1}' f");
  EXPECT_EQ(shown(job_of("grep a{3} {foo} ${HOME} {{}} { {"), {"v"}),
            "grep a{3} {foo} ${HOME} {v} { {");
}

TEST(Expand, ALineWithoutSpecialCharactersNeedsNoShell) {
  EXPECT_EQ(argv_of(job_of("gzip  -9 {} "), {"a b;c"}), (Words{"gzip", "-9", "a b;c"}));
  EXPECT_EQ(argv_of(job_of("./sim --seed={} x{}y"), {""}), (Words{"./sim", "--seed=", "xy"}));
  EXPECT_EQ(argv_of(job_of("echo {} > f"), {"a b"}), (Words{"/bin/sh", "-c", "echo 'a b' > f"}));
  for (const char* line : {"cd {}", ". {}", "exit {}", "A=1 b {}", "{} x", "echo ~ {}", "[ {} ]",
                           "if {}", "echo # {}", "time ls {}", "echo {a,b}{}"}) {
    EXPECT_EQ(argv_of(job_of(line), {"v"})[0], "/bin/sh") << line;
  }
  for (const char* line : {"true {}", "echo {}", "test {}", "printf {}"}) {
    EXPECT_NE(argv_of(job_of(line), {"v"})[0], "/bin/sh") << line;
  }
}

TEST(Expand, ValuesAreQuotedForTheShellUnlessToldNotTo) {
  model::Spec spec = job_of("{} ; echo done");
  EXPECT_EQ(shown(spec, {"it's $(x)"}), "'it'\\''s $(x)' ; echo done");
  spec.mutable_command()->set_no_quote(true);
  EXPECT_EQ(shown(spec, {"ls -l | wc"}), "ls -l | wc ; echo done");
  spec = job_of("{}");
  spec.mutable_command()->set_no_quote(true);
  EXPECT_EQ(argv_of(spec, {"gzip -9 f"}), (Words{"gzip", "-9", "f"}));
  EXPECT_EQ(argv_of(spec, {"gzip -9 $f"}), (Words{"/bin/sh", "-c", "gzip -9 $f"}));
}

TEST(Expand, TheValueIsAppendedIfNothingAsksForIt) {
  EXPECT_EQ(argv_of(job_of("gzip -9"), {"a b"}), (Words{"gzip", "-9", "a b"}));
  EXPECT_EQ(shown(job_of("cat <"), {"a b"}), "cat < 'a b'");
  EXPECT_EQ(argv_of(job_of(Words{"echo", "x y"}), {"a b"}), (Words{"echo", "x y", "a b"}));
  EXPECT_EQ(argv_of(job_of(Words{"echo"}, 2), {"a b", "c"}), (Words{"echo", "a b", "c"}));
  EXPECT_EQ(argv_of(job_of("echo", 2), {"a b", "c"}), (Words{"echo", "a b", "c"}));
}

TEST(Expand, WordsStayWholeWithoutAShell) {
  const Words argv{"prog", "{}", "--in={1};$x", "{#}"};
  EXPECT_EQ(argv_of(job_of(argv), {"a 'b"}, 6), (Words{"prog", "a 'b", "--in=a 'b;$x", "7"}));
}

TEST(Expand, SeveralSourcesHaveNumbers) {
  const model::Spec spec = job_of("cp {1} {2/} {}", 2);
  EXPECT_EQ(argv_of(spec, {"a b", "x/y"}), (Words{"cp", "a b", "y", "a b", "x/y"}));
  EXPECT_EQ(shown(job_of("echo x{}y", 2), {"a b", "c"}), "echo x'a b' cy");
  EXPECT_EQ(argv_of(job_of(Words{"echo", "x{}y"}, 2), {"a b", "c"}), (Words{"echo", "xa b cy"}));
}

TEST(Expand, ColumnsHaveNumbersAndNames) {
  model::Spec spec = job_of("join {2} {name.} {1} {3}");
  spec.mutable_inputs()->set_colsep(",");
  spec.mutable_inputs()->add_columns("id");
  spec.mutable_inputs()->add_columns("name");
  EXPECT_EQ(argv_of(spec, {"1,a b.c"}), (Words{"join", "a b.c", "a b", "1", ""}));
  spec.mutable_command()->set_line("echo {}");
  EXPECT_EQ(argv_of(spec, {"1,a b"}), (Words{"echo", "1", "a b"}));
  spec.mutable_inputs()->set_colsep("[");
  EXPECT_TRUE(expand(spec, 0, {"x"}).ok());
  spec.mutable_inputs()->set_colsep("[a");
  EXPECT_EQ(expand(spec, 0, {"x"}).error().code, Code::invalid);
}

TEST(Expand, AnArrayGivesItsNumberAndAppendsNothing) {
  model::Spec spec = job_of("./sim {#} {} {1}", 0);
  spec.mutable_inputs()->set_first(10);
  spec.mutable_inputs()->set_step(3);
  EXPECT_EQ(shown(spec, {}, 2), "./sim 16 16 16");
  spec.mutable_command()->set_line("./sim");
  EXPECT_EQ(shown(spec, {}, 2), "./sim");
  model::Spec listed = job_of("./sim {#}");
  listed.mutable_inputs()->set_listed(true);
  EXPECT_EQ(shown(listed, {"7"}, 2), "./sim 7");
  listed.mutable_command()->set_line("./sim");
  EXPECT_EQ(shown(listed, {"7"}, 2), "./sim");
}

TEST(Expand, ASingleTaskHasNoPlaceholders) {
  model::Spec spec = job_of(Words{"find", ".", "-exec", "ls", "{}", ";"}, 0);
  spec.mutable_inputs()->set_single(true);
  EXPECT_EQ(argv_of(spec, {}), (Words{"find", ".", "-exec", "ls", "{}", ";"}));
  spec.mutable_command()->clear_argv();
  spec.mutable_command()->set_function("f");
  EXPECT_EQ(expand(spec, 0, {}).value().argument, "");
}

TEST(Expand, AFunctionGetsTheValueAsItIs) {
  model::Spec spec = job_of("");
  spec.mutable_command()->set_function("f");
  const Expanded expanded = expand(spec, 0, {"it's\n"}).value();
  EXPECT_EQ(expanded.argument, "it's\n");
  EXPECT_TRUE(expanded.argv.empty());
}

TEST(Expand, AnObjectBringsItsOwnCommandOrFieldsForTheJobs) {
  model::Spec spec = job_of("");
  spec.mutable_inputs()->set_json(true);
  spec.set_cwd("/job");
  auto* variable = spec.add_env();
  variable->set_name("A");
  variable->set_value("1");
  const Expanded own =
      expand(spec, 0, {R"({"argv":["p","{}"],"env":{"B":"2"},"cwd":"/t","stdin":"i"})"}).value();
  EXPECT_EQ(own.argv, (Words{"p", "{}"}));
  EXPECT_EQ(own.env.size(), 2U);
  EXPECT_EQ(own.env[1].first, "B");
  EXPECT_EQ(own.cwd, "/t");
  EXPECT_EQ(own.stdin_bytes, "i");
  EXPECT_EQ(expand(spec, 0, {R"({"command":"a; b"})"}).value().argv[2], "a; b");
  EXPECT_EQ(expand(spec, 0, {"{}"}).error().code, Code::invalid);
  EXPECT_EQ(expand(spec, 0, {"no"}).error().code, Code::invalid);

  spec.mutable_command()->set_line("sim {size} {file.} ${HOME}");
  EXPECT_EQ(shown(spec, {R"({"size":3,"file":"a b.c"})"}), "sim 3 'a b' ${HOME}");
}

TEST(Expand, TheOwnFolderOfATaskIsBelowThatOfTheJob) {
  model::Spec spec = job_of("true");
  spec.mutable_inputs()->set_json(true);
  const auto own = [&spec](const std::string& folder) {
    return expand(spec, 0, {R"({"cwd":")" + folder + "\"}"});
  };
  spec.set_cwd("/job");
  EXPECT_EQ(own("/t").value().cwd, "/t");
  EXPECT_EQ(own("sub").value().cwd, "/job/sub");
  EXPECT_EQ(own("..").value().cwd, "/job/..");
  EXPECT_EQ(own("task").value().cwd, "");
  // Whether the submitter's folder is there is for the worker to say.
  spec.set_cwd("?ab/home");
  EXPECT_EQ(own("sub").value().cwd, "?ab/home");
  EXPECT_EQ(own("sub").value().below, "sub");
  EXPECT_EQ(own("task").value().cwd, "");
  EXPECT_EQ(own("/t").value().below, "");
  spec.clear_cwd();
  EXPECT_EQ(own("/t").value().cwd, "/t");
  EXPECT_EQ(own("sub").error().code, Code::invalid);
  EXPECT_NE(own(".").error().what.find("absolute path"), std::string::npos);
}

TEST(Expand, ACommandThatGrowsWithoutBoundIsRefused) {
  std::string line = "x";
  for (int i = 0; i < 1000; ++i) line += " {}";
  const auto refused = expand(job_of(line), 0, {std::string(64 << 10, 'v')});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("more than 2097152 bytes"), std::string::npos);
  EXPECT_FALSE(expand(job_of(line + ";"), 0, {std::string(64 << 10, 'v')}).ok());
}

TEST(Expand, AJobWithoutACommandIsRefused) {
  EXPECT_EQ(Template::compile(job_of("")).error().code, Code::invalid);
}

TEST(Expand, AProgramNamedLikeABuiltinIsShownInQuotes) {
  Expanded expanded;
  expanded.argv = {"cd", "a b"};
  EXPECT_EQ(shown_command(expanded), "'cd' 'a b'");
  expanded.argv = {"a=b", ""};
  EXPECT_EQ(shown_command(expanded), "'a=b' ''");
}

model::Inputs sources_of(const std::vector<std::pair<uint64_t, bool>>& sources) {
  model::Inputs inputs;
  for (const auto& [count, linked] : sources) {
    auto* source = inputs.add_sources();
    source->set_count(count);
    source->set_linked(linked);
  }
  return inputs;
}

TEST(Expand, TheLastSourceVariesFastestAndLinkedOnesGoAlong) {
  const model::Inputs inputs = sources_of({{2, false}, {3, false}, {3, true}});
  EXPECT_EQ(count_tasks(inputs).value(), 6U);
  std::vector<std::vector<uint64_t>> all;
  all.reserve(6);
  for (uint64_t task = 0; task < 6; ++task) all.push_back(source_indices(inputs, task));
  EXPECT_EQ(all, (std::vector<std::vector<uint64_t>>{
                     {0, 0, 0}, {0, 1, 1}, {0, 2, 2}, {1, 0, 0}, {1, 1, 1}, {1, 2, 2}}));
  EXPECT_TRUE(source_indices(model::Inputs(), 5).empty());
}

TEST(Expand, TooManyCombinationsAndUnequalLinksAreRefused) {
  EXPECT_EQ(count_tasks(sources_of({{5, false}, {0, false}})).value(), 0U);
  EXPECT_EQ(count_tasks(sources_of({{kTasksMax, false}})).value(), kTasksMax);
  EXPECT_FALSE(count_tasks(sources_of({{1'000'000, false}, {1'000'000, false}})).ok());
  EXPECT_FALSE(count_tasks(sources_of({{1ULL << 63U, false}, {4, false}})).ok());
  const auto refused = count_tasks(sources_of({{3, false}, {2, true}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what.find("input source 2 has 2 values"), 0U);
}

TEST(Expand, AShellReadsBackWhatWasQuoted) {
  const TestFolder folder;
  const std::string script = folder.path() + "/script";
  const bool holds = rc::check("sh reads back what was quoted", [&] {
    const auto texts = *rc::gen::container<Words>(rc::gen::container<std::string>(rc::gen::oneOf(
        rc::gen::inRange('\x01', '\x7f'), rc::gen::elementOf(Words{"'\"\\$`\n ~"}[0]),
        rc::gen::map(rc::gen::inRange(0x80, 0x100),
                     [](int byte) { return static_cast<char>(byte); }))));
    std::string expected;
    std::ofstream out(script, std::ios::binary);
    for (const std::string& text : texts) {
      out << "printf '%s\\0' " << shell_quote(text) << '\n';
      expected += text + '\0';
    }
    out.close();
    std::FILE* const shell = ::popen(("sh " + script).c_str(), "r");
    RC_ASSERT(shell != nullptr);
    std::string got(expected.size() + 1, '\0');
    got.resize(std::fread(got.data(), 1, got.size(), shell));
    RC_ASSERT(::pclose(shell) == 0);
    RC_ASSERT(got == expected);
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace dunlin
