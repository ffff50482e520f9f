// pure: tests of base/yaml.
#include "base/yaml.h"

#include "support/catch.h"

using namespace agentbox;

TEST_CASE("keys that are missing keep their defaults, ones that are there replace them") {
  auto map = YamlMap::parse("name: x\nport: 22\non: true\nlist: [a, b]\ninner: {k: v}\n").value();
  std::string name = "default";
  std::string missing = "default";
  std::uint64_t port = 1;
  bool on = false;
  std::vector<std::string> list;
  map.text("name", name);
  map.text("missing", missing);
  map.number("port", port, 1, 100);
  map.boolean("on", on);
  map.texts("list", list);
  YamlMap inner = map.map("inner");
  std::string k;
  inner.text("k", k);
  CHECK(map.finish().ok());
  CHECK(inner.finish().ok());
  CHECK(name == "x");
  CHECK(missing == "default");
  CHECK(port == 22);
  CHECK(on);
  CHECK(list == std::vector<std::string>{"a", "b"});
  CHECK(k == "v");
}

TEST_CASE("an unknown key is an error with its line") {
  auto map = YamlMap::parse("a: 1\nprot: 22\n").value();
  std::string a;
  map.text("a", a);
  const Status done = map.finish();
  REQUIRE_FALSE(done.ok());
  CHECK(done.error().what == "line 2: unknown key prot");
}

TEST_CASE("a key given twice, a wrong type and a number out of range are errors") {
  const auto problem = [](const char* text) {
    auto map = YamlMap::parse(text).value();
    std::uint64_t n = 5;
    map.number("n", n, 1, 10);
    return map.finish().ok() ? std::string() : map.finish().error().what;
  };
  CHECK(problem("n: 10") == "");
  CHECK(problem("n: 11") == "line 1: n must be a whole number from 1 to 10");
  CHECK(problem("n: 1.5") != "");
  CHECK(problem("n: [1]") != "");
  CHECK(problem("n: 1\nn: 2") == "line 2: n is given twice");
}

TEST_CASE("what is no mapping, or no YAML, is an error") {
  CHECK_FALSE(YamlMap::parse("- a\n- b\n").ok());
  CHECK_FALSE(YamlMap::parse("a: [").ok());
  CHECK_FALSE(YamlMap::parse("a: 1\n---\nb: 2\n").ok());
  CHECK_FALSE(YamlMap::parse(",").ok());
  CHECK_FALSE(YamlMap::parse(", a: 1").ok());
  CHECK_FALSE(YamlMap::parse("a: 1\n}").ok());
  CHECK(YamlMap::parse("").ok());
  CHECK(YamlMap::parse("# nothing\n").ok());
}

TEST_CASE("a document as JSON: scalars mean what Kubernetes' tools take them for") {
  const auto json = yaml_to_json(
      "s: word\nq: \"12\"\nb: yes\nz: ~\nempty:\ni: 12\nh: 0x1f\nf: 1.5\ndate: 2020-01-01\n"
      "hex: deadbeef\nversion: 1.2.3\nlist: [a, {k: v}]\ntext: |\n  two\n  lines\n");
  REQUIRE(json.ok());
  CHECK(*json == Json::parse(R"({"s":"word","q":"12","b":true,"z":null,"empty":null,"i":12,"h":31,
    "f":1.5,"date":"2020-01-01","hex":"deadbeef","version":"1.2.3","list":["a",{"k":"v"}],
    "text":"two\nlines\n"})"));
  CHECK(yaml_to_json("").value().is_null());
  CHECK(yaml_to_json("{\"a\": [1]}").value() == Json::parse(R"({"a":[1]})"));
}

TEST_CASE("a document as JSON: what is ambiguous or endless is refused") {
  CHECK(yaml_to_json("a: 1\nb: {c: 1, c: 2}\n").error().what == "line 2: c is given twice");
  CHECK_FALSE(yaml_to_json("a: {<<: {b: 1}}\n").ok());
  CHECK_FALSE(yaml_to_json("[a]: 1\n").ok());
  CHECK_FALSE(yaml_to_json("null: 1\n").ok());
  CHECK_FALSE(yaml_to_json("a: 1\n---\nb: 1\n").ok());
  CHECK_FALSE(yaml_to_json("a: \xff\n").ok());
  CHECK(yaml_to_json("&a [*a]\n").error().code == Code::kLimit);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 9; ++j) {
      bomb += ", " + before;
    }
    bomb += "]\n";
  }
  CHECK(yaml_to_json(bomb).error().code == Code::kLimit);
}
