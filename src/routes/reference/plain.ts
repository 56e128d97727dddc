import type { PlainRoute } from '../../http/openapi/document.js'

const text = (description: string, type = 'text/plain', schema: object = { type: 'string' }, example?: unknown) => ({
  description,
  content: { [type]: { schema, ...(example !== undefined && { example }) } },
})
const json = (description: string, properties: object, example: unknown) =>
  text(description, 'application/json', { type: 'object', properties, required: Object.keys(properties) }, example)
const oauthFault = json(
  'The request is not valid.',
  { error: { type: 'string' }, error_description: { type: 'string' } },
  { error: 'invalid_request', error_description: 'Missing required parameter: grant_type.' },
)
const refer = (name: string) => ({ $ref: `#/components/responses/${name}` })
const inPath = (name: string, description: string, schema: object = { type: 'string', minLength: 1 }) => ({
  name,
  in: 'path',
  required: true,
  description,
  schema,
})
const form = (properties: Record<string, object>, required: string[]) => {
  const schema = { type: 'object', properties, required }
  return { required: true, content: { 'application/x-www-form-urlencoded': { schema }, 'application/json': { schema } } }
}
const stringField = (description: string, more: object = {}) => ({ type: 'string', description, ...more })
const SIGN_IN = 'Sign-in'
const GRAPHQL = 'GraphQL'
const HEALTH = 'Health'
const FILES = 'Raw files'

/** Sections of the routes outside /api/v4. */
export const plainTags = [
  { name: SIGN_IN, description: 'OAuth 2.0 and OpenID Connect; outside `/api/v4`.' },
  { name: GRAPHQL, description: 'Queries in GraphQL, for reading only; outside `/api/v4`. Introspection shows the schema.' },
  { name: HEALTH, description: 'Health checks and metrics; outside `/api/v4`.' },
  { name: FILES, description: 'Images and uploaded files, at the URLs returned by the API; outside `/api/v4`.' },
]

const TOKEN = {
  access_token: { type: 'string' },
  token_type: { type: 'string', const: 'Bearer' },
  expires_in: { type: 'integer' },
  refresh_token: { type: 'string' },
  scope: { type: 'string' },
  created_at: { type: 'integer' },
}

const oauth: PlainRoute[] = [
  {
    method: 'POST',
    path: '/oauth/token',
    tag: SIGN_IN,
    operation: {
      summary: 'Create an access token',
      description:
        'With a username and password, with a refresh token, or with the code of an application. An application names itself by HTTP Basic, or by `client_id` and `client_secret`.',
      requestBody: form(
        {
          grant_type: stringField('The grant type.', { enum: ['password', 'refresh_token', 'authorization_code'] }),
          username: stringField('Username or e-mail address, for `password`.'),
          password: stringField('The password, for `password`.'),
          scope: stringField('Scopes, separated by spaces, for `password`.'),
          refresh_token: stringField('The refresh token, for `refresh_token`.'),
          code: stringField('The code, for `authorization_code`.'),
          redirect_uri: stringField('The address that the code was sent to, for `authorization_code`.'),
          code_verifier: stringField('The text whose SHA-256 was the `code_challenge`, for `authorization_code`.'),
          client_id: stringField('Id of the application.'),
          client_secret: stringField('Secret of the application.'),
        },
        ['grant_type'],
      ),
      responses: {
        200: json('The token.', TOKEN, {
          access_token: 'rst-access-token',
          token_type: 'Bearer',
          expires_in: 7200,
          refresh_token: 'rst-refresh-token',
          scope: 'api',
          created_at: 1767225600,
        }),
        400: oauthFault,
        401: oauthFault,
        406: refer('NotAcceptable'),
        413: refer('TooLarge'),
        429: refer('TooManyRequests'),
        503: refer('Unavailable'),
      },
    },
  },
  {
    method: 'POST',
    path: '/oauth/revoke',
    tag: SIGN_IN,
    operation: {
      summary: 'Revoke a token',
      description: 'Succeeds even if the token does not exist. An application that names itself revokes its own tokens only.',
      requestBody: form({ token: stringField('The token, or its refresh token.') }, ['token']),
      responses: {
        200: text('The token is revoked.', 'application/json', { type: 'object' }, {}),
        400: oauthFault,
        406: refer('NotAcceptable'),
        503: refer('Unavailable'),
      },
    },
  },
  {
    method: 'GET',
    path: '/oauth/token/info',
    tag: SIGN_IN,
    operation: {
      summary: 'Get information about a token',
      description: 'About the token sent as `Authorization: Bearer`.',
      parameters: [{ name: 'access_token', in: 'query', description: 'The token, if no header is sent.', schema: { type: 'string' } }],
      responses: {
        200: text(
          'The token.',
          'application/json',
          { type: 'object' },
          { resource_owner_id: 1, scope: ['api'], expires_in: 7100, created_at: 1767225600 },
        ),
        400: refer('BadRequest'),
        401: refer('Unauthorized'),
        429: refer('TooManyRequests'),
        503: refer('Unavailable'),
      },
    },
  },
  {
    method: 'POST',
    path: '/oauth/introspect',
    tag: SIGN_IN,
    operation: {
      summary: 'Ask whether a token is valid',
      description: 'For an application, which names itself by HTTP Basic or in the body, and about its own tokens.',
      requestBody: form({ token: stringField('The token, or its refresh token.') }, ['token']),
      responses: {
        200: json('What is known of the token.', { active: { type: 'boolean' } }, { active: true, scope: 'api', username: 'ann', sub: '2' }),
        400: oauthFault,
        401: oauthFault,
        406: refer('NotAcceptable'),
        429: refer('TooManyRequests'),
        503: refer('Unavailable'),
      },
    },
  },
  {
    method: 'GET',
    path: '/oauth/userinfo',
    tag: SIGN_IN,
    operation: {
      summary: 'Get the user of a token',
      description: 'The claims of OpenID Connect; for a token with the scope `openid`, sent as `Authorization: Bearer`.',
      responses: {
        200: json('The user.', { sub: { type: 'string' } }, { sub: '2', name: 'Ann', preferred_username: 'ann', groups: ['team'] }),
        400: refer('BadRequest'),
        401: refer('Unauthorized'),
        403: refer('Forbidden'),
        429: refer('TooManyRequests'),
        503: refer('Unavailable'),
      },
    },
  },
  {
    method: 'GET',
    path: '/.well-known/openid-configuration',
    tag: SIGN_IN,
    operation: {
      summary: 'Get the OpenID configuration',
      description: 'The addresses and abilities with which programs set themselves up.',
      responses: {
        200: json('The configuration.', { issuer: { type: 'string' } }, { issuer: 'https://roost.example.com' }),
        400: refer('BadRequest'),
      },
    },
  },
  {
    method: 'GET',
    path: '/oauth/discovery/keys',
    tag: SIGN_IN,
    operation: {
      summary: 'Get the keys that sign',
      description: 'Public keys (JWK) for the signatures of id_tokens.',
      responses: { 200: json('The keys.', { keys: { type: 'array' } }, { keys: [] }), 400: refer('BadRequest'), 503: refer('Unavailable') },
    },
  },
]

const alive = (path: string, summary: string): PlainRoute => ({
  method: 'GET',
  path,
  tag: HEALTH,
  operation: {
    summary,
    description: 'Succeeds while the process is running.',
    responses: { 200: text('The process is running.', 'text/plain', { type: 'string' }, 'OK'), 400: refer('BadRequest') },
  },
})

const health: PlainRoute[] = [
  alive('/-/health', 'Check health'),
  alive('/-/liveness', 'Check liveness'),
  {
    method: 'GET',
    path: '/-/readiness',
    tag: HEALTH,
    operation: {
      summary: 'Check readiness',
      description: 'Checks that the database and all storages respond.',
      responses: {
        400: refer('BadRequest'),
        200: json('The server is ready.', { status: { type: 'string', const: 'ok' } }, { status: 'ok' }),
        503: json('The server is not ready.', { status: { type: 'string', const: 'failed' } }, { status: 'failed' }),
      },
    },
  },
  {
    method: 'GET',
    path: '/-/metrics',
    tag: HEALTH,
    operation: {
      summary: 'Get metrics',
      description: 'In the Prometheus text format; requires the configured token or an allowed address, or an administrator.',
      responses: { 200: text('The metrics.'), 404: refer('NotFound') },
    },
  },
]

const avatar = (kind: string): PlainRoute => ({
  method: 'GET',
  path: `/uploads/-/system/${kind}/avatar/{id}/{file}`,
  tag: FILES,
  operation: {
    summary: `Get the avatar of a ${kind}`,
    description: 'The URL is returned as `avatar_url`.',
    parameters: [inPath('id', `Id of the ${kind}.`, { type: 'integer', minimum: 1 }), inPath('file', 'Name of the file.')],
    responses: {
      200: text('The image.', 'image/*', { type: 'string', format: 'binary' }),
      400: refer('BadRequest'),
      401: refer('Unauthorized'),
      404: refer('NotFound'),
      503: refer('Unavailable'),
    },
  },
})

const QUERY = {
  query: stringField('The query, at most 10,000 characters.'),
  variables: { type: 'object', description: 'Values of its variables.' },
  operationName: stringField('The operation to run, if the query has several.'),
}
const queryFaults = {
  400: json(
    'There is no query, or a parameter is not valid.',
    { errors: { type: 'array', items: { type: 'object' } } },
    { errors: [{ message: 'query is missing' }] },
  ),
  401: json('The token is not valid.', { errors: { type: 'array', items: { type: 'object' } } }, { errors: [{ message: 'Invalid token' }] }),
  403: refer('Forbidden'),
  429: refer('TooManyRequests'),
  503: refer('Unavailable'),
}
const queryAnswer = text(
  'What the query found, or errors.',
  'application/json',
  { type: 'object', properties: { data: { type: ['object', 'null'] }, errors: { type: 'array', items: { type: 'object' } } } },
  { data: { currentUser: { username: 'ann' } } },
)

const graphql: PlainRoute[] = [
  {
    method: 'POST',
    path: '/api/graphql',
    tag: GRAPHQL,
    operation: {
      summary: 'Run a query',
      description: 'Shows what the REST API shows to the caller. Mutations are refused: GraphQL is read-only here.',
      security: [{ token: [] }, {}],
      requestBody: form(QUERY, ['query']),
      responses: { 200: queryAnswer, ...queryFaults, 406: refer('NotAcceptable'), 413: refer('TooLarge') },
    },
  },
  {
    method: 'GET',
    path: '/api/graphql',
    tag: GRAPHQL,
    operation: {
      summary: 'Run a query of the query string',
      description: 'The same, by GET.',
      security: [{ token: [] }, {}],
      parameters: [
        { name: 'query', in: 'query', required: true, description: 'The query.', schema: { type: 'string' } },
        { name: 'variables', in: 'query', description: 'Values of its variables, as JSON.', schema: { type: 'string' } },
        { name: 'operationName', in: 'query', description: 'The operation to run.', schema: { type: 'string' } },
      ],
      responses: { 200: queryAnswer, ...queryFaults },
    },
  },
]

/** The routes outside /api/v4 that the reference documents. */
export const plainRoutes: PlainRoute[] = [...oauth, ...graphql, ...health, avatar('user'), avatar('project'), avatar('group')]
