# Builds the three programs on Debian 12. Two images come out of it:
#   docker build --target door -t agentbox-door .      the SSH door; uid 1001, port 2222
#   docker build --target operator -t agentbox .       agentbox-provision and the others, for an operator
FROM debian:12 AS build
WORKDIR /source
COPY . .
RUN scripts/deps build \
 && cmake --preset release -DAGENTBOX_TESTS=OFF \
 && cmake --build --preset release

FROM debian:12-slim AS runtime
RUN apt-get update \
 && apt-get install -y --no-install-recommends libssh-4 libseccomp2 libspdlog1.10 libssl3 libyaml-cpp0.7 \
 && rm -rf /var/lib/apt/lists/*

# Mode 0711: a program that its own user cannot read cannot be seized through ptrace as it starts.
FROM runtime AS door
COPY --from=build --chmod=0711 /source/build/release/bin/agentbox-sshd /usr/bin/agentbox-sshd
USER 1001:1001
EXPOSE 2222
ENTRYPOINT ["/usr/bin/agentbox-sshd"]
CMD ["--config", "/etc/agentbox/agentbox-sshd.yaml"]

FROM runtime AS operator
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap openssh-client \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build --chmod=0711 /source/build/release/bin/ /usr/bin/
ENTRYPOINT ["/usr/bin/agentbox-provision"]
