import { expect, it } from 'vitest'
import { z } from 'zod'
import { Seed } from '../../src/testing/seed/declaration.js'

interface Schema {
  $ref?: string
  $defs?: Record<string, Schema>
  title?: string
  description?: string
  type?: string
  enum?: string[]
  const?: unknown
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
}

const { $defs = {}, ...seed } = z.toJSONSchema(Seed, { io: 'input' }) as Schema

/** The same as TypeScript. */
function typeOf(schema: Schema): string {
  const { $ref, anyOf, type, items, additionalProperties: others } = schema
  if ($ref !== undefined) return $ref.slice('#/$defs/'.length)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((one) => `'${one}'`).join(' | ')
  if (anyOf) return anyOf.map(typeOf).join(' | ')
  if (type === 'array') return `Array<${typeOf(items ?? {})}>`
  if (schema.properties) return `{ ${fieldsOf(schema).join('; ')} }`
  if (typeof others === 'object') return `Record<string, ${typeOf(others)}>`
  return (
    { integer: 'number', number: 'number', string: 'string', boolean: 'boolean', null: 'null' }[type ?? ''] ?? expect.fail(JSON.stringify(schema))
  )
}

const fieldsOf = ({ properties = {}, required = [] }: Schema) =>
  Object.entries(properties).map(([name, one]) => `${name}${required.includes(name) ? '' : '?'}: ${typeOf(one)}`)

function interfaceOf(name: string, schema: Schema): string {
  const { properties = {} } = schema
  const lines = fieldsOf(schema).map((line, i) => {
    const { description } = Object.values(properties)[i] as Schema
    return `${description ? `  /** ${description} */\n` : ''}  ${line}\n`
  })
  return `${schema.description ? `/** ${schema.description} */\n` : ''}export interface ${name} {\n${lines.join('')}}\n`
}

// `npx vitest -u` writes both files
it('the schema that is shipped is that of the declaration', async () => {
  await expect(`${JSON.stringify({ ...seed, $defs }, null, 2)}\n`).toMatchFileSnapshot('../../testing/seed.schema.json')
})

it('the types that are shipped are those of the declaration', async () => {
  const types = [...Object.entries($defs).map(([name, schema]) => interfaceOf(name, schema)), interfaceOf('Seed', seed)]
  await expect(types.join('\n')).toMatchFileSnapshot('../../testing/seed.d.cts')
})
