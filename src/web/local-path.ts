import { isLocalPath } from '../http/redirect.js'

const MAX_LENGTH = 2_000

/** A path of this service that a form or link may lead to afterwards; the default for anything else (WB-9). */
export const localPath = (text: string | undefined, otherwise = '/'): string =>
  text !== undefined && text.length <= MAX_LENGTH && isLocalPath(text) ? text : otherwise
