const OF_REF = /^(\/api\/v4\/projects\/[^/?]+\/jobs\/artifacts)\/([^?]+)/
const OF_JOB = /^(\/api\/v4\/projects\/[^/?]+\/jobs\/[^/?]+\/artifacts)\/([^?]+)/

/** The URL of a file of artifacts, with the slashes in its path and ref as the router wants them: `%2F` (CI-333). */
export function withArtifactPath(url: string): string {
  const ofRef = OF_REF.exec(url)
  const [whole, before, rest] = ofRef ?? OF_JOB.exec(url) ?? []
  if (whole === undefined || rest === undefined) return url
  const parts = rest.split('/').filter((part) => part !== '')
  const written = ofRef ? refAndFile(parts) : [encoded(parts)]
  return [before, ...written].join('/') + url.slice(whole.length)
}

const encoded = (parts: string[]) => parts.join('%2F')

function refAndFile(parts: string[]): string[] {
  const raw = parts.indexOf('raw', 1)
  if (raw !== -1 && raw < parts.length - 1) return [encoded(parts.slice(0, raw)), 'raw', encoded(parts.slice(raw + 1))]
  return parts.at(-1) === 'download' && parts.length > 1 ? [encoded(parts.slice(0, -1)), 'download'] : parts
}
