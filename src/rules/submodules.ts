/** The lines that count, of perhaps a million. */
const LINES = /(?<![^\n])[^\S\n]*(?:\[|(path|url)[^\S\n]*=([^\n]*))/g

/** The URLs of submodules by their paths, from the text of `.gitmodules`. */
export function submoduleUrls(text: string): Map<string, string> {
  const found = new Map<string, string>()
  let [path, url] = ['', '']
  const end = () => {
    if (path !== '' && url !== '') found.set(path, url)
    path = ''
    url = ''
  }
  for (const [, key, rest = ''] of text.matchAll(LINES)) {
    if (key === undefined) end()
    const value = rest.trim().replace(/^"(.*)"$/, '$1')
    if (key === 'path') path = value
    if (key === 'url') url = value
  }
  end()
  return found
}

/**
 * The page of a submodule: a path of this service for a relative URL, an address of the web for others; null for what
 * leads to no page.
 */
export function submodulePage(url: string, fullPath: string): { path: string } | { address: string } | null {
  const bare = url.replace(/\.git\/?$/, '')
  if (/^\.{1,2}\//.test(url)) {
    const parts = fullPath.split('/')
    for (const part of bare.split('/')) {
      if (part === '..') {
        if (parts.pop() === undefined) return null
      } else if (part !== '.' && part !== '') parts.push(part)
    }
    return parts.length > 1 ? { path: parts.join('/') } : null
  }
  if (/^https?:\/\/[^\s@]+$/i.test(bare)) return { address: bare }
  const [, host, path] = /^(?:ssh:\/\/)?(?:[\w.-]+@)([\w.-]+)(?::\d+\/|:|\/)([^\s@]+)$/.exec(bare) ?? []
  return host && path ? { address: `https://${host}/${path.replace(/^\//, '')}` } : null
}
