// pure: command lines.
#include "provision/cli.h"

#include <string>
#include <vector>

#include "support/catch.h"

using namespace agentbox::provision;

namespace {

using Words = std::vector<std::string>;

template <typename T>
T command(const Words& words) {
  auto parsed = parse_command_line(words, "1.2.3");
  REQUIRE(std::holds_alternative<Invocation>(parsed));
  auto& any = std::get<Invocation>(parsed).command;
  REQUIRE(std::holds_alternative<T>(any));
  return std::get<T>(any);
}

Invocation invocation(const Words& words) {
  auto parsed = parse_command_line(words, "1.2.3");
  REQUIRE(std::holds_alternative<Invocation>(parsed));
  return std::get<Invocation>(parsed);
}

Misused misuse(const Words& words) {
  auto parsed = parse_command_line(words, "1.2.3");
  REQUIRE(std::holds_alternative<Misused>(parsed));
  return std::get<Misused>(parsed);
}

std::string shown(const Words& words) {
  auto parsed = parse_command_line(words, "1.2.3");
  REQUIRE(std::holds_alternative<Shown>(parsed));
  return std::get<Shown>(parsed).text;
}

}  // namespace

TEST_CASE("create takes every option of a local box") {
  const auto create =
      command<Create>({"create", "demo", "--key", "a.pub", "--key", "b.pub", "--identity", "id",
                       "--workspace", "w", "-f", "s.yaml", "--no-isolation"});
  CHECK(create.name.text() == "demo");
  CHECK(create.options.key_files == Words{"a.pub", "b.pub"});
  CHECK(create.options.identity_file == "id");
  CHECK(create.options.workspace == "w");
  CHECK(create.options.spec_file == "s.yaml");
  CHECK(create.options.no_isolation);
}

TEST_CASE("a key option takes one file and leaves the name alone") {
  const auto create = command<Create>({"create", "--key", "a.pub", "demo"});
  CHECK(create.name.text() == "demo");
  CHECK(create.options.key_files == Words{"a.pub"});
}

TEST_CASE("each command is understood") {
  CHECK(command<ShowStatus>({"status", "a"}).name.text() == "a");
  command<List>({"list"});
  CHECK(command<Handoff>({"handoff", "a", "--format", "ssh-config"}).format == Format::kSshConfig);
  command<Suspend>({"suspend", "a"});
  command<Resume>({"resume", "a"});
  CHECK(command<Verify>({"verify", "a", "--keep"}).keep);
  CHECK_FALSE(command<Verify>({"verify", "a"}).suspend);
  CHECK(command<Verify>({"verify", "a", "--suspend"}).suspend);
  CHECK(command<Delete>({"delete", "a", "--yes", "--keep-workspace"}).keep_workspace);
  CHECK(command<Logs>({"logs", "a", "--lines", "3"}).lines == 3);
  command<Supervise>({"supervise", "a"});
  CHECK(command<Rotate>({"rotate", "a", "--key", "b.pub", "--key", "c.pub"}).key_files ==
        Words{"b.pub", "c.pub"});
  CHECK(command<Rotate>({"rotate", "a"}).key_files.empty());
  CHECK(command<Revoke>({"revoke", "a", "--key", "b.pub", "--evict"}).evict);
  CHECK(command<Revoke>({"revoke", "a", "--key", "SHA256:x"}).key == "SHA256:x");
  misuse({"revoke", "a"});
  CHECK(command<Revoke>({"revoke", "a", "--serial", "18446744073709551615"}).serial == UINT64_MAX);
  misuse({"revoke", "a", "--serial", "7", "--key", "SHA256:x"});
  CHECK(command<Revoke>({"revoke", "a", "--serial", "7", "--evict"}).evict);
  for (const char* serial : {"-1", "18446744073709551616", "0x10", "010", "+7", "7 ", ""}) {
    misuse({"revoke", "a", "--serial", serial});
    misuse({"ca", "sign", "--box", "a", "--serial", serial});
  }
  for (const char* option : {"--source-address", "--key-id", "--box", "--key", "--ca", "--ttl"}) {
    misuse({"ca", "sign", "--box", "a", option, ""});
    misuse({"ca", "sign", "--box", "a", option + std::string("=")});
  }
  for (const char* option : {"--ttl", "--serial", "--key-id", "--source-address", "--key"}) {
    misuse({"ca", "init", option, "7"});
    misuse({"ca", "trust", "--box", "a", option, "7"});
  }
  command<CaInit>({"ca", "init"});
  CHECK(command<CaSign>({"ca", "sign", "--box", "a"}).ttl == "1h");
  CHECK(command<CaSign>({"ca", "sign", "--box", "a", "--serial", "7"}).serial == 7U);
  CHECK(command<CaTrust>({"ca", "trust", "--box", "a", "--ca", "f"}).ca == "f");
  CHECK(command<Create>({"create", "a", "--user-ca", "f"}).options.user_ca_files == Words{"f"});
  misuse({"ca", "sign"});
  misuse({"ca", "trust"});
  misuse({"ca", "init", "--box", "a"});
  misuse({"ca", "burn"});
  CHECK(command<Pull>({"pull", "a", "b", "-"}).local == "-");
  CHECK(command<Push>({"push", "a", "-", "b"}).remote == "b");
  command<Doctor>({"doctor", "a"});
  CHECK_FALSE(command<Audit>({"audit"}).name);
  CHECK(command<Audit>({"audit", "a", "--live"}).live);
  CHECK(command<Audit>({"audit", "a"}).fail_on == AuditFailOn::kNothing);
  CHECK(command<Audit>({"audit", "a", "--fail-on", "error"}).fail_on == AuditFailOn::kError);
  CHECK(command<Audit>({"audit", "a", "--format", "sarif"}).format == AuditFormat::kSarif);
  CHECK(command<Audit>({"audit", "a", "--output", "json"}).format == AuditFormat::kJson);
  CHECK(command<Audit>({"audit", "--format", "html", "--out", "x"}).out == "x");
  CHECK(command<AuditLog>({"audit-log", "show", "--box", "a", "--since", "2h"}).since == "2h");
  CHECK(command<AuditLog>({"audit-log", "show", "--box", "a"}).box->text() == "a");
  CHECK(command<AuditLog>({"audit-log", "show", "audit.log"}).file == "audit.log");
  CHECK_FALSE(command<AuditLog>({"audit-log", "show", "a"}).box);
  CHECK(command<AuditLog>({"audit-log", "verify", "-", "--head", "x"}).head == "x");
  CHECK(command<AuditLog>({"audit-log", "timeline", "f", "--format", "svg"}).form ==
        TimelineForm::kSvg);
  CHECK(invocation({"audit-log", "timeline", "f", "--format", "json"}).output == Output::kJson);
  CHECK(command<Completion>({"completion", "fish"}).shell == Shell::kFish);
  misuse({"completion", "tcsh"});
  command<Manual>({"manual"});
}

TEST_CASE("call passes its JSON on untouched, and an empty object without it") {
  const auto call = command<Call>({"call", "a", "shell_exec", R"({"command": "ls -la"})"});
  CHECK(call.tool == "shell_exec");
  CHECK(call.arguments == R"({"command": "ls -la"})");
  CHECK(command<Call>({"call", "a", "list_blobs"}).arguments == "{}");
  CHECK(command<Call>({"call", "a", "t", "-"}).arguments == "-");
  CHECK(command<Call>({"call", "a", "t", "--timeout", "5"}).timeout_seconds == 5);
}

TEST_CASE("global options stand before or after the command") {
  CHECK(invocation({"--output", "json", "list"}).output == Output::kJson);
  CHECK(invocation({"list", "--output", "json"}).output == Output::kJson);
  CHECK(invocation({"create", "a", "--local"}).output == Output::kText);
  CHECK(invocation({"status", "a", "--programs", "/p"}).programs == "/p");
}

TEST_CASE("wrong command lines are told apart from everything else, with a next step") {
  const std::vector<Words> wrong = {
      {},
      {"nonsense"},
      {"create"},
      {"create", "a", "b"},
      {"create", "Bad"},
      {"create", "-x"},
      {"create", "a", "--keys", "x"},
      {"handoff", "a"},
      {"handoff", "a", "--format", "emacs"},
      {"call", "a"},
      {"call", "a", "t", "--timeout", "0"},
      {"logs", "a", "--lines", "many"},
      {"audit-log"},
      {"audit-log", "show"},
      {"audit-log", "show", "--box", "Bad"},
      {"audit-log", "show", "file", "--box", "a"},
      {"audit-log", "burn", "--box", "a"},
      {"audit-log", "verify", "f", "--since", "2h"},
      {"audit-log", "show", "f", "--since", ""},
      {"audit-log", "verify", "f", "--lines", "3"},
      {"audit-log", "show", "f", "--format", "svg"},
      {"audit-log", "timeline", "f", "--event", "auth"},
      {"audit", "Bad"},
      {"audit", "a", "--format", "pdf"},
      {"audit", "a", "--fail-on", "note"},
      {"audit", "a", "--format", "html", "--output", "json"},
      {"list", "--output", "xml"},
  };
  for (const Words& words : wrong) {
    CAPTURE(words);
    const Misused problem = misuse(words);
    CHECK(problem.failure.exit == Exit::kUsage);
    CHECK_FALSE(problem.failure.message.empty());
    CHECK_FALSE(problem.failure.next.empty());
  }
}

TEST_CASE("a command that does not exist is named, with the nearest one") {
  const Misused frob = misuse({"--output", "text", "frob"});
  CHECK(frob.failure.message == "there is no command 'frob'");
  CHECK(frob.failure.next == "agentbox-provision --help lists the commands");
  CHECK(misuse({"craete", "a"}).failure.next.starts_with("did you mean create?"));
  CHECK(misuse({"--context", "c", "resum"}).failure.next.starts_with("did you mean resume?"));
  CHECK(misuse({"supervis"}).failure.next.find("supervise") == std::string::npos);
  misuse({std::string(100'000, 'x')});
}

TEST_CASE("which commands go to a cluster") {
  const auto cluster = [](const Words& words) { return invocation(words).cluster; };
  CHECK_FALSE(cluster({"create", "a"}));
  CHECK_FALSE(cluster({"--local", "list"}));
  CHECK(cluster({"create", "a", "--kubernetes"}));
  CHECK(cluster({"list", "--namespace", "n"})->overrides.ns == "n");
  CHECK(cluster({"--context", "c", "status", "a"})->overrides.context == "c");
  CHECK(cluster({"delete", "a", "--kubeconfig", "f"})->kubeconfig == "f");
  CHECK(cluster({"list", "--exec-plugins", "deny"})->exec_plugins == "deny");
  CHECK(cluster({"preflight"}));
  CHECK(std::get<Render>(invocation({"render", "a", "--size", "2Gi"}).command).options.size ==
        "2Gi");
  CHECK(cluster({"gc"}));
  CHECK(std::get<Gc>(invocation({"gc", "--older-than", "2h", "--dry-run"}).command).dry_run);
  CHECK(std::get<RenderGuard>(invocation({"render", "--guard", "a", "--guard", "b:c"}).command)
            .accounts == Words{"a", "b:c"});
  const auto options = std::get<Create>(invocation({"create", "a", "--kubernetes", "--label", "a=b",
                                                    "--label", "c=d", "--egress-to", "10.0.0.0/8"})
                                            .command)
                           .options;
  CHECK(options.labels == Words{"a=b", "c=d"});
  CHECK(options.egress_to == Words{"10.0.0.0/8"});
  CHECK(std::get<ShowRole>(invocation({"rbac", "create", "delete"}).command).commands ==
        Words{"create", "delete"});
}

TEST_CASE("templates and pools") {
  const auto made = command<TemplateCommand>({"template", "apply", "small", "--image", "x:1"});
  CHECK(made.action == PoolAction::kApply);
  CHECK(made.name->text() == "small");
  CHECK(made.options.image == "x:1");
  const auto pool =
      command<PoolCommand>({"pool", "apply", "warm", "--template", "small", "--replicas", "0"});
  CHECK(pool.from_template->text() == "small");
  CHECK(pool.replicas == 0);
  CHECK_FALSE(command<PoolCommand>({"pool", "apply", "warm", "--template", "small"}).replicas);
  CHECK(command<PoolCommand>({"pool", "list"}).action == PoolAction::kList);
  CHECK(command<TemplateCommand>({"template", "delete", "small"}).action == PoolAction::kDelete);
  CHECK(invocation({"pool", "status", "warm"}).cluster);
  CHECK(invocation({"create", "a", "--from-pool", "warm"}).cluster);
  const auto create = command<Create>({"create", "a", "--from-pool", "warm", "--wait", "5"});
  CHECK(create.options.pool == "warm");
  CHECK(create.options.wait_seconds == 5);
  for (const Words& words :
       std::vector<Words>{{"template", "apply"},
                          {"template", "fly", "small"},
                          {"template", "list", "small"},
                          {"template", "apply", "Small"},
                          {"template", "delete", "small", "--image", "x"},
                          {"template", "apply", "small", "--key", "a.pub"},
                          {"pool", "apply", "warm"},
                          {"pool", "apply", "warm", "--template", "../x"},
                          {"pool", "status", "warm", "--replicas", "2"},
                          {"pool", "apply", "warm", "--template", "small", "--replicas", "-1"},
                          {"pool", "apply", "warm", "--template", "small", "--replicas", "10001"},
                          {"pool", "list", "--local"},
                          {"create", "a", "--kubernetes", "--wait", "5"},
                          {"create", "a", "--from-pool", ""},
                          {"create", "a", "--from-pool", "../x"}}) {
    CAPTURE(words);
    CHECK(misuse(words).failure.exit == Exit::kUsage);
  }
}

TEST_CASE(
    "what belongs to a cluster is refused for a box on this machine, and the other way round") {
  for (const Words& words : std::vector<Words>{{"create", "a", "--size", "1Gi"},
                                               {"create", "a", "--image", "x"},
                                               {"create", "a", "--local", "--context", "c"},
                                               {"create", "a", "--local", "--from-pool", "p"},
                                               {"create", "a", "--retain-data"},
                                               {"create", "a", "--label", "a=b"},
                                               {"create", "a", "--egress", "dns"},
                                               {"verify", "a", "--runtime-class", "gvisor"},
                                               {"create", "a", "--kubernetes", "--egress", "all"},
                                               {"render", "a", "--guard", "b"},
                                               {"render"},
                                               {"gc", "--local"},
                                               {"rbac"}}) {
    CAPTURE(words);
    CHECK_FALSE(misuse(words).failure.message.empty());
  }
}

TEST_CASE("a usage error is due in JSON where JSON was asked for, wherever the words stand") {
  CHECK(misuse({"create", "--output", "json"}).output == Output::kJson);
  CHECK(misuse({"--output=json", "nonsense"}).output == Output::kJson);
  CHECK(misuse({"nonsense"}).output == Output::kText);
}

TEST_CASE("help and version") {
  CHECK(shown({"--version"}) == "1.2.3");
  for (const char* word : {"create", "verify", "handoff", "3 no such box", "AGENTBOX_STATE_DIR"}) {
    CHECK(shown({"--help"}).find(word) != std::string::npos);
  }
  CHECK(shown({"--help"}).find("supervise") == std::string::npos);
  CHECK(shown({"create", "--help"}).find("Usage: agentbox-provision create [OPTIONS] NAME") !=
        std::string::npos);
}
