/** Every way in which a call can be refused. Only this table knows the statuses. */
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
  unprocessable: 422,
  headers_too_large: 431,
  too_many: 429,
  not_implemented: 501,
  unavailable: 503,
} as const

export type FailureKind = keyof typeof STATUS

/**
 * A refusal of a call: its kind determines the status, and its body is returned as it is (G-29 to G-38).
 */
export class Failure extends Error {
  override name = 'Failure'
  constructor(
    readonly kind: FailureKind,
    /** JSON, or a plain text where a rule wants one. */
    readonly body: { message: unknown } | { error: unknown; [more: string]: unknown } | string,
    readonly headers: Record<string, string> = {},
  ) {
    super(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

/** What a lookup finds; null where it refuses the caller. */
export const nullOnFailure = <T>(lookup: Promise<T>): Promise<T | null> =>
  lookup.catch((error: unknown) => {
    if (error instanceof Failure) return null
    throw error
  })

/** The message of a refusal as plain text, without the JSON around it and the status in front. */
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

/** A stored object would be invalid: field → texts (G-34). */
export const invalidRecord = (faults: Record<string, string[]>) => new Failure('invalid', { message: faults })

/** The same where the map of faults stands in a sentence (G-43): `{:field=>["text"]}`. */
export function failedTo(action: string, faults: Record<string, string[]>) {
  const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`
  const fields = Object.entries(faults).map(([field, texts]) => `:${field}=>[${texts.map(quote).join(', ')}]`)
  return new Failure('invalid', { message: `Failed to ${action} {${fields.join(', ')}}` })
}

/** Any other 400 with a sentence (W-22). */
export const refused = (text: string) => new Failure('invalid', { message: text })

export const unauthenticated = () => new Failure('unauthenticated', { message: '401 Unauthorized' })

export const forbidden = (reason?: string) => new Failure('forbidden', { message: reason ? `403 Forbidden - ${reason}` : '403 Forbidden' })

/**
 * With a name: something addressed by its own name or id (G-32). Without: a child of a parent that the caller sees
 * (G-33).
 */
export const notFound = (name?: string) => new Failure('not_found', { message: name ? `404 ${name} Not Found` : '404 Not found' })

/** No such route (G-1); note the key. */
export const noSuchRoute = () => new Failure('not_found', { error: '404 Not Found' })

export const conflict = (message: unknown) => new Failure('conflict', { message })

/** A merge request that cannot be created or changed like this (G-38). */
export const unprocessable = (text: string) => new Failure('unprocessable', { error: [text] })

export const preconditionFailed = () => new Failure('stale', { message: '412 Precondition Failed' })

/** Too many bad credentials from one address (SEC-26, W-34). */
export const tooMany = (seconds: number) => new Failure('too_many', 'Retry later', { 'retry-after': String(seconds) })

export const tooLarge = () => new Failure('too_large', { message: '413 Request Entity Too Large' })

/** A requested form that is not available (RE-6). */
export const notAcceptable = () => new Failure('not_acceptable', { message: '406 Not Acceptable' })

/** A body of a type that no parser reads (G-5). */
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
