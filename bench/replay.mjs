import { createServer, request } from 'node:http'

/**
 * A proxy that forwards each call once and then replays the response, to measure the time that the git client itself
 * takes. Resolves with its URL and a function that stops it.
 */
export async function replayOf(origin) {
  const known = new Map()
  const server = createServer(async (asked, answer) => {
    const { method, url, headers } = asked
    const body = Buffer.concat(await asked.toArray())
    const key = [method, url, headers.authorization, headers['git-protocol'], body.toString('latin1')].join('\n')
    known.set(key, known.get(key) ?? (await passedOn(origin, { method, url, headers, body })))
    const { status, about, content } = known.get(key)
    answer.writeHead(status, about).end(content)
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${server.address().port}`, close }
}

function passedOn(origin, { method, url, headers, body }) {
  return new Promise((resolve, reject) => {
    const asked = request(`${origin}${url}`, { method, headers: { ...headers, host: new URL(origin).host } }, async (answer) => {
      const content = Buffer.concat(await answer.toArray())
      const about = { 'content-type': answer.headers['content-type'], 'content-length': content.length }
      if (answer.headers['www-authenticate']) about['www-authenticate'] = answer.headers['www-authenticate']
      resolve({ status: answer.statusCode, about, content })
    })
    asked.once('error', reject)
    asked.end(body)
  })
}
