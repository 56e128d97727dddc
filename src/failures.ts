/** The kinds of failure with their HTTP statuses. */
export const STATUS = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  timeout: 408,
  conflict: 409,
  stale: 412,
  too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  range: 416,
  unprocessable: 422,
  headers_too_large: 431,
  too_many: 429,
  not_implemented: 501,
  unavailable: 503,
} as const

export type FailureKind = keyof typeof STATUS

/**
 * A refused call: `kind` determines the status, and `body` is sent as it is (G-29 to G-38).
 */
export class Failure extends Error {
  override name = 'Failure'
  constructor(
    readonly kind: FailureKind,
    /** JSON, or plain text if a rule requires it. */
    readonly body: { message: unknown } | { error: unknown; [more: string]: unknown } | string,
    readonly headers: Record<string, string> = {},
    /** Field → messages, where `body` has them as a sentence. */
    readonly faults?: Record<string, string[]>,
  ) {
    super(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

/** The result of a lookup, or null if it throws a Failure. */
export const nullOnFailure = <T>(lookup: Promise<T>): Promise<T | null> =>
  lookup.catch((error: unknown) => {
    if (error instanceof Failure) return null
    throw error
  })

/** The message of a failure as plain text, without its JSON and status prefix. */
export function failureText(body: Failure['body']): string {
  const text = typeof body === 'string' ? body : 'message' in body ? body.message : body.error
  if (typeof text === 'string') return text.replace(/^\d{3} /, '')
  if (Array.isArray(text)) return text.join(', ')
  return Object.entries(text ?? {})
    .map(([field, texts]) => `${field} ${[texts].flat().join(', ')}`)
    .join('; ')
}

/** A parameter is missing or malformed: `{"error": text}` (G-29). */
export const invalidInput = (text: string) => new Failure('invalid', { error: text })

/** A record would be invalid: field → messages (G-34). */
export const invalidRecord = (faults: Record<string, string[]>) => new Failure('invalid', { message: faults })

/** Like `invalidRecord`, with the faults inside a sentence: `{:field=>["text"]}` (G-43). */
export function failedTo(action: string, faults: Record<string, string[]>) {
  const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`
  const fields = Object.entries(faults).map(([field, texts]) => `:${field}=>[${texts.map(quote).join(', ')}]`)
  return new Failure('invalid', { message: `Failed to ${action} {${fields.join(', ')}}` }, {}, faults)
}

/** Any other 400 with a message (W-22). */
export const refused = (text: string) => new Failure('invalid', { message: text })

export const unauthenticated = () => new Failure('unauthenticated', { message: '401 Unauthorized' })

export const forbidden = (reason?: string) => new Failure('forbidden', { message: reason ? `403 Forbidden - ${reason}` : '403 Forbidden' })

/**
 * With a name: an object addressed by its own name or id (G-32). Without: a child of a parent that the caller may see
 * (G-33).
 */
export const notFound = (name?: string) => new Failure('not_found', { message: name ? `404 ${name} Not Found` : '404 Not found' })

/** No such route; unlike other 404s, the key is `error` (G-1). */
export const noSuchRoute = () => new Failure('not_found', { error: '404 Not Found' })

export const conflict = (message: unknown) => new Failure('conflict', { message })

/** A merge request that cannot be created or changed as requested (G-38). */
export const unprocessable = (text: string) => new Failure('unprocessable', { error: [text] })

export const preconditionFailed = () => new Failure('stale', { message: '412 Precondition Failed' })

/** Too many bad credentials from one address (SEC-26, W-34). */
export const tooMany = (seconds: number) => new Failure('too_many', 'Retry later', { 'retry-after': String(seconds) })

export const tooLarge = () => new Failure('too_large', { message: '413 Request Entity Too Large' })

/** A requested format that is not available (RE-6). */
export const notAcceptable = () => new Failure('not_acceptable', { message: '406 Not Acceptable' })

/** A body with an unsupported content type (G-5). */
export const unknownType = (type = '') => new Failure('not_acceptable', { error: `The requested content-type '${type}' is not supported.` })

/** A token that was valid once (G-15, G-16). */
export function invalidToken(description: string) {
  const challenge = `Bearer realm="Protected by OAuth 2.0", error="invalid_token", error_description="${description}"`
  return new Failure('unauthenticated', { error: 'invalid_token', error_description: description }, { 'www-authenticate': challenge })
}

/** The token is valid but lacks the scope (G-22). */
export const insufficientScope = (needed: string) =>
  new Failure('forbidden', {
    error: 'insufficient_scope',
    error_description: 'The request requires higher privileges than provided by the access token.',
    scope: needed,
  })
