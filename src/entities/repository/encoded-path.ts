import { z } from 'zod'
import { encodePath, hasBytes } from '../../lib/text/byte-path.js'

/** The name of a file for a URL, with its bytes as `%FF`; only where they are not UTF-8 (RF-109). */
export const encodedPath = () => z.string().optional()

/** `encoded_path` of a name with its bytes, where it has such that are not UTF-8. */
export const presentEncodedPath = (path: string): { encoded_path?: string } => (hasBytes(path) ? { encoded_path: encodePath(path) } : {})
