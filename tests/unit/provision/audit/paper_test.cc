// pure: tests of provision/audit: the report in each of its forms.
#include "provision/audit/paper.h"

#include <algorithm>

#include "base/text.h"
#include "provision/audit/style.h"
#include "sample.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision::audit;

namespace {

Paper paper_of(const BoxFacts& facts) {
  return {"2026-11-30T10:00:00.000Z", "1.2.3", {describe(facts)}};
}

// Every text that comes from outside, as somebody who means harm would choose it.
BoxFacts hostile_box() {
  const std::string evil = "\"'><script>alert(1)</script>&\x1b[31m\n</style>\xff\xe2\x80\xae";
  BoxFacts facts = sound_box();
  facts.state = evil;
  facts.config = "/a b/" + evil;
  facts.policy->library.version = evil;
  facts.policy->address = evil;
  facts.policy->keys_error = evil;
  facts.policy->requests.push_back({evil, evil});
  facts.policy->algorithms.push_back({evil, "md5" + evil});
  facts.policy->limits.push_back({evil, 1, 1, evil});
  facts.policy->pass_env = {evil};
  facts.keys[0].listed.label = evil;
  facts.keys[0].also_in = {evil};
  facts.keys[0].type = evil;
  facts.places[0].path = "/" + evil;
  facts.places[0].mode = 0777;
  facts.isolation->processes[2].descriptors.push_back("9 " + evil);
  facts.isolation->written = evil;
  facts.trials.push_back({evil, evil, true, false});
  facts.behind_wall = {evil};
  facts.audit_log = evil;
  facts.pinned = evil;
  return facts;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t number = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++number;
  }
  return number;
}

}  // namespace

TEST_CASE("a sound box is said to be sound in each form") {
  const Paper paper = paper_of(sound_box());
  CHECK(render_text(paper).find("\nsound: nothing was found\n") != std::string::npos);
  CHECK(render_html(paper).find("sound: nothing was found") != std::string::npos);
  const Json json = Json::parse(dump_json(render_json(paper)));
  CHECK(json.at("sound") == true);
  CHECK(json.at("boxes").at(0).at("findings").empty());
  CHECK(Json::parse(dump_json(render_sarif(paper))).at("runs").at(0).at("results").empty());
}

TEST_CASE("every row has a cell for each column") {
  for (const BoxFacts& facts : {sound_box(), hostile_box(), BoxFacts{}}) {
    for (const Section& section : describe(facts).sections) {
      CAPTURE(section.id);
      for (const auto& row : section.rows) {
        CHECK(row.size() == section.columns.size());
      }
    }
  }
}

TEST_CASE("a finding is told with why it matters and what to do, in each form") {
  BoxFacts facts = sound_box();
  facts.policy->keys_trust = "any";
  const Rule& rule = rule_of(RuleId::kKeysTrustAny);
  const Paper paper = paper_of(facts);
  const std::string text = render_text(paper);
  CHECK(text.find("error    AB002  " + std::string(rule.title)) != std::string::npos);
  CHECK(text.find("fix      " + std::string(rule.fix)) != std::string::npos);
  const Json finding =
      Json::parse(dump_json(render_json(paper))).at("boxes").at(0).at("findings").at(0);
  for (const char* member :
       {"rule", "severity", "title", "subject", "detail", "why", "fix", "reference", "path"}) {
    CHECK(finding.contains(member));
  }
  const std::string page = render_html(paper);
  CHECK(page.find("AB002") != std::string::npos);
  CHECK(page.find("entry is weak") != std::string::npos);
}

TEST_CASE("SARIF has the shape of its specification") {
  const Json sarif = Json::parse(dump_json(render_sarif(paper_of(hostile_box()))));
  CHECK(sarif.at("version") == "2.1.0");
  const Json& run = sarif.at("runs").at(0);
  const Json& rules = run.at("tool").at("driver").at("rules");
  CHECK(rules.size() == all_rules().size());
  REQUIRE_FALSE(run.at("results").empty());
  for (const Json& result : run.at("results")) {
    CHECK(rules.at(result.at("ruleIndex").get<std::size_t>()).at("id") == result.at("ruleId"));
    CHECK((result.at("level") == "error" || result.at("level") == "warning"));
    CHECK(result.at("message").at("text").is_string());
    const Json& place = result.at("locations").at(0);
    const auto uri =
        place.at("physicalLocation").at("artifactLocation").at("uri").get<std::string>();
    CHECK(uri.starts_with("file:///"));
    CHECK(uri.find_first_of(" <>\"\n\x1b") == std::string::npos);
    CHECK(place.at("logicalLocations").at(0).at("kind") == "resource");
    CHECK(result.at("partialFingerprints").at("agentboxFinding/v1").get<std::string>().size() ==
          64);
  }
}

TEST_CASE("one weakness keeps its fingerprint when its detail changes") {
  BoxFacts facts = sound_box();
  facts.places[0].mode = 0640;
  const auto print = [&] {
    return Json::parse(dump_json(render_sarif(paper_of(facts))))
        .at("runs")
        .at(0)
        .at("results")
        .at(0)
        .at("partialFingerprints");
  };
  const Json before = print();
  facts.places[0].mode = 0644;
  CHECK(print() == before);
}

TEST_CASE("nothing that came from outside is markup on the page") {
  const std::string page = render_html(paper_of(hostile_box()));
  CHECK(page.find("<script") == std::string::npos);
  CHECK(count_of(page, "</style>") == 1);
  CHECK(page.find("&lt;script&gt;alert(1)&lt;/script&gt;&amp;") != std::string::npos);
  // Beside its own line ends the page is printable ASCII: no escape, no bidirectional mark.
  CHECK(std::all_of(page.begin(), page.end(),
                    [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

TEST_CASE("the page loads nothing, and its policy says so") {
  const std::string page = render_html(paper_of(hostile_box()));
  const std::string style(style_sheet());
  CHECK(page.find("<style>" + style + "</style>") != std::string::npos);
  CHECK(page.find("content=\"default-src 'none'; style-src 'sha256-" +
                  base64_encode(sha256(style)) + "'; base-uri 'none'; form-action 'none'\"") !=
        std::string::npos);
  for (const char* loader : {"http:", "https:", "src=", "href=", "url(", "@import", "style=\"",
                             " onload", "<iframe", "<link", "<img"}) {
    CAPTURE(loader);
    CHECK(page.find(loader) == std::string::npos);
  }
}

TEST_CASE("a terminal sees no control character") {
  const std::string text = render_text(paper_of(hostile_box()));
  CHECK(std::all_of(text.begin(), text.end(),
                    [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

TEST_CASE("several boxes are summed up") {
  BoxFacts weak = sound_box();
  weak.audit_log = "a line is missing";
  const Paper paper{"t", "v", {describe(sound_box()), describe(weak)}};
  CHECK(render_text(paper).ends_with("2 boxes: 1 error, 0 warnings\n"));
  CHECK(Json::parse(dump_json(render_json(paper))).at("counts").at("error") == 1);
}

TEST_CASE("a policy is read whole or not at all") {
  CHECK_FALSE(read_policy("").ok());
  CHECK_FALSE(read_policy("{}").ok());
  CHECK_FALSE(read_policy(R"({"policy":[],"effective":{}})").ok());
  const auto why = read_policy(R"({"policy":[{"section":"login","what":"x"}],"effective":{}})");
  REQUIRE_FALSE(why.ok());
  CHECK(why.error().what.find("policy[].gets") != std::string::npos);
}
