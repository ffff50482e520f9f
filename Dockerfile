# Builds the three programs on Debian 12. Two images come out of it:
#   docker build --target door -t agentbox-door:0.1.0 .   the SSH door; uid 1001, port 2222; for pods, which
#                                                         take agent-box out of it as well
#   docker build --target operator -t agentbox .          agentbox-provision and the others, for an operator
# `--pull --no-cache` brings the newest fixes of the libraries. For a fixed base give one by digest:
#   --build-arg DEBIAN=debian@sha256:... --build-arg DEBIAN_SLIM=debian@sha256:...
ARG DEBIAN=debian:12
ARG DEBIAN_SLIM=debian:12-slim

FROM ${DEBIAN} AS build
WORKDIR /source
COPY . .
RUN scripts/deps build \
 && cmake --preset release -DAGENTBOX_TESTS=OFF \
 && cmake --build --preset release \
 && cmake --install build/release --prefix /made --strip

FROM ${DEBIAN_SLIM} AS runtime
RUN apt-get update \
 && apt-get install -y --no-install-recommends libssh-4 libseccomp2 libspdlog1.10 libssl3 libyaml-cpp0.7 \
 && rm -rf /var/lib/apt/lists/*

# Mode 0711: a program that its own user cannot read cannot be seized through ptrace as it starts.
FROM runtime AS door
COPY --from=build --chmod=0711 /made/bin/agentbox-sshd /usr/bin/agentbox-sshd
COPY --from=build --chmod=0644 /source/config/agentbox-sshd.yaml /etc/agentbox/agentbox-sshd.yaml
# A pod's init container copies it, readable here, to where the box's container runs it from, unreadable there.
COPY --from=build --chmod=0755 /made/bin/agent-box /usr/lib/agentbox/agent-box
USER 1001:1001
EXPOSE 2222
ENTRYPOINT ["/usr/bin/agentbox-sshd"]
CMD ["--config", "/etc/agentbox/agentbox-sshd.yaml"]

FROM runtime AS operator
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap ca-certificates libcurl4 openssh-client \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /made/ /usr/
ENTRYPOINT ["/usr/bin/agentbox-provision"]
