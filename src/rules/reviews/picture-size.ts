export interface Size {
  width: number
  height: number
}

/** File names of pictures that browsers show. */
export const isPicture = (path: string): boolean => /\.(?:png|jpe?g|gif|webp|bmp|ico|avif|svg)$/i.test(path)

/** The size of a PNG, GIF or JPEG picture, from its first bytes; null for anything else. */
export function sizeOfPicture(bytes: Buffer): Size | null {
  const size = sizeIn(bytes)
  return size && size.width > 0 && size.height > 0 ? size : null
}

function sizeIn(bytes: Buffer): Size | null {
  if (bytes.length >= 24 && bytes.readUInt32BE(0) === 0x89504e47) return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (bytes.length >= 10 && bytes.toString('latin1', 0, 4) === 'GIF8') return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return null
  for (let at = 2; at + 9 <= bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1] as number
    if (bytes[at] !== 0xff) return null
    // the frame of a JPEG; the markers between are tables
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc)
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
  }
  return null
}
