import { z } from 'zod'

/** The name of a file for a URL, with its bytes as `%FF`; only where they are not UTF-8 (RF-109). */
export const encodedPath = () => z.string().optional()
