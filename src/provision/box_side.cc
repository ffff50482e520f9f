// pure: see box_side.h.
#include "provision/box_side.h"

#include <array>

namespace agentbox::provision {
namespace {

constexpr std::array<std::string_view, 62> kEtc = {"alternatives",
                                                   "bash.bashrc",
                                                   "bindresvport.blacklist",
                                                   "ca-certificates",
                                                   "ca-certificates.conf",
                                                   "crypto-policies",
                                                   "debian_version",
                                                   "default/locale",
                                                   "dpkg",
                                                   "emacs",
                                                   "ethertypes",
                                                   "fonts",
                                                   "gai.conf",
                                                   "gitconfig",
                                                   "gprofng.rc",
                                                   "host.conf",
                                                   "hosts",
                                                   "inputrc",
                                                   "java-11-openjdk",
                                                   "java-17-openjdk",
                                                   "java-21-openjdk",
                                                   "ld.so.cache",
                                                   "ld.so.conf",
                                                   "ld.so.conf.d",
                                                   "locale.alias",
                                                   "locale.conf",
                                                   "locale.gen",
                                                   "localtime",
                                                   "lsb-release",
                                                   "magic",
                                                   "magic.mime",
                                                   "mailcap",
                                                   "maven",
                                                   "mime.types",
                                                   "nanorc",
                                                   "networks",
                                                   "npmrc",
                                                   "nsswitch.conf",
                                                   "os-release",
                                                   "perl",
                                                   "pip.conf",
                                                   "pki",
                                                   "profile",
                                                   "profile.d",
                                                   "protocols",
                                                   "python3",
                                                   "python3.11",
                                                   "python3.12",
                                                   "python3.13",
                                                   "resolv.conf",
                                                   "rpc",
                                                   "services",
                                                   "sgml",
                                                   "shells",
                                                   "skel",
                                                   "ssl",
                                                   "terminfo",
                                                   "timezone",
                                                   "vim",
                                                   "wgetrc",
                                                   "xattr.conf",
                                                   "xml"};

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

// The namespaces and the system, as the real thing and the trial share them.
Words walls(const HostFacts& host) {
  Words words = {host.bubblewrap, "--unshare-user", "--unshare-pid", "--unshare-ipc",
                 "--unshare-uts", "--unshare-cgroup-try",
                 // What is in the box dies with whoever keeps it, however that ends.
                 "--die-with-parent",
                 // No controlling terminal into which characters could be pushed.
                 "--new-session", "--clearenv", "--ro-bind", "/usr", "/usr"};
  for (const RootEntry& entry : host.root_entries) {
    if (entry.target.empty()) {
      append(words, {"--ro-bind", entry.path, entry.path});
    } else {
      append(words, {"--symlink", entry.target, entry.path});
    }
  }
  append(words, {"--proc", "/proc", "--dev", "/dev"});
  for (const std::string& path : host.etc) {
    append(words, {"--ro-bind", path, path});
  }
  return words;
}

Words spawner(const std::string& program, const std::string& socket, const std::string& workspace,
              const std::string& home, const std::string& tmp, const std::string& out) {
  return {program,  "spawner", "--link", socket, "--workspace", workspace,
          "--home", home,      "--tmp",  tmp,    "--out",       out};
}

}  // namespace

std::span<const std::string_view> etc_allow_list() { return kEtc; }

std::vector<std::string> isolated_box_side(const HostFacts& host, const BoxPaths& paths,
                                           const std::string& workspace,
                                           const std::string& hostname) {
  Words words = walls(host);
  append(words, {"--as-pid-1", "--hostname", hostname});
  append(words, {"--ro-bind", paths.system_files + "/passwd", "/etc/passwd"});
  append(words, {"--ro-bind", paths.system_files + "/group", "/etc/group"});
  append(words, {"--bind", paths.tmp, kBoxTmp, "--dir", "/var", "--symlink", "../tmp", "/var/tmp"});
  append(words, {"--bind", paths.out, kBoxOut, "--bind", paths.home, kBoxHome});
  append(words, {"--bind", workspace, kBoxWorkspace});
  append(words, {"--ro-bind", paths.link, kBoxLink});
  append(words, {"--ro-bind", paths.programs + "/agent-box", kBoxProgram});
  // Last: the empty root is memory, and only the folders above are to be written.
  append(words, {"--remount-ro", "/", "--chdir", kBoxWorkspace, "--"});
  append(words, spawner(kBoxProgram, std::string(kBoxLink) + "/door.sock", kBoxWorkspace, kBoxHome,
                        kBoxTmp, kBoxOut));
  return words;
}

std::vector<std::string> open_box_side(const BoxPaths& paths, const std::string& workspace) {
  return spawner(paths.programs + "/agent-box", paths.socket, workspace, paths.home, paths.tmp,
                 paths.out);
}

std::vector<std::string> isolation_trial(const HostFacts& host) {
  Words words = walls(host);
  append(words, {"--tmpfs", "/tmp", "--remount-ro", "/", "--", "/usr/bin/true"});
  return words;
}

std::string passwd_text(unsigned uid, unsigned gid) {
  return "agent:x:" + std::to_string(uid) + ":" + std::to_string(gid) + ":agent:" + kBoxHome +
         ":/bin/sh\nroot:x:0:0:root:/root:/usr/sbin/nologin\n"
         "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
}

std::string group_text(unsigned gid) {
  return "agent:x:" + std::to_string(gid) + ":\nroot:x:0:\nnogroup:x:65534:\n";
}

}  // namespace agentbox::provision
