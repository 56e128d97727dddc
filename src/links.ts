import { withoutTrailing } from './lib/text/without-trailing.js'

/** Builds the URLs in responses from the configured base URL, never from a Host header (W-17). */
export interface Links {
  /** Scheme, host, port and path prefix, without a trailing slash. */
  base: string
  /** The path prefix alone: `/roost`, or empty. */
  prefix: string
  user(username: string): string
  group(fullPath: string): string
  project(fullPath: string): string
  /** The host, with its port, as images of the container registry name it. */
  registry: string
  /** A URL of the API, for a path such as `/projects/1`. */
  api(path: string): string
  http(fullPath: string): string
  ssh(fullPath: string): string
}

/** Host and port of SSH clone URLs, if they differ from the host of the base URL and port 22. */
export interface SshAddress {
  /** Null: this service does not serve SSH. */
  port: number | null
  publicHost: string | undefined
  publicPort: number | undefined
}

export function linksFor(baseUrl: string, ssh?: SshAddress): Links {
  const base = withoutTrailing(baseUrl, '/')
  const { host: registry, hostname, pathname } = new URL(base)
  const host = ssh?.publicHost === undefined ? hostname : ssh.publicHost.includes(':') ? `[${ssh.publicHost}]` : ssh.publicHost
  const port = ssh?.publicPort ?? ssh?.port ?? 22
  const http = (fullPath: string) => `${base}/${fullPath}.git`
  // A public host or port names another SSH server; without one, clients get an address that can be cloned (GS-1).
  const served = ssh?.port !== null || ssh.publicHost !== undefined || ssh.publicPort !== undefined
  return {
    base,
    prefix: pathname === '/' ? '' : pathname,
    user: (username) => `${base}/${username}`,
    group: (fullPath) => `${base}/groups/${fullPath}`,
    project: (fullPath) => `${base}/${fullPath}`,
    registry,
    api: (path) => `${base}/api/v4${path}`,
    http,
    ssh: (fullPath) => (!served ? http(fullPath) : port === 22 ? `git@${host}:${fullPath}.git` : `ssh://git@${host}:${port}/${fullPath}.git`),
  }
}
