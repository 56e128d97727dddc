import { curlOf, requestOf, send } from './call.js'
import { codeBlock, h, line, pretty } from './elements.js'
import { boundsOf, exampleOf, resolve, schemaView, typeOf } from './schema.js'

const PLACES = { path: 'In the path', query: 'In the query', form: 'In the form' }

/** The fields of a call: those in the path and query, and all fields of a form with files. */
function fieldsOf(root, { parameters = [], requestBody }) {
  // examples are only placeholders: pressing the button too early must not change the resource of an example
  const fields = parameters.map((parameter) => ({ ...parameter, value: '' }))
  const multipart = requestBody?.content['multipart/form-data']
  if (!multipart || requestBody.content['application/json']) return fields
  const { properties, required = [] } = resolve(root, multipart.schema)
  const inForm = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'form',
    schema,
    description: schema.description,
    required: required.includes(name),
    value: '',
  }))
  return [...fields, ...inForm]
}

/** The view of an operation: a form for its parameters that sends it, the command, and its responses. */
export function operationView({ root, method, path, operation, token }) {
  // use the origin that the page was loaded from, the only one that its content security policy allows
  const base = location.origin + new URL(operation.servers?.[0]?.url ?? root.servers[0].url).pathname.replace(/\/$/, '')
  const fields = fieldsOf(root, operation)
  const json = operation.requestBody?.content['application/json']
  const text =
    json &&
    h(
      'textarea',
      { rows: '8', spellcheck: 'false', 'aria-label': 'Body', oninput: refresh },
      json.example === undefined ? '{}' : pretty(json.example),
    )
  const command = h('div')
  const answer = h('div', { id: 'answer', 'aria-live': 'polite' })
  const request = (given) => requestOf({ method, base, path, fields, body: text?.value, token: given, auth: !operation.servers })
  function refresh() {
    command.replaceChildren(codeBlock(curlOf(request('$TOKEN')), 'The call as a command'))
  }
  const submit = (event) => {
    event.preventDefault()
    return send(request(token()), answer)
  }
  refresh()
  return h(
    'article',
    {},
    h('h1', {}, operation.summary),
    h('p', { class: 'path' }, h('b', { class: method }, method.toUpperCase()), ' ', h('code', {}, new URL(base).pathname.replace(/\/$/, '') + path)),
    h('p', {}, line(operation.description)),
    h(
      'form',
      { onsubmit: submit },
      Object.entries(PLACES).map(([place, title]) =>
        placeView(
          root,
          title,
          fields.filter((field) => field.in === place),
          refresh,
        ),
      ),
      json && [h('h2', {}, 'Body'), schemaView(root, json.schema), text],
      h('h2', {}, 'Call'),
      command,
      h('button', { type: 'submit', id: 'send' }, 'Send'),
    ),
    answer,
    h('h2', {}, 'Answers'),
    Object.entries(operation.responses).map(([status, response]) => responseView(root, status, resolve(root, response))),
  )
}

function placeView(root, title, fields, refresh) {
  if (fields.length === 0) return []
  return [
    h('h2', {}, title),
    h(
      'div',
      { class: 'fields' },
      fields.map((field) => fieldView(root, field, refresh)),
    ),
  ]
}

function fieldView(root, field, refresh) {
  const { name, schema, required, description } = field
  const bounds = boundsOf(schema)
  return h(
    'label',
    { class: 'field' },
    h(
      'span',
      {},
      h('code', {}, name),
      required && h('span', { class: 'required' }, ' required'),
      ' ',
      h('span', { class: 'type' }, typeOf(root, schema)),
    ),
    inputOf(field, refresh),
    h('span', { class: 'about' }, line(description), bounds && h('span', { class: 'bounds' }, ' ', line(bounds))),
  )
}

function inputOf(field, refresh) {
  const { name, schema, value, required } = field
  const change = (event) => {
    if (event.target.files) field.file = event.target.files[0]
    else field.value = event.target.value
    refresh()
  }
  const words = schema.enum ?? (schema.type === 'boolean' ? [true, false] : undefined)
  if (words)
    return h(
      'select',
      { name, onchange: change, required },
      h('option', { value: '' }, ''),
      words.map((word) => h('option', { value: String(word) }, String(word))),
    )
  if (schema.format === 'binary') return h('input', { name, type: 'file', required, onchange: change })
  return h('input', {
    name,
    value,
    required,
    oninput: change,
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: field.example === undefined ? undefined : `for example ${field.example}`,
    inputmode: schema.type === 'integer' ? 'numeric' : undefined,
  })
}

function responseView(root, status, { description, headers, content }) {
  const [type, body] = Object.entries(content ?? {})[0] ?? []
  const details = h(
    'details',
    { class: 'response', open: status.startsWith('2') },
    h('summary', {}, h('b', { class: `s${status[0]}` }, status), ' ', description),
  )
  const own = body?.example ?? (body && exampleOf(root, body.schema))
  const examples = own === undefined ? Object.values(body?.examples ?? {}).map(({ value }) => value) : [own]
  details.append(
    ...[
      type && type !== 'application/json' && h('p', { class: 'type' }, type),
      ...examples.map((value) => codeBlock(typeof value === 'string' ? value : pretty(value), 'Example')),
      body &&
        type === 'application/json' &&
        h('details', {}, h('summary', {}, `Schema: ${typeOf(root, body.schema)}`), schemaView(root, body.schema)),
      headers && h('details', {}, h('summary', {}, 'Headers'), headersView(root, headers)),
    ].filter(Boolean),
  )
  return details
}

const headersView = (root, headers) =>
  h(
    'dl',
    { class: 'properties' },
    Object.entries(headers).map(([name, header]) => [h('dt', {}, h('code', {}, name)), h('dd', {}, resolve(root, header).description)]),
  )
