import { h, line } from './elements.js'

/** Resolves a reference within the document. */
export function resolve(root, value) {
  let found = value
  while (found?.$ref)
    found = found.$ref
      .slice(2)
      .split('/')
      .reduce((at, part) => at?.[part.replaceAll('~1', '/').replaceAll('~0', '~')], root)
  return found ?? {}
}

/** The example of a schema; that of a list has one element. */
export function exampleOf(root, schema) {
  if (schema.type !== 'array') return resolve(root, schema).examples?.[0]
  const one = exampleOf(root, schema.items)
  return one && [one]
}

const nameOf = (schema) => schema?.$ref?.split('/').pop()

/** A type in words: `integer`, `array of Project`, `string or null`. */
export function typeOf(root, schema) {
  if (nameOf(schema)) return nameOf(schema)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map((each) => typeOf(root, each)))].join(' or ')
  if (schema.type === 'array') return `array of ${schema.items ? typeOf(root, schema.items) : 'anything'}`
  const type = [schema.type ?? 'any value'].flat().join(' or ')
  return schema.format ? `${type} (${schema.format})` : type
}

/** The bounds, default and allowed words of a schema. */
export function boundsOf(schema) {
  const of = schema.items ?? schema
  const facts = []
  if (of.enum) facts.push(`one of ${of.enum.map((word) => `\`${word}\``).join(', ')}`)
  if (schema.minimum !== undefined && schema.maximum !== undefined) facts.push(`${schema.minimum} to ${schema.maximum}`)
  else if (schema.minimum !== undefined) facts.push(`at least ${schema.minimum}`)
  else if (schema.maximum !== undefined) facts.push(`at most ${schema.maximum}`)
  if (schema.maxLength !== undefined) facts.push(`at most ${schema.maxLength} characters`)
  if (schema.maxItems !== undefined) facts.push(`at most ${schema.maxItems} values`)
  if (schema.default !== undefined) facts.push(`default \`${schema.default}\``)
  return facts.join('; ')
}

/** The object schema inside a schema; for an array that of its elements. */
function inside(root, schema) {
  const found = resolve(root, schema)
  if (found.properties) return found
  if (found.items) return inside(root, found.items)
  const choices = (found.anyOf ?? found.oneOf ?? []).map((each) => inside(root, each)).filter(Boolean)
  return choices[0]
}

/** A table of the properties of a schema; nested ones open on demand. */
export function schemaView(root, schema) {
  const object = inside(root, schema)
  if (!object) return h('p', { class: 'type' }, typeOf(root, schema))
  const required = new Set(object.required)
  return h(
    'dl',
    { class: 'properties' },
    Object.entries(object.properties).map(([name, property]) => propertyView(root, name, property, required.has(name))),
  )
}

function propertyView(root, name, property, required) {
  const bounds = boundsOf(property)
  const title = [
    h('code', {}, name),
    ' ',
    h('span', { class: 'type' }, typeOf(root, property)),
    required ? '' : h('span', { class: 'type' }, ' optional'),
  ]
  const below = inside(root, property)
  const details = below && h('details', { ontoggle: open }, h('summary', {}, typeOf(root, property)))
  function open() {
    if (details.open && details.children.length === 1) details.append(schemaView(root, property))
  }
  return [
    h('dt', {}, title),
    h('dd', {}, property.description && line(property.description), bounds && h('div', { class: 'bounds' }, line(bounds)), details),
  ]
}
