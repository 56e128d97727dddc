import type { DocumentNode, FieldNode, FragmentDefinitionNode, SelectionSetNode } from 'graphql'

/** The bounds of a query, checked before it is compared with the schema (GQL-22). */
export const MAX_QUERY = 10_000
export const MAX_TOKENS = 2_000
const MAX_DEPTH = 20
const MAX_FIELDS = 600
const MAX_FRAGMENTS = 20
const MAX_SPREADS = 60
const MAX_OPERATIONS = 10
/** Fields of one name side by side: to see whether they agree, each is compared with each. */
const MAX_SAME = 10
/** Values of a description of the schema. */
const MAX_DESCRIBED = 40_000

/** How many elements the parts of a description have on average: those of the schema, and those of a single type, at most. */
const DESCRIBED: Record<string, number> = {
  types: 140,
  queryType: 6,
  fields: 6,
  args: 1,
  enumValues: 2,
  directives: 6,
  inputFields: 0.2,
  interfaces: 0.2,
  possibleTypes: 0.2,
  ofType: 0.4,
}
const DESCRIBED_TYPE: Record<string, number> = { ...DESCRIBED, fields: 70, args: 6, enumValues: 15, possibleTypes: 4, interfaces: 1 }

/** What a selection comes to with its fragments. */
interface Size {
  fields: number
  depth: number
  /** Values of descriptions of the schema. */
  described: number
}

/** Why a query is too much; null if it is not. Takes time in proportion to the text of the query. */
export function tooMuch({ definitions }: DocumentNode): string | null {
  const fragments = new Map<string, FragmentDefinitionNode>()
  let operations = 0
  for (const definition of definitions) {
    if (definition.kind === 'FragmentDefinition') fragments.set(definition.name.value, definition)
    else operations++
  }
  if (fragments.size > MAX_FRAGMENTS) return `The query has more than ${MAX_FRAGMENTS} fragments.`
  if (operations > MAX_OPERATIONS) return `The document has more than ${MAX_OPERATIONS} operations.`
  const walk = new Walk(fragments)
  for (const definition of definitions) {
    if (definition.kind !== 'OperationDefinition' && definition.kind !== 'FragmentDefinition') continue
    const { fields, depth, described } = walk.sizeOf(definition.selectionSet)
    if (walk.fault) return walk.fault
    if (depth > MAX_DEPTH) return `The query has a depth of ${depth}, which exceeds the maximum of ${MAX_DEPTH}.`
    if (fields > MAX_FIELDS) return `The query has ${fields} fields, which exceeds the maximum of ${MAX_FIELDS}.`
    if (described > MAX_DESCRIBED) return 'The query asks for too much of the description of the schema.'
  }
  return null
}

const NOTHING: Size = { fields: 0, depth: 0, described: 0 }

class Walk {
  fault: string | null = null
  #spreads = 0
  readonly #known = new Map<string, Size | 'open'>()

  constructor(private readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>) {}

  sizeOf({ selections }: SelectionSetNode, described: Record<string, number> | null = null): Size {
    const total = { ...NOTHING }
    const same = new Map<string, number>()
    for (const selection of selections) {
      if (this.fault) return total
      const size =
        selection.kind === 'Field'
          ? this.#ofField(selection, same, described)
          : selection.kind === 'InlineFragment'
            ? this.sizeOf(selection.selectionSet, described)
            : this.#ofFragment(selection.name.value, described)
      total.fields = Math.min(total.fields + size.fields, Number.MAX_SAFE_INTEGER)
      total.described += size.described
      total.depth = Math.max(total.depth, size.depth)
    }
    return total
  }

  #ofField({ name, alias, selectionSet }: FieldNode, same: Map<string, number>, described: Record<string, number> | null): Size {
    const shown = alias?.value ?? name.value
    const count = (same.get(shown) ?? 0) + 1
    same.set(shown, count)
    if (count > MAX_SAME) this.fault = `The query has more than ${MAX_SAME} fields side by side that are called ${shown}.`
    const kind = name.value === '__schema' ? DESCRIBED : name.value === '__type' ? DESCRIBED_TYPE : described
    const inside = selectionSet ? this.sizeOf(selectionSet, kind) : NOTHING
    return {
      fields: inside.fields + 1,
      depth: inside.depth + 1,
      described: kind ? 1 + inside.described * (kind[name.value] ?? 1) : inside.described,
    }
  }

  #ofFragment(name: string, described: Record<string, number> | null): Size {
    if (++this.#spreads > MAX_SPREADS) this.fault = `The query spreads fragments more than ${MAX_SPREADS} times.`
    const key = `${described?.['fields'] ?? 0} ${name}`
    const known = this.#known.get(key)
    if (known === 'open') {
      this.fault = `Cannot spread fragment "${name}" within itself.`
      return NOTHING
    }
    // what is not there is for the validation to say
    const fragment = this.fragments.get(name)
    if (known || !fragment) return known ?? NOTHING
    this.#known.set(key, 'open')
    const size = this.sizeOf(fragment.selectionSet, described)
    this.#known.set(key, size)
    return size
  }
}
