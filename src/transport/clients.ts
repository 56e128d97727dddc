import ipaddr from 'ipaddr.js'

/** What git says, in its locale C, about a request it cannot make sense of. */
export const PROTOCOL_ERROR =
  /protocol error|the remote end hung up|unknown capability|invalid command|no command requested|unexpected (line|data|flush|end)|expected (flush|object)|early EOF/

/** The holder of turns: for IPv6 the network, because one client has as many addresses as it likes. */
export function clientNetwork(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : parsed.toByteArray().slice(0, 8).join('.')
}
