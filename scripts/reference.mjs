import { openapi } from '../src/http/openapi/document.ts'
import { sections } from '../src/routes/index.ts'
import { referenceOf } from '../src/routes/reference/index.ts'

/** Prints everything without a description in the reference, and the number of operations; run with `tsx`. */
const { paths, tags, components } = openapi(referenceOf(sections, { operations: {}, entities: {} }), { version: '0', base: 'http://roost.test' })
const faults = []
const says = (text) => typeof text === 'string' && text.trim() !== ''
const demand = (thing, text) => says(text) || faults.push(`${thing} has no description`)
let operations = 0
for (const [path, methods] of Object.entries(paths)) {
  for (const [method, { summary, description, parameters = [], requestBody, responses }] of Object.entries(methods)) {
    const name = `${method.toUpperCase()} ${path}`
    operations++
    if (!says(summary)) faults.push(`${name} has no summary`)
    demand(name, description)
    for (const parameter of parameters) demand(`${name}: parameter ${parameter.name}`, parameter.description)
    for (const { schema } of Object.values(requestBody?.content ?? {}))
      for (const [property, { description: text }] of Object.entries(schema.properties)) demand(`${name}: parameter ${property}`, text)
    for (const [status, response] of Object.entries(responses)) if (!response.$ref) demand(`${name}: ${status}`, response.description)
  }
}
for (const { name, description } of tags) demand(`tag ${name}`, description)
for (const kind of ['schemas', 'responses', 'headers'])
  for (const [name, { description }] of Object.entries(components[kind])) demand(`${kind} ${name}`, description)
process.stdout.write(`${[...new Set(faults)].join('\n')}\nread ${operations} operations\n`)
process.exitCode = faults.length > 0 ? 1 : 0
