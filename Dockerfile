# The images of agentbox, on Debian 12. Targets:
#   door       the SSH door; uid 1001, port 2222; for pods, which take agent-box out of it as well
#   box        what an agent works in, with little in it; uid 1000. Any other Linux image does as well
#   box-full   the same with what agents reach for: git, python3, node, ripgrep and the like, but no compiler
#   operator   agentbox-provision and the others, for an operator
#
#   docker build --target door -t agentbox-door:0.1.0 .
#
# `--pull --no-cache` brings the newest fixes; every stage takes the security updates of its day besides. For a fixed base give one
# by digest: --build-arg DEBIAN=debian@sha256:...
# Programs that were made already, by this file or in the same Debian, are taken from an image that has them in /made:
#   docker build --target build -t agentbox-programs . ; docker build --target door --build-arg PROGRAMS=agentbox-programs .
# scripts/images does all of it with Debian's buildah, without a registry, and writes what is in them beside.
ARG DEBIAN=debian:bookworm-slim
ARG PROGRAMS=build

FROM ${DEBIAN} AS build
WORKDIR /source
COPY . .
RUN apt-get update \
 && apt-get upgrade -y \
 && scripts/deps build \
 && cmake --preset release -DAGENTBOX_TESTS=OFF \
 && cmake --build --preset release --target agentbox-sshd agent-box agentbox-provision agentbox_pages \
 && cmake --install build/release --prefix /made --strip

FROM ${PROGRAMS} AS programs

# Caches are nothing that a pod reads; the package database stays, for scanners. Nothing of ours needs a program that changes
# its user.
FROM ${DEBIAN} AS base
RUN apt-get update \
 && apt-get upgrade -y \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*

FROM base AS libraries
RUN apt-get update \
 && apt-get install -y --no-install-recommends libssh-4 libseccomp2 libspdlog1.10 libssl3 libyaml-cpp0.7 \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*

# Mode 0711: a program that its own user cannot read cannot be seized through ptrace as it starts.
FROM libraries AS door
COPY --from=programs --chmod=0711 /made/bin/agentbox-sshd /usr/bin/agentbox-sshd
COPY --from=programs --chmod=0644 /made/share/agentbox/agentbox-sshd.yaml /etc/agentbox/agentbox-sshd.yaml
# A pod's init container copies it, readable here, to where the box's container runs it from, unreadable there.
COPY --from=programs --chmod=0755 /made/bin/agent-box /usr/lib/agentbox/agent-box
USER 1001:1001
EXPOSE 2222
ENTRYPOINT ["/usr/bin/agentbox-sshd"]
CMD ["--config", "/etc/agentbox/agentbox-sshd.yaml"]

# What an agent works with. The programs come last, so that what is below them is not made anew for each change of theirs.
FROM base AS tools
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates file less procps \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*
# Nothing of ours asks who a user is, but ssh and others that an agent may run do.
RUN echo 'agent:x:1000:1000:agent:/home/agent:/bin/bash' >>/etc/passwd \
 && echo 'agent:x:1000:' >>/etc/group \
 && mkdir -p /home/agent /workspace \
 && chown 1000:1000 /home/agent /workspace

FROM tools AS more-tools
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      curl diffutils fd-find git jq make nodejs openssh-client patch python3 python3-pip python3-venv ripgrep tree unzip xz-utils zip \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*

# Started by hand it is an MCP server on its standard input and output; a pod starts its own.
FROM tools AS box
COPY --from=programs --chmod=0711 /made/bin/agent-box /usr/bin/agent-box
WORKDIR /workspace
USER 1000:1000
ENTRYPOINT ["/usr/bin/agent-box"]

FROM more-tools AS box-full
COPY --from=programs --chmod=0711 /made/bin/agent-box /usr/bin/agent-box
WORKDIR /workspace
USER 1000:1000
ENTRYPOINT ["/usr/bin/agent-box"]

FROM libraries AS operator
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap ca-certificates libcurl4 libre2-9 openssh-client \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*
COPY --from=programs /made/ /usr/
USER 1001:1001
ENTRYPOINT ["/usr/bin/agentbox-provision"]
