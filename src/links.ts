/** Every URL in answers; built from the configured address, never from a Host header (W-17). */
export interface Links {
  /** Scheme, host, port and path prefix, without a trailing slash. */
  base: string
  /** The path prefix alone: `/roost`, or empty. */
  prefix: string
  user(username: string): string
  group(fullPath: string): string
  project(fullPath: string): string
  /** Of the API itself: `/projects/1`. */
  api(path: string): string
  http(fullPath: string): string
  ssh(fullPath: string): string
}

export function linksFor(baseUrl: string): Links {
  const base = baseUrl.replace(/\/+$/, '')
  const { hostname: host, pathname } = new URL(base)
  return {
    base,
    prefix: pathname === '/' ? '' : pathname,
    user: (username) => `${base}/${username}`,
    group: (fullPath) => `${base}/groups/${fullPath}`,
    project: (fullPath) => `${base}/${fullPath}`,
    api: (path) => `${base}/api/v4${path}`,
    http: (fullPath) => `${base}/${fullPath}.git`,
    ssh: (fullPath) => `git@${host}:${fullPath}.git`,
  }
}
