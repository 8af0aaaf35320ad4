# The image of kv-accord. Built by BuildKit, podman or buildah:
#
#   docker build --build-arg VERSION=0.1.0 -t kv-accord:0.1.0 .
#
# docs/image.md says what is in it and how to run it.

# The recommended line of Node on Debian 12, as the index of all processors that docker-library published on
# 19 September 2026 (Node 22.23.2; repos/node/remote/22-bookworm-slim.md of docker-library/repo-info).
# SECURITY.md says when and how it is renewed.
ARG NODE_IMAGE=node:22-bookworm-slim@sha256:48e4b67d85f87bd551df43704e24d252f56cc5f8e9718841aace50f19948f0f9

# All that is built is JavaScript, and the one native library comes ready for each processor, so that this
# stage runs on the builder's own processor, whichever the image is for.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
# Of the image, as the builder says it: amd64 or arm64. Nothing means that of this machine.
ARG TARGETARCH
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# No package needs its install script: zeromq would look for its ready library, protobufjs compares versions.
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts
COPY LICENSE tsconfig.json ./
COPY scripts scripts
COPY src src
RUN npm run build \
  && node --experimental-import-meta-resolve scripts/production-tree.mjs --arch "${TARGETARCH}" /production

FROM ${NODE_IMAGE}
# No signal opens the inspector, not even before the program itself sees to that (src/edge/platform/processes/process-signals.ts).
# Node 20, 22.13 and 23.6 refuse to start with it: set before Node runs below, it fails the build on such a base.
ENV NODE_OPTIONS=--disable-sigusr1
# Packages first: they change less often than the program, and their layer then stays the same.
COPY --from=build /production/node_modules /opt/kv-accord/node_modules
# What installs packages has no place where nothing is installed, and the entrypoint of the base is a shell
# script. That the library for ZeroMQ loads shows that it is the one for this image's processor.
RUN rm -rf /opt/yarn-* /usr/local/include/node /usr/local/lib/node_modules /usr/local/share/doc/node \
    /usr/local/bin/corepack /usr/local/bin/docker-entrypoint.sh /usr/local/bin/npm /usr/local/bin/npx \
    /usr/local/bin/yarn /usr/local/bin/yarnpkg \
  && ln -s /opt/kv-accord/dist/cli/main.js /usr/local/bin/kv-accord \
  && node --eval "require('/opt/kv-accord/node_modules/zeromq')"
COPY --from=build /production/LICENSE /production/package.json /production/sbom.cdx.json /opt/kv-accord/
COPY --from=build /production/dist /opt/kv-accord/dist

# The same as in package.json; a test keeps it so.
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="kv-accord" \
  org.opencontainers.image.description="Every worker, every router, one KV block size: reads the truth from running LLM engines and opens the gate only when all agree." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}"

ENV NODE_ENV=production
# Numeric, so that a kubelet can see that it is not root. It owns nothing and writes nothing.
USER 65532:65532
WORKDIR /opt/kv-accord
# No HEALTHCHECK: Kubernetes ignores it, and which port is to be asked depends on the command. Probes ask it.
STOPSIGNAL SIGTERM
ENTRYPOINT ["kv-accord"]
CMD ["--help"]
