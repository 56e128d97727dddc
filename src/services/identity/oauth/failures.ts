import { Failure } from '../../../failures.js'

/** A refusal as OAuth 2 has it (RFC 6749, section 5.2). */
export const oauthError = (kind: 'invalid' | 'unauthenticated' | 'forbidden', error: string, error_description: string) =>
  new Failure(kind, { error, error_description })

const INVALID_GRANT =
  'The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client.'

/** Of a password or a refresh token (CR-12). */
export const invalidGrant = () => oauthError('unauthenticated', 'invalid_grant', INVALID_GRANT)
/** Of an authorization code (CR-35). */
export const invalidCode = () => oauthError('invalid', 'invalid_grant', INVALID_GRANT)

export const INVALID_SCOPE = 'The requested scope is invalid, unknown, or malformed.'
export const invalidScope = () => oauthError('invalid', 'invalid_scope', INVALID_SCOPE)

export const missing = (name: string) => oauthError('invalid', 'invalid_request', `Missing required parameter: ${name}.`)
