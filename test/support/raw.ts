import { connect } from 'node:net'

/** Sends bytes that no HTTP client would send; resolves with the response when the service closes the connection. */
export function rawAnswer(url: string, bytes: string): Promise<{ status: number; headers: Record<string, string>; body: string }> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      const [first = '', ...lines] = text.slice(0, end).split('\r\n')
      const headers = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]))
      resolve({ status: Number(first.split(' ')[1]), headers, body: text.slice(end + 4) })
    })
    socket.write(bytes, 'latin1')
  })
}
