import ipaddr from 'ipaddr.js'

/** Messages of git, in the C locale, about an invalid request; a request for an archive is answered with the reason. */
export const PROTOCOL_ERROR =
  /protocol error|sent error to the client|the remote end hung up|unknown capability|invalid command|no command requested|unexpected (line|data|flush|end)|expected (flush|object)|early EOF/

/** The key for per-client limits: the address, or the /64 network for IPv6, where a client can use any address. */
export function clientNetwork(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : parsed.toByteArray().slice(0, 8).join('.')
}
