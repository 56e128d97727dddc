/** A visitor of pages, who keeps cookies and sends forms; for what only a person can prepare. */
export function visitor(base) {
  const cookies = new Map()
  const cookie = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const fetched = async (path, options = {}) => {
    const answer = await fetch(base + path, { ...options, redirect: 'manual', headers: { accept: 'text/html', cookie: cookie() } })
    for (const text of answer.headers.getSetCookie()) cookies.set(...text.split(';', 1)[0].split('='))
    const html = await answer.text()
    if (answer.status >= 400) throw new Error(`${path}: ${answer.status}`)
    return html
  }
  return {
    /** The header with the cookies. */
    cookie,
    /** The value of an input of a page, by a part of its tag. */
    async valueOn(path, tag) {
      const html = await fetched(path)
      const input = [...html.matchAll(/<input [^>]*>/g)].find(([text]) => text.includes(tag))?.[0]
      return /value="([^"]*)"/.exec(input ?? '')?.[1] ?? ''
    },
    /** Sends a form that stands on a page. */
    async send(path, fields, on = path) {
      const authenticity_token = await this.valueOn(on, 'name="authenticity_token"')
      return fetched(path, { method: 'POST', body: new URLSearchParams({ ...fields, authenticity_token }) })
    },
  }
}
