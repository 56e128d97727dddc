import { BlockList, isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Whether the text is an IP address or a network in CIDR notation. */
export function isNetwork(entry: string): boolean {
  const [address = '', bits, more] = entry.split('/')
  const family = isIP(address)
  return family !== 0 && more === undefined && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)))
}

/** Decides whether an address is one of these or belongs to one of these networks. */
export function addressFilter(places: readonly string[]): (address: string) => boolean {
  const known = new BlockList()
  for (const place of places) {
    const [network = '', bits] = place.split('/')
    const six = isIP(network) === 6
    known.addSubnet(network, Number(bits ?? (six ? 128 : 32)), six ? 'ipv6' : 'ipv4')
  }
  return (text) => {
    if (!ipaddr.isValid(text)) return false
    const address = ipaddr.process(text)
    return known.check(address.toString(), address.kind())
  }
}
