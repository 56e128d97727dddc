/** Own Dockerfiles to begin with, by the names that the original has for such ones, in alphabetical order (TM-3). */
export const DOCKERFILES: ReadonlyMap<string, string> = new Map([
  [
    'Golang',
    `FROM golang:1 AS build
WORKDIR /src
COPY go.* ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -o /app .

FROM scratch
COPY --from=build /app /app
ENTRYPOINT ["/app"]
`,
  ],
  [
    'HTTPd',
    `FROM httpd:alpine
COPY ./public/ /usr/local/apache2/htdocs/
`,
  ],
  [
    'Node',
    `FROM node:22-slim
WORKDIR /app
COPY package*.json ./
RUN npm ci --omit=dev
COPY . .
USER node
EXPOSE 3000
CMD ["node", "."]
`,
  ],
  [
    'OpenJDK',
    `FROM eclipse-temurin:21-jre
COPY target/*.jar /app.jar
USER nobody
ENTRYPOINT ["java", "-jar", "/app.jar"]
`,
  ],
  [
    'PHP',
    `FROM php:8-apache
COPY . /var/www/html/
`,
  ],
  [
    'Python',
    `FROM python:3-slim
WORKDIR /app
COPY requirements.txt ./
RUN pip install --no-cache-dir -r requirements.txt
COPY . .
USER nobody
CMD ["python", "-m", "app"]
`,
  ],
  [
    'Ruby',
    `FROM ruby:3-slim
WORKDIR /app
COPY Gemfile* ./
RUN bundle install
COPY . .
CMD ["ruby", "app.rb"]
`,
  ],
  [
    'Rust',
    `FROM rust:1 AS build
WORKDIR /src
COPY . .
RUN cargo install --path . --root /usr/local

FROM debian:stable-slim
COPY --from=build /usr/local/bin /usr/local/bin
CMD ["app"]
`,
  ],
])
